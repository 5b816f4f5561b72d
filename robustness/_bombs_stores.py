"""Stores of results and files of the data cache whose meaning is large."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import cache
from typing import Any

from robustness._bombs import BOMBS, add_bomb

Entry = dict[str, Any]


@cache
def _lines() -> tuple[bytes, ...]:
    from robustness.store_fuzz import valid_lines

    return tuple(valid_lines())


def _store(entries: list[Entry | bytes]) -> bytes:
    """A store whose lines say so, with checksums that fit."""
    from robustness.store_fuzz import line_of

    head = _lines()[0]
    lines = [entry if isinstance(entry, bytes) else line_of(entry) for entry in entries]
    return b"\n".join([head, *lines]) + b"\n"


def _entries(kind: str) -> list[Entry]:
    found = [json.loads(line) for line in _lines()[1:]]
    return [entry for entry in found if entry["kind"] == kind]


def _changed_study(change: Callable[[Entry, int], None]) -> Callable[[int], bytes]:
    def make(factor: int) -> bytes:
        study = _entries("study")[-1]
        change(study["tables"], factor)
        return _store([study, *_entries("cell")])

    return make


def _changed_cell(change: Callable[[Entry, int], None]) -> Callable[[int], bytes]:
    def make(factor: int) -> bytes:
        cells = _entries("cell")
        change(cells[0], factor)
        return _store([*_entries("study"), *cells])

    return make


def _repeat(study: Entry, factor: int) -> None:
    study["methods"][0]["repeats"] = 10 ** (2 * factor)


def _widen_grid(study: Entry, factor: int) -> None:
    study["methods"][0]["grid"] = {name: list(range(30)) for name in "abcdef"[:factor]}


def _name_methods(study: Entry, factor: int) -> None:
    method = study["methods"][0]
    names = (f"m{number}" for number in range(min(10**factor, 3_000)))
    study["methods"] = [{**method, "name": name} for name in names]


def _name_sets(study: Entry, factor: int) -> None:
    one = study["datasets"][0]
    names = (f"d{number}" for number in range(min(10**factor, 2_000)))
    study["datasets"] = [{**one, "name": name} for name in names]


BOMBS["store.jsonl", "many repeats"] = _changed_study(_repeat)
BOMBS["store.jsonl", "a wide grid"] = _changed_study(_widen_grid)
BOMBS["store.jsonl", "many methods"] = _changed_study(_name_methods)
BOMBS["store.jsonl", "many data sets"] = _changed_study(_name_sets)


def _warn(cell: Entry, factor: int) -> None:
    cell["warnings"] = ["a"] * min(10**factor, 200_000)


def _explain(cell: Entry, factor: int) -> None:
    cell["status"] = "error"
    cell["reason"] = "a" * min(10 ** (factor + 1), 1_000_000)


def _score(cell: Entry, factor: int) -> None:
    cell["scores"] = {f"s{number}": 0.5 for number in range(min(10**factor, 60_000))}


def _count(cell: Entry, factor: int) -> None:
    cell["n_samples"] = cell["peak_bytes"] = 10 ** (15 * factor)


BOMBS["store.jsonl", "many warnings"] = _changed_cell(_warn)
BOMBS["store.jsonl", "a long reason"] = _changed_cell(_explain)
BOMBS["store.jsonl", "many scores"] = _changed_cell(_score)
BOMBS["store.jsonl", "large numbers"] = _changed_cell(_count)


@add_bomb("store.jsonl", "many studies")
def _(factor: int) -> bytes:
    study = _entries("study")[-1]
    return _store(
        [{**study, "name": f"s{number}"} for number in range(min(10 ** (factor - 1), 1_000))]
    )


@add_bomb("store.jsonl", "deep lines")
def _(factor: int) -> bytes:
    deep = b"[" * min(10**factor, 900_000)
    return _store([*_entries("study"), deep + b"]" * len(deep), *_entries("cell")])


@add_bomb("store.jsonl", "many empty lines")
def _(factor: int) -> bytes:
    return _store([*_entries("study"), b"\n" * 10**factor, *_entries("cell")])


@add_bomb("store.jsonl", "many lines that are none")
def _(factor: int) -> bytes:
    lines = b'{"digest":\n' * min(10**factor, 200_000)
    return _store([*_entries("study"), lines, *_entries("cell")])


@add_bomb("store.jsonl", "a long number")
def _(factor: int) -> bytes:
    digits = b"9" * min(10**factor, 900_000)
    return _store([*_entries("study"), b'{"kind": "cell", "seconds": ' + digits + b"}"])


@add_bomb("cache.gz", "zeros")
def _(factor: int) -> bytes:
    return gzip.compress(bytes(10 ** min(factor + 3, 8)) * (10 if factor == 6 else 1))


@add_bomb("cache.gz", "a false shape")
def _(factor: int) -> bytes:
    shape = b"\xff" * 4 * factor
    return gzip.compress(b"\0\0\x08" + bytes([factor]) + shape + bytes(100))


@add_bomb("cache.gz", "packed twice")
def _(factor: int) -> bytes:
    return gzip.compress(gzip.compress(bytes(10 ** (factor + 2))))
