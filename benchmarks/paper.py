"""A study from its record: what is missing is run, then tables and page are written.

``python -m benchmarks.paper`` unpacks docs/results/paper.jsonl.xz, runs the cells of the study
that it lacks, and writes paper.md, paper_models.md, paper.html and the record again, so that all
show one state. It can be stopped and goes on where it was. A method whose code has changed is run
anew with ``--again``; with ``--report`` nothing is run. ``--study peers`` does the same for the
later methods, and takes the fits that both studies have from the record of the first.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.paper_models import render
from unispectral._files import atomic_path, write_text_atomic
from unispectral.bench import Results, Store, Study, run, write_report, write_tables

__all__ = ["forget", "main", "pack", "share", "unpack"]

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


def share(source: Path, record: Path, study: Study) -> int:
    """Copy the fits of a study that another packed record has; their number is returned."""
    with Store(record) as store:
        wanted = {cell.key for cell in study.cells()} - store.records().keys()
    lines = [
        line
        for line in lzma.decompress(source.read_bytes()).splitlines(keepends=True)
        if b'"kind":"cell"' in line and json.loads(line)["key"] in wanted
    ]
    with record.open("ab") as stream:
        stream.writelines(lines)
    return len(lines)


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog=_COMMAND, description=__doc__)
    parser.add_argument("--study", choices=("paper", "peers"), default="paper")
    parser.add_argument("--again", nargs="+", default=[], metavar="METHOD")
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--report", action="store_true", help="only write tables and page")
    parser.add_argument("--folder", type=Path, default=_RESULTS)
    options = parser.parse_args(arguments)
    name = options.study
    packed, record = options.folder / f"{name}.jsonl.xz", options.folder / f"{name}.jsonl"
    if packed.exists():
        unpack(packed, record)
    study = Study.load(name)
    if options.again:
        print(f"{forget(record, options.again)} cells are run again")
    if name != "paper":
        print(f"{share(options.folder / 'paper.jsonl.xz', record, study)} fits are shared")
    with Store(record) as store:
        if not options.report:
            part = study.select(options.datasets, options.methods)
            run(part, store, processes=options.processes, threads=1, stream=sys.stdout)
        command = f"{_COMMAND} --study {name}" if name != "paper" else _COMMAND
        store.save_study(study, command)
        results = Results(study, store)
        write_tables(results, options.folder / f"{name}.md")
        write_report(results, options.folder / f"{name}.html", command=command)
        if name == "paper":
            write_text_atomic(options.folder / "paper_models.md", render(results, command))
    pack(record, packed)


if __name__ == "__main__":
    main()
