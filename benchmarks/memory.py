"""Peak memory of the exact dense fit, in n × n matrices of float64 beyond its input.

``python -m benchmarks.memory`` measures n = 2,000 … 8,000, prints a table, writes it to
docs/results/memory.md and fails above :data:`LIMIT`. Each size is measured in a process of its
own, from the kernel's high-water mark.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["LIMIT", "measure", "page"]

#: The most that a fit may take.
LIMIT = 2.5
#: A matrix of 1,000 samples takes less than the compiled code that a first fit may still load.
SIZES = (2000, 3000, 4000, 6000, 8000)
_PAGE = Path(__file__).resolve().parent.parent / "docs" / "results" / "memory.md"


def measure(n: int) -> float:
    """Matrices at the peak of ``SCSK(solver="exact")`` on n samples."""
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

    from unispectral import SCSK
    from unispectral.bench._machine import peak_bytes, reset_peak

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10)) + 4 * rng.integers(0, 5, (n, 1))
    model = SCSK(5, kernel="gaussian", solver="exact", alpha=0.1, max_iter=2)
    model.fit(X[:1000])  # libraries, and what larger graphs have compiled
    reset_peak()
    before = peak_bytes()
    model.fit(X)
    return (peak_bytes() - before) / (8.0 * n * n)


def page(found: Sequence[tuple[int, float]]) -> str:
    """The measurements as a page."""
    from unispectral import __version__

    worst = max(matrices for _, matrices in found)
    lines = [
        "# Peak memory of the exact fit",
        "",
        "What `SCSK` (Gaussian kernel, exact solver, two iterations) takes at its peak",
        "beyond its input, in n × n matrices of float64, measured by `make bench-memory` from the",
        f"high-water mark of the process. The limit is {LIMIT}; the most found is {worst:.2f}.",
        "",
        f"Version {__version__}, Python {platform.python_version()} on {platform.system()}, "
        f"{os.cpu_count()} cores.",
        "",
        "| n | MB | n × n matrices |",
        "|---:|---:|---:|",
    ]
    lines += [f"| {n:,} | {8e-6 * n * n * each:,.0f} | {each:.2f} |" for n, each in found]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and write; the exit code says whether the limit is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--out", type=Path, default=_PAGE)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(_child(options.child))
        return 0
    from unispectral._files import write_text_atomic

    found = []
    print("       n   n × n matrices of float64")
    for n in options.sizes:
        found.append((n, measure(n)))
        print(f"{n:8,d}   {found[-1][1]:.2f}", flush=True)
    print(f"limit      {LIMIT}")
    write_text_atomic(options.out, page(found))
    return int(max(matrices for _, matrices in found) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
