"""The study ``paper`` from its record: what is missing is run, then tables and page are written.

``python -m benchmarks.paper`` unpacks docs/results/paper.jsonl.xz, runs the cells of the study
that it lacks, and writes paper.md, paper.html and the record again, so that all three show one
state. It can be stopped and goes on where it was. A method whose code has changed is run anew with
``--again``; with ``--report`` nothing is run.
"""

from __future__ import annotations

import argparse
import lzma
import sys
from collections.abc import Sequence
from pathlib import Path

from unispectral._files import atomic_path
from unispectral.bench import Results, Store, Study, run, write_report, write_tables

__all__ = ["forget", "main", "pack", "unpack"]

_RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
_COMMAND = "python -m benchmarks.paper"


def unpack(packed: Path, record: Path) -> None:
    """Unpack a record, unless a run that was stopped has left one."""
    if not record.exists():
        with atomic_path(record) as temporary:
            temporary.write_bytes(lzma.decompress(packed.read_bytes()))


def pack(record: Path, packed: Path) -> None:
    """Pack a record, and delete it."""
    with atomic_path(packed) as temporary:
        temporary.write_bytes(lzma.compress(record.read_bytes(), preset=9))
    record.unlink()


def forget(record: Path, methods: Sequence[str]) -> int:
    """Drop the cells of some methods, so that they are run again; their number is returned."""
    needles = [f'"method":"{method}"'.encode() for method in methods]
    kept, dropped = [], 0
    for line in record.read_bytes().splitlines(keepends=True):
        if b'"kind":"cell"' in line and any(needle in line for needle in needles):
            dropped += 1
        else:
            kept.append(line)
    with atomic_path(record) as temporary:
        temporary.write_bytes(b"".join(kept))
    return dropped


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog=_COMMAND, description=__doc__)
    parser.add_argument("--again", nargs="+", default=[], metavar="METHOD")
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--report", action="store_true", help="only write tables and page")
    parser.add_argument("--folder", type=Path, default=_RESULTS)
    options = parser.parse_args(arguments)
    packed, record = options.folder / "paper.jsonl.xz", options.folder / "paper.jsonl"
    unpack(packed, record)
    study = Study.load("paper")
    if options.again:
        print(f"{forget(record, options.again)} cells are run again")
    with Store(record) as store:
        if not options.report:
            part = study.select(options.datasets, options.methods)
            run(part, store, processes=options.processes, threads=1, stream=sys.stdout)
        store.save_study(study, _COMMAND)
        results = Results(study, store)
        write_tables(results, options.folder / "paper.md")
        write_report(results, options.folder / "paper.html", command=_COMMAND)
    pack(record, packed)


if __name__ == "__main__":
    main()
