"""The defaults of SCSK and SCMK beside the points of the study ``paper`` that many sets share.

``python -m benchmarks.paper_points`` reads the store of the study, docs/results/paper.jsonl.xz,
and prints for every point of the grids that was run by the authors' algorithm on the same six
data sets its accuracy in the mean of these, and that of the defaults.
"""

from __future__ import annotations

import argparse
import lzma
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks._report import markdown_table
from unispectral.bench import Store

__all__ = ["main", "means"]

SETS = ("yale", "jaffe", "orl", "tr11", "tr45", "tr41")
_STORE = Path(__file__).resolve().parent.parent / "docs" / "results" / "paper.jsonl.xz"


def means(store: Store, method: str) -> list[tuple[str, float]]:
    """Every point that was run on all of the sets, and its mean accuracy; the best first."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in store.records().values():
        job = record.job
        if record.status != "done" or job["method"] not in (method, f"{method} (default)"):
            continue
        point = "default"
        if job["method"] == method:
            numbers = (f"{name}={job['parameters'][name]:g}" for name in ("alpha", "beta", "mu"))
            kernel = job["kernel"] or "all kernels"
            point = f"{kernel} of {job['bank']['kernels']}, {', '.join(numbers)}"
        found[point][job["dataset"]["name"]].append(record.scores["accuracy"])
    shared = {
        point: 100.0 * float(np.mean([np.mean(scores[name]) for name in SETS]))
        for point, scores in found.items()
        if scores.keys() >= set(SETS)
    }
    return sorted(shared.items(), key=lambda item: -item[1])


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_points", description=__doc__)
    parser.add_argument("--store", type=Path, default=_STORE)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        unpacked = Path(folder) / "paper.jsonl"
        unpacked.write_bytes(lzma.decompress(options.store.read_bytes()))
        store = Store(unpacked, readonly=True)
        try:
            for method in ("SCSK", "SCMK"):
                rows = [[point, f"{mean:.1f}"] for point, mean in means(store, method)]
                print(markdown_table([f"{method}, mean of {', '.join(SETS)}", "accuracy"], rows))
                print()
        finally:
            store.close()


if __name__ == "__main__":
    main()
