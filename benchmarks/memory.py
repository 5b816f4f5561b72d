"""Peak memory of the exact dense fit, in n × n matrices of float64 beyond its input.

``python -m benchmarks.memory`` measures n = 1,000 … 8,000, prints a table and fails above
:data:`LIMIT`. Each size is measured in a process of its own, from the kernel's high-water mark.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

__all__ = ["LIMIT", "measure"]

#: The most that a fit may take.
LIMIT = 2.5
SIZES = (1000, 2000, 4000, 8000)


def measure(n: int) -> float:
    """Matrices at the peak of ``SCSK.paper(solver="exact")`` on n samples."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", "--child", str(n)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the memory at n = {n} could not be measured: {done.stderr[-500:]}")
    return float(done.stdout.split()[-1])


def _child(n: int) -> float:
    import warnings

    import numpy as np

    from benchmarks._memory import _high_water_mark, _reset_mark
    from unispectral import SCSK

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10)) + 4 * rng.integers(0, 5, (n, 1))
    SCSK.paper(5, kernel="gaussian", max_iter=2).fit(X[:500])  # libraries, compiled code
    _reset_mark()
    before = _high_water_mark()
    SCSK.paper(5, kernel="gaussian", max_iter=2).fit(X)
    return (_high_water_mark() - before) * 2**20 / (8.0 * n * n)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; the exit code says whether the limit is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(_child(options.child))
        return 0
    worst = 0.0
    print("       n   n × n matrices of float64")
    for n in options.sizes:
        found = measure(n)
        worst = max(worst, found)
        print(f"{n:8,d}   {found:.2f}", flush=True)
    print(f"limit      {LIMIT}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
