"""The store: every result of every study in one SQLite file.

Why SQLite and not Parquet: a result is committed the moment it exists, a process that is killed
leaves all committed results behind, a report may read while a run writes, and one file is easy to
keep and to send. The write-ahead log makes a commit cheap enough for one per cell. What SQLite
does not have is a checksum of its content, so each row carries its own.

A store may come from anybody: its schema must be ours to the letter, every row is checked before
it is used, and no statement runs for ever.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import math
import os
import re
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from unispectral.bench._cells import Cell, canonical
from unispectral.bench._toml import study_from_json, study_to_json
from unispectral.bench._worker import decode_labels
from unispectral.bench.study import Study

__all__ = ["Record", "Store", "StoreError", "plain_text"]

_SCHEMA = 1
_TABLES = {
    "environments": """CREATE TABLE environments (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, content TEXT NOT NULL)""",
    "studies": """CREATE TABLE studies (
    name TEXT NOT NULL, digest TEXT NOT NULL, content TEXT NOT NULL, saved TEXT NOT NULL,
    command TEXT NOT NULL, PRIMARY KEY (name, digest))""",
    "cells": """CREATE TABLE cells (
    key TEXT PRIMARY KEY, job TEXT NOT NULL, status TEXT NOT NULL, reason TEXT, scores TEXT,
    labels BLOB, seconds REAL, cpu_seconds REAL, prepare_seconds REAL, peak_bytes INTEGER,
    n_samples INTEGER, facts TEXT, warnings TEXT, environment INTEGER NOT NULL,
    ended TEXT NOT NULL, digest TEXT NOT NULL)""",
}
_NUMBERS = ("seconds", "cpu_seconds", "prepare_seconds", "peak_bytes", "n_samples")
_COLUMNS = ("key", "job", "status", "reason", "scores", "labels", *_NUMBERS, "facts", "warnings")
_STATUSES = ("done", "error", "timeout", "memory", "crash", "data")
_INVALID = (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError)
#: Seconds of one statement, and bytes of one value: far more than an honest store needs.
_PATIENCE = 120.0
_LONGEST = 2**28


class StoreError(RuntimeError):
    """The store cannot be read or written; the message says what to do."""


@dataclass(frozen=True)
class Record:
    """The stored result of one cell."""

    key: str
    job: dict[str, Any] = field(repr=False)
    status: str
    reason: str | None = None
    scores: dict[str, float] = field(default_factory=dict)
    seconds: float | None = None
    cpu_seconds: float | None = None
    prepare_seconds: float | None = None
    peak_bytes: int | None = None
    n_samples: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    environment: int = 0
    ended: str = ""
    labels_blob: bytes | None = field(default=None, repr=False)

    @property
    def labels(self) -> np.ndarray | None:
        """The labels found, or None if the cell failed."""
        if self.labels_blob is None:
            return None
        return decode_labels(self.labels_blob, self.n_samples or 0)


class Store:
    """The results of studies in one file.

    Parameters
    ----------
    path : path-like
        The SQLite file; made if it does not exist.
    readonly : bool
        Only read; the file must exist.

    Examples
    --------
    >>> import tempfile
    >>> with Store(Path(tempfile.mkdtemp()) / "results.sqlite") as store:
    ...     store.studies()
    []
    """

    def __init__(self, path: str | os.PathLike[str], *, readonly: bool = False) -> None:
        self.path = Path(path)
        if readonly and not self.path.is_file():
            raise StoreError(f"There are no results at {self.path}; run a study first.")
        self._deadline = 0.0
        with self._sentences():
            self._open(readonly)

    def _open(self, readonly: bool) -> None:
        self._db = self._reader() if readonly else self._connect("")
        try:
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > _SCHEMA:
                raise StoreError(
                    f"{self.path} was written by a later version of unispectral; update it, or "
                    "name another store."
                )
            self._check_schema()
            if not readonly:
                self._db.execute("PRAGMA journal_mode=WAL")
                # Safe against a killed process; a power cut may lose the last seconds, no more.
                self._db.execute("PRAGMA synchronous=NORMAL")
            if self._db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("database disk image is malformed")
            if not readonly and version < _SCHEMA:
                self._db.execute("BEGIN IMMEDIATE")
                for statement in _TABLES.values():
                    changed = statement.replace("TABLE", "TABLE IF NOT EXISTS", 1)
                    self._db.execute(changed)
                self._db.execute(f"PRAGMA user_version={_SCHEMA}")
                self._db.execute("COMMIT")
        except BaseException:
            self._db.close()
            raise

    def _check_schema(self) -> None:
        """Refuse views, triggers, virtual tables and columns that compute: they run code."""
        for kind, name, statement in self._db.execute("SELECT type, name, sql FROM sqlite_master"):
            expected = None if name.startswith("sqlite_autoindex_") else _TABLES.get(name, "")
            if statement != expected:
                raise StoreError(
                    f"{self.path} is not a store of results: its {kind} {name!r} was not made by "
                    "unispectral. Name another file."
                )

    def _reader(self) -> sqlite3.Connection:
        """A connection for reading; one that may write leaves no log behind when it closes."""
        for query in ("?mode=rw", "?mode=ro"):
            reader = self._connect(query)
            try:
                reader.execute("SELECT 1 FROM sqlite_master").fetchone()
                reader.execute("PRAGMA query_only=1")
            except sqlite3.OperationalError:
                reader.close()
            else:
                return reader
        return self._connect("?immutable=1")

    def _connect(self, query: str) -> sqlite3.Connection:
        uri = self.path.resolve().as_uri() + query
        connection = sqlite3.connect(uri, uri=True, timeout=60.0, isolation_level=None)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        connection.set_progress_handler(lambda: time.monotonic() > self._deadline, 100_000)
        # Damaged text must not stop the reading of all other rows: its checksum gives it away.
        connection.text_factory = lambda content: content.decode("utf-8", "replace")
        return connection

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turn what SQLite says into a sentence with a remedy."""
        self._deadline = time.monotonic() + _PATIENCE
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if "interrupted" in str(error) and time.monotonic() < self._deadline:
                # Not our deadline: the interrupt of a person came while SQLite asked for it.
                raise KeyboardInterrupt from None
            damaged = "malformed" in str(error) or "not a database" in str(error)
            remedy = "Move it away" if damaged else "Free space, correct the permissions"
            raise StoreError(
                f"The results cannot be kept in {self.path}: {error}. {remedy} or name another "
                "file; the same command then goes on."
            ) from error

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._sentences():
            return self._db.execute(statement, values).fetchall()

    def close(self) -> None:
        """Close the file; the write-ahead log is folded in."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # Studies
    def save_study(self, study: Study, command: str) -> None:
        """Remember a study and the command that runs it, so that a report needs nothing else."""
        content = study_to_json(study)
        row = (study.name, _digest([content]), content, _now(), plain_text(command))
        self._rows("INSERT OR REPLACE INTO studies VALUES (?, ?, ?, ?, ?)", *row)

    def studies(self) -> list[str]:
        """The names of the stored studies, the latest last."""
        rows = self._rows("SELECT name FROM studies GROUP BY name ORDER BY MAX(rowid)")
        return [str(name) for (name,) in rows]

    def load_study(self, name: str | None = None) -> tuple[Study, dict[str, str]]:
        """A stored study (the latest by default), with when and by which command it was saved."""
        names = self.studies()
        if name is None and names:
            name = names[-1]
        if name not in names or name is None:
            known = ", ".join(names) or "none yet"
            raise StoreError(f"{self.path} has no study {name!r}; it has {known}.")
        content, saved, command = self._rows(
            "SELECT content, saved, command FROM studies WHERE name = ? ORDER BY rowid DESC", name
        )[0]
        try:
            study = study_from_json(content)
        except _INVALID as error:
            raise StoreError(f"The study {name!r} in {self.path} is damaged: {error}.") from None
        return study, {"saved": str(saved), "command": str(command)}

    # Cells
    def put(self, cell: Cell, answer: dict[str, Any]) -> None:
        """Commit the outcome of a cell."""
        answer = plain_text(answer)
        labels, scores = answer.get("labels"), answer.get("scores")
        row = {
            **{name: answer.get(name) for name in _NUMBERS},
            "key": cell.key,
            "job": canonical({**cell.job(), "method": cell.method.name}),
            "status": answer["status"],
            "reason": answer.get("reason"),
            "scores": canonical(scores) if scores is not None else None,
            "labels": base64.b64decode(labels) if labels is not None else None,
            "facts": canonical(answer.get("facts", {})),
            "warnings": canonical(answer.get("warnings", [])),
        }
        for name in ("seconds", "cpu_seconds", "prepare_seconds"):  # REAL, as they will be read
            row[name] = None if row[name] is None else float(row[name])
        values = [row[name] for name in _COLUMNS]
        environment = canonical(answer.get("environment", {}))
        digest = _digest([environment])
        self._rows("INSERT OR IGNORE INTO environments (digest, content) VALUES (?, ?)",
                   digest, environment)  # fmt: skip
        ((number,),) = self._rows("SELECT id FROM environments WHERE digest = ?", digest)
        places = ", ".join("?" * (len(values) + 3))
        statement = f"INSERT OR REPLACE INTO cells VALUES ({places})"
        self._rows(statement, *values, number, _now(), _digest(values))

    def environments(self) -> dict[int, dict[str, Any]]:
        """The environments in which cells were run, by their number; those that make sense."""
        found = {}
        for number, text in self._rows("SELECT id, content FROM environments"):
            with contextlib.suppress(*_INVALID):
                content = plain_text(json.loads(text))
                texts = [content[name] for name in ("python", "system", "processor")]
                texts += [*content["versions"], *content["versions"].values()]
                numbers = [content[name] for name in ("cores", "memory", "threads")]
                if all(isinstance(t, str) for t in texts) and all(map(_is_number, numbers)):
                    found[number] = content
        return found

    def records(self, keys: Iterable[str] | None = None) -> dict[str, Record]:
        """Stored results by key; a row that is not what was written counts as not there."""
        select = f"SELECT {', '.join(_COLUMNS)}, environment, ended, digest FROM cells"
        if keys is None:
            rows = self._rows(select)
        else:
            wanted, rows = list(set(keys)), []
            for start in range(0, len(wanted), 500):
                some = wanted[start : start + 500]
                rows += self._rows(f"{select} WHERE key IN ({', '.join('?' * len(some))})", *some)
        found = {}
        for row in rows:
            with contextlib.suppress(*_INVALID):
                found[row[0]] = _record(row)
        return found

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs off this file, where the system has locks; it frees ours if we die."""
        if sys.platform == "win32":
            yield
            return
        import fcntl

        with self._sentences():
            number = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            with contextlib.suppress(OSError):  # a file system without locks
                try:
                    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise StoreError(
                        f"Another run is writing {self.path}; wait for it, or name another store."
                    ) from None
            yield
        finally:
            os.close(number)


def plain_text(value: Any) -> Any:
    r"""The same, with every text in it fit for a file.

    Examples
    --------
    >>> plain_text({"reason": "bad \udc80"})
    {'reason': 'bad \\udc80'}
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {plain_text(key): plain_text(entry) for key, entry in value.items()}
    return [plain_text(entry) for entry in value] if isinstance(value, list) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _record(row: tuple[Any, ...]) -> Record:
    """A row as a record; ValueError or the like if it is not what a run has written."""
    *values, environment, ended, digest = row
    entry = dict(zip(_COLUMNS, values, strict=True))
    blob = entry.pop("labels")
    for name in ("job", "scores", "facts", "warnings"):
        entry[name] = plain_text(json.loads(entry[name])) if entry[name] is not None else {}
    entry["warnings"] = tuple(entry["warnings"])
    job, facts, reason = entry["job"], entry["facts"], entry["reason"]
    numbers = [entry[name] for name in _NUMBERS if entry[name] is not None]
    numbers += [*entry["scores"].values(), facts.get("objective", 0), *facts.get("weights", [])]
    numbers += [value for value in job["limits"].values() if value is not None]
    texts = [ended, reason or "", job["method"], job["dataset"]["name"], *facts.get("kernels", [])]
    if not (
        _digest(values) == digest
        and re.fullmatch("[0-9a-f]{32}", entry["key"])
        and entry["status"] in _STATUSES
        and {"seconds", "bytes"} == job["limits"].keys()
        and isinstance(blob, bytes | None)
        and all(map(_is_number, numbers))
        and all(isinstance(text, str) for text in (*texts, *entry["warnings"]))
    ):
        raise ValueError("not as it was written")
    return Record(**entry, environment=environment, ended=ended, labels_blob=blob)


def _digest(values: list[Any]) -> str:
    hasher = hashlib.sha256()
    for value in values:
        hasher.update(repr(value).encode())
        hasher.update(b"\0")
    return hasher.hexdigest()[:16]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
