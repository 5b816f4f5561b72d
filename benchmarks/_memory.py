"""Peak memory of one task, in a process of its own.

``python -m benchmarks._memory '{"task": …}'`` prints the resident memory before the task and the
highest during it. Linux resets its high-water mark on request; elsewhere the mark of the whole
process is taken, which is an upper bound.
"""

from __future__ import annotations

import contextlib
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["peak_memory"]

_MEGA = 1024.0


def peak_memory(**task: Any) -> dict[str, float]:
    """Run ``benchmarks._tasks.prepare(**task)`` in a fresh process; megabytes before and at most.

    `before` holds the interpreter, the libraries and the data; `task` is what the method added.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks._memory", json.dumps(task)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the memory of {task} could not be measured: {done.stderr[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _high_water_mark() -> float:
    try:
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / _MEGA
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEGA


def _reset_mark() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def main() -> None:
    from benchmarks._tasks import prepare

    run = prepare(**json.loads(sys.argv[1]))
    _reset_mark()
    before = _high_water_mark()
    run()
    peak = _high_water_mark()
    print(json.dumps({"before": before, "peak": peak, "task": peak - before}))


if __name__ == "__main__":
    main()
