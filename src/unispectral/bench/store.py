"""The store: every result of every study in one SQLite file.

Why SQLite and not Parquet: a result is committed the moment it exists, a process that is killed
leaves all committed results behind, several runs may write at once, and one file is easy to keep
and to send. The write-ahead log makes a commit cheap enough for one per cell. What SQLite does
not have is a checksum of its content, so each row carries its own.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import sqlite3
import sys
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

__all__ = ["Record", "Store", "StoreError"]

_SCHEMA = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS environments (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, content TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS studies (
    name TEXT NOT NULL, digest TEXT NOT NULL, content TEXT NOT NULL, saved TEXT NOT NULL,
    command TEXT NOT NULL, PRIMARY KEY (name, digest));
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY, job TEXT NOT NULL, status TEXT NOT NULL, reason TEXT, scores TEXT,
    labels BLOB, seconds REAL, cpu_seconds REAL, prepare_seconds REAL, peak_bytes INTEGER,
    n_samples INTEGER, facts TEXT, warnings TEXT, environment INTEGER NOT NULL,
    ended TEXT NOT NULL, digest TEXT NOT NULL);
"""
_COLUMNS = (
    "key", "job", "status", "reason", "scores", "labels", "seconds", "cpu_seconds",
    "prepare_seconds", "peak_bytes", "n_samples", "facts", "warnings",
)  # fmt: skip
#: Cells with these outcomes are tried again by the next run: nothing was wrong with the method.
RETRIED = ("data", "crash")


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
        return None if self.labels_blob is None else decode_labels(self.labels_blob)


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
        self.set_aside: Path | None = None
        self._claims: int | None = None
        with self._sentences():
            try:
                self._open(readonly)
            except sqlite3.DatabaseError as error:
                if readonly or not _damaged(error):
                    raise
                self._move_damaged()
                self._open(readonly)

    def _open(self, readonly: bool) -> None:
        self._db = self._reader() if readonly else self._connect("")
        try:
            if not readonly:
                self._db.execute("PRAGMA journal_mode=WAL")
                # Safe against a killed process; a power cut may lose the last seconds, no more.
                self._db.execute("PRAGMA synchronous=NORMAL")
            if self._db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("database disk image is malformed")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > _SCHEMA:
                raise StoreError(
                    f"{self.path} was written by a later version of unispectral; update it, or "
                    "name another store."
                )
            if not readonly and version < _SCHEMA:
                self._db.execute("BEGIN IMMEDIATE")
                for statement in _TABLES.strip().split(";\n"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version={_SCHEMA}")
                self._db.execute("COMMIT")
        except BaseException:
            self._db.close()
            raise

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
        # Damaged text must not stop the reading of all other rows: its checksum gives it away.
        connection.text_factory = lambda content: content.decode("utf-8", "replace")
        return connection

    def _move_damaged(self) -> None:
        """Keep a file that is no longer a database out of the way, under a name that says so."""
        for number in range(1, 1000):
            target = self.path.with_name(f"{self.path.name}.damaged-{number}")
            if not target.exists():
                break
        os.replace(self.path, target)
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.replace(f"{self.path}{suffix}", f"{target}{suffix}")
        self.set_aside = target

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turn what SQLite says into a sentence with a remedy."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"The results cannot be kept in {self.path}: {error}. Free space, mend the "
                "permissions or name another file; the same command then goes on."
            ) from error

    def close(self) -> None:
        """Close the file; the write-ahead log is folded in."""
        if self._claims is not None:
            os.close(self._claims)
            self._claims = None
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # Studies
    def save_study(self, study: Study, command: str) -> None:
        """Remember a study and the command that runs it, so that a report needs nothing else."""
        content = study_to_json(study)
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        with self._sentences():
            self._db.execute(
                "INSERT OR REPLACE INTO studies VALUES (?, ?, ?, ?, ?)",
                (study.name, digest, content, _now(), command),
            )

    def studies(self) -> list[str]:
        """The names of the stored studies, the latest last."""
        with self._sentences():
            rows = self._db.execute("SELECT name FROM studies GROUP BY name ORDER BY MAX(rowid)")
            return [name for (name,) in rows]

    def load_study(self, name: str | None = None) -> tuple[Study, dict[str, str]]:
        """A stored study (the latest by default), with when and by which command it was saved."""
        names = self.studies()
        if name is None and names:
            name = names[-1]
        if name not in names or name is None:
            known = ", ".join(names) or "none yet"
            raise StoreError(f"{self.path} has no study {name!r}; it has {known}.")
        with self._sentences():
            row = self._db.execute(
                "SELECT content, saved, command FROM studies WHERE name = ? "
                "ORDER BY rowid DESC LIMIT 1",
                (name,),
            ).fetchone()
        return study_from_json(row[0]), {"saved": row[1], "command": row[2]}

    # Cells
    def put(self, cell: Cell, answer: dict[str, Any]) -> None:
        """Commit the outcome of a cell."""
        labels = answer.get("labels")
        scores = answer.get("scores")
        row = {
            "key": cell.key,
            "job": canonical({**cell.job(), "method": cell.method.name}),
            "status": answer["status"],
            "reason": answer.get("reason"),
            "scores": canonical(scores) if scores is not None else None,
            "labels": base64.b64decode(labels) if labels is not None else None,
            "seconds": _real(answer.get("seconds")),
            "cpu_seconds": _real(answer.get("cpu_seconds")),
            "prepare_seconds": _real(answer.get("prepare_seconds")),
            "peak_bytes": answer.get("peak_bytes"),
            "n_samples": answer.get("n_samples"),
            "facts": canonical(answer.get("facts", {})),
            "warnings": canonical(answer.get("warnings", [])),
        }
        values = [row[name] for name in _COLUMNS]
        with self._sentences():
            environment = self._environment(answer.get("environment", {}))
            self._db.execute(
                f"INSERT OR REPLACE INTO cells VALUES ({', '.join('?' * (len(values) + 3))})",
                [*values, environment, _now(), _digest(values)],
            )

    def _environment(self, content: dict[str, Any]) -> int:
        text = canonical(content)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self._db.execute(
            "INSERT OR IGNORE INTO environments (digest, content) VALUES (?, ?)", (digest, text)
        )
        return int(
            self._db.execute("SELECT id FROM environments WHERE digest = ?", (digest,)).fetchone()[
                0
            ]
        )

    def environments(self) -> dict[int, dict[str, Any]]:
        """The environments in which cells were run, by their number."""
        with self._sentences():
            rows = self._db.execute("SELECT id, content FROM environments")
            return {number: json.loads(text) for number, text in rows}

    def status(self, key: str) -> str | None:
        """The outcome of a cell, if it has one by now."""
        with self._sentences():
            row = self._db.execute("SELECT status FROM cells WHERE key = ?", (key,)).fetchone()
            return row[0] if row else None

    def records(self, keys: Iterable[str] | None = None) -> dict[str, Record]:
        """Stored results by key; a row that is not what was written counts as not there."""
        wanted = None if keys is None else set(keys)
        found: dict[str, Record] = {}
        with self._sentences():
            rows = self._db.execute(
                f"SELECT {', '.join(_COLUMNS)}, environment, ended, digest FROM cells"
            )
            for row in rows:
                if wanted is not None and row[0] not in wanted:
                    continue
                *values, environment, ended, digest = row
                if _digest(values) == digest:
                    found[row[0]] = _record(values, environment, ended)
        return found

    def find(self, start: str) -> Record:
        """The one cell whose key begins with `start`."""
        found = [record for key, record in self.records().items() if key.startswith(start)]
        if len(found) != 1 or len(start) < 4:
            raise StoreError(
                f"{len(found)} cells of {self.path} have a key that begins with {start!r}; give "
                "at least four characters that name one."
            )
        return found[0]

    # Claims
    def claim(self, key: str) -> bool:
        """Reserve a cell among several runs on this file; the system frees it if we die.

        The reservation is a lock on one byte of a file beside the store, at a place that the key
        decides. It needs no clock and no clean-up. Where there are no such locks, every claim
        succeeds: two runs then do some cells twice, with the same result.
        """
        if sys.platform == "win32":
            return True
        import fcntl

        if self._claims is None:
            with self._sentences():
                self._claims = os.open(f"{self.path}.claims", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.lockf(self._claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
        return True

    def release(self, key: str) -> None:
        """Give a reservation back."""
        if self._claims is not None and sys.platform != "win32":
            import fcntl

            with contextlib.suppress(OSError):
                fcntl.lockf(self._claims, fcntl.LOCK_UN, 1, _place(key))


def _real(value: float | None) -> float | None:
    return None if value is None else float(value)


def _place(key: str) -> int:
    return int(key[:15], 16)


def _record(values: list[Any], environment: int, ended: str) -> Record:
    row = dict(zip(_COLUMNS, values, strict=True))
    blob = row.pop("labels")
    for name in ("job", "scores", "facts", "warnings"):
        row[name] = json.loads(row[name]) if row[name] is not None else {}
    row["warnings"] = tuple(row["warnings"])
    return Record(**row, environment=environment, ended=ended, labels_blob=blob)


def _digest(values: list[Any]) -> str:
    hasher = hashlib.sha256()
    for value in values:
        hasher.update(repr(value).encode())
        hasher.update(b"\0")
    return hasher.hexdigest()[:16]


def _damaged(error: sqlite3.DatabaseError) -> bool:
    text = str(error)
    return "malformed" in text or "not a database" in text


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
