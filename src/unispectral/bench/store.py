"""The store: the outcome of every cell of every study, one JSON object per line of one file.

A line is appended the moment its cell has ended, so that a process which is killed leaves all
earlier lines behind and at most half of one; the last line of a cell counts. A report may read
while a run writes, and other tools can read the file, too: ``pandas.read_json(path, lines=True)``.

A store may come from anybody. Nothing in it is code, and a line is used only if it carries its
own checksum and has the meaning that a run would have given it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unispectral.bench._cells import Cell, expand, fingerprint
from unispectral.bench.study import Study

__all__ = ["Record", "Store", "StoreError", "plain_text"]

_HEAD = b'{"format":"unispectral bench results","version":1}\n'
#: Bytes of a line, and of a file; what is longer is none of ours.
_LONGEST = 2**20
_LARGEST = 2**30
#: Characters of a reason that are kept.
_REASON = 10_000
_STATUSES = ("done", "error", "timeout", "memory", "crash", "data")
_INVALID = (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError)


class StoreError(ValueError):
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
    peak_bytes: int | None = None
    n_samples: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    ended: str = ""


class Store:
    """The results of studies in one file.

    Parameters
    ----------
    path : path-like
        The file; made if it does not exist.
    readonly : bool
        Only read; the file must exist.

    Examples
    --------
    >>> import tempfile
    >>> with Store(Path(tempfile.mkdtemp()) / "results.jsonl") as store:
    ...     store.studies()
    []
    """

    def __init__(self, path: str | os.PathLike[str], *, readonly: bool = False) -> None:
        self.path = Path(path)
        if readonly and not self.path.is_file():
            raise StoreError(f"There are no results at {self.path}; run a study first.")
        self._seen = 0  # bytes that have been read
        self._studies: dict[str, dict[str, Any]] = {}
        self._records: dict[str, Record] = {}
        with self._sentences(), contextlib.ExitStack() as after:
            self._file = self.path.open("rb" if readonly else "ab+", buffering=0)
            after.callback(self.close)
            self._check_head(readonly)
            after.pop_all()

    def _check_head(self, readonly: bool) -> None:
        """Refuse what is not ours before anything is written to it."""
        self._file.seek(0)
        head = self._file.readline(200)
        small = self._file.seek(0, os.SEEK_END) <= _LARGEST
        if small and head == _HEAD:
            return
        if readonly or not small or not _HEAD.startswith(head):
            raise StoreError(
                f"{self.path} is not a store of results, one of another version of "
                "unispectral or of more than a gigabyte. Move it away or name another file."
            )
        self._file.truncate(0)  # new, or cut off by a full disk
        self._write(_HEAD)

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turn what the system says into a sentence with a remedy."""
        try:
            yield
        except OSError as error:
            remedy = "Free space, correct the permissions or name another file"
            problem = f"The results cannot be kept in {self.path}: {error.strerror}"
            raise StoreError(f"{problem}. {remedy}; the same command then goes on.") from error

    def _append(self, entry: dict[str, Any]) -> None:
        entry = plain_text(entry)
        line = f"{_dump({**entry, 'digest': _digest(entry)})}\n".encode()
        if len(line) > _LONGEST:
            what = f"The {entry['kind']} is too large for {self.path}"
            raise StoreError(f"{what}: {len(line)} bytes of at most {_LONGEST}; make it smaller.")
        with self._sentences():
            self._file.seek(-1, os.SEEK_END)
            if self._file.read(1) != b"\n":  # what a full disk has cut off
                line = b"\n" + line
            self._write(line)

    def _write(self, line: bytes) -> None:
        if self._file.write(line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _read_on(self) -> None:
        """Take in the whole lines that have come since the last look, our own among them."""
        with self._sentences(), self.path.open("rb") as stream:
            stream.seek(self._seen)
            while (line := stream.readline(_LONGEST)).endswith(b"\n") or len(line) == _LONGEST:
                self._seen += len(line)
                if b'"digest":' in line:  # or it is none of ours, and not worth the parsing
                    with contextlib.suppress(*_INVALID):
                        self._take_in(line)

    def _take_in(self, line: bytes) -> None:
        entry = json.loads(line)
        if entry.pop("digest") != _digest(entry):
            return  # changed, or half of a line
        entry = plain_text(entry)
        kind = entry.pop("kind", None)
        if kind == "cell":
            self._records[entry["key"]] = _parse_record(entry)
        elif kind == "study":
            self._studies.pop(str(entry["name"]), None)  # the latest is the last
            self._studies[str(entry["name"])] = entry

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # Studies
    def save_study(self, study: Study, command: str) -> list[str]:
        """Remember a study and the command that runs it, so that a report needs nothing else.

        Earlier selections of the study stay part of it, and their commands. Returned are the
        methods of which stored results are not, because the study has changed.
        """
        hidden: list[str] = []
        with contextlib.suppress(*_INVALID):  # there is none that could be shown
            earlier, before = self.load_study(study.name)
            stored = [cell for cell in expand(earlier) if cell.key in self._records]
            joined = study.join(earlier)
            if (joined.datasets, joined.methods) != (study.datasets, study.methods):
                command = "\n".join(dict.fromkeys([*before.splitlines(), command]))
            study = joined
            kept = {cell.key for cell in expand(joined)}
            hidden = [cell.method.name for cell in stored if cell.key not in kept]
        tables = asdict(replace(study, datasets=tuple(map(fingerprint, study.datasets))))
        self._append({"kind": "study", "name": study.name, "tables": tables, "command": command})
        return list(dict.fromkeys(hidden))

    def studies(self) -> list[str]:
        """The names of the stored studies, the latest last."""
        self._read_on()
        return list(self._studies)

    def load_study(self, name: str | None = None) -> tuple[Study, str]:
        """A stored study, the latest by default, and the command that ran it."""
        names = self.studies()
        if name is None and not names:
            raise StoreError(f"{self.path} has no study yet; run one first.")
        if name is None:
            name = names[-1]
        if name not in names:
            known = ", ".join(names) or "none yet"
            raise StoreError(f"{self.path} has no study {name!r}; it has {known}.")
        try:
            study = Study.from_table(self._studies[name]["tables"])
            if any(dataset.file and not dataset.digest for dataset in study.datasets):
                raise ValueError("a file without its digest")  # which would have to be read
            return study, str(self._studies[name]["command"])
        except _INVALID as error:
            said = str(error).rstrip(".")
            raise StoreError(f"The study {name!r} in {self.path} is damaged: {said}.") from None

    # Cells
    def put(self, cell: Cell, answer: dict[str, Any]) -> None:
        """Append the outcome of a cell."""
        names = Record.__dataclass_fields__.keys() & answer.keys()
        given = {name: answer[name] for name in names if answer[name] is not None}
        if "reason" in given:
            given["reason"] = given["reason"][:_REASON]
        job = {**cell.job(), "method": cell.method.name}
        self._append({"kind": "cell", **given, "key": cell.key, "job": job, "ended": _now()})

    def records(self) -> dict[str, Record]:
        """Stored results by key; a line that is not what was written counts as not there."""
        self._read_on()
        return dict(self._records)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other runs off this file, where the system has locks; it frees ours if we die."""
        if sys.platform == "win32":
            yield
            return
        import fcntl

        with contextlib.ExitStack() as after:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                after.callback(fcntl.flock, self._file, fcntl.LOCK_UN)
            except BlockingIOError:
                advice = "wait for it, or name another store"
                raise StoreError(f"Another run is writing {self.path}; {advice}.") from None
            except OSError:
                pass  # a file system without locks
            yield


def plain_text(value: object) -> Any:
    """The same, with every text in it fit for a file: lone surrogates are written as escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {plain_text(key): plain_text(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_text(entry) for entry in value]
    return value


def _is_number(value: object) -> bool:
    """Whether it is a number whose square is one, too."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e100


def _parse_record(entry: dict[str, Any]) -> Record:
    """A line as a record; ValueError or the like if it is not what a run has written."""
    record = Record(**entry)
    job = record.job
    facts = record.facts
    numbers = [record.seconds, record.peak_bytes, record.n_samples, *job["limits"].values()]
    numbers = [number for number in numbers if number is not None]
    numbers += [*record.scores.values(), facts.get("objective", 0)]
    texts = [record.key, record.ended, record.reason or "", *record.warnings]
    texts += [*record.environment.values(), job["method"], job["dataset"]["name"]]
    if not (
        re.fullmatch("[0-9a-f]{32}", record.key)
        and record.status in _STATUSES
        and {"seconds", "bytes"} == job["limits"].keys()
        and all(map(_is_number, numbers))
        and all(isinstance(text, str) for text in texts)
    ):
        raise ValueError("not as it was written")
    return record


def _dump(entry: object) -> str:
    return json.dumps(entry, separators=(",", ":"), allow_nan=False)


def _digest(entry: object) -> str:
    return hashlib.sha256(_dump(entry).encode()).hexdigest()[:16]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
