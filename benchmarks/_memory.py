"""Peak memory of one task, in a process of its own.

``python -m benchmarks._memory '{"task": …}'`` prints the resident memory before the task and the
highest during it. Linux resets its high-water mark on request; elsewhere the mark of the whole
process is taken, which is an upper bound.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

_MEGA = 2.0**20


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


def main() -> None:
    from benchmarks._tasks import prepare
    from unispectral.bench._machine import peak_bytes, reset_peak

    run = prepare(**json.loads(sys.argv[1]))
    reset_peak()
    before = peak_bytes() / _MEGA
    run()
    peak = peak_bytes() / _MEGA
    print(json.dumps({"before": before, "peak": peak, "task": peak - before}))


if __name__ == "__main__":
    main()
