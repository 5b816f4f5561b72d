"""Hostile files for the readers of tables, the command line and saved models."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from robustness._damaged import DAMAGES, FORMATS, TEXTS, damaged, table, valid
from robustness._pool import add_cases
from robustness._results import Part, Plan, Result

__all__ = ["PARTS", "FileCase", "file_cases", "outcome"]

_LIMIT = 120.0


class FileCase(NamedTuple):
    """Who reads (a reader, the command line, the loader of models), which file, damaged how."""

    reader: str
    format: str
    damage: str
    seed: int

    def __str__(self) -> str:
        return f"{self.reader}: {self.format} | {self.damage} | {self.seed}"


_TITLES = {
    "tables": "read_table",
    "models": "load_model",
    "cli": "the command line",
}


def _cases_of(reader: str, few: int, many: int) -> Part:
    """The cases of a reader, one after another."""

    def part(plan: Plan) -> Result:
        result = Result(f"hostile files: {_TITLES[reader]}", plan.seed)
        wanted = islice(file_cases(reader, plan.seed), plan.pick(few, many))
        return add_cases(result, outcome, wanted, workers=plan.workers, limit=_LIMIT)

    return part


def prepare() -> None:
    """Let every reader read what is whole, so that all is imported and compiled."""
    for reader in _READERS:
        for format in FORMATS:
            if (format == "model") == (reader == "models"):
                outcome(FileCase(reader, format, "none", 0))


PARTS: dict[str, Part] = {
    "tables": _cases_of("tables", 40, 1500),
    "models": _cases_of("models", 60, 800),
    "cli": _cases_of("cli", 20, 400),
}


def file_cases(reader: str, seed: int) -> Iterator[FileCase]:
    """Endless cases for one reader."""
    rng = np.random.default_rng([seed, len(reader)])
    formats = ["model"] if reader == "models" else [f for f in FORMATS if f != "model"]
    while True:
        for damage in DAMAGES:
            kind = formats[rng.integers(len(formats))]
            yield FileCase(reader, kind, damage, int(rng.integers(2**31)))
        if reader != "models":
            for name in TEXTS:
                yield FileCase(reader, "csv", name, int(rng.integers(2**31)))


def outcome(case: FileCase) -> tuple[str, str]:
    """Do one case: ``"works"``, ``"refused"`` or ``"failed"``, and what was said."""
    content, suffix = damaged(case.format, case.damage, case.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"hostile{suffix}"
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _READERS[case.reader](path)
        left = sorted(p.name for p in Path(folder).iterdir())
        if case.reader != "cli" and left != [path.name]:
            return "failed", f"the reader left files behind: {left}"
        if path.read_bytes() != content:
            return "failed", "the reader changed the file"
    return found


def _refused(error: BaseException, path: Path) -> tuple[str, str]:
    from unispectral.persistence import ModelFileError
    from unispectral.tables import TableError

    text = str(error)
    if isinstance(error, (TableError, ModelFileError)) and len(text) < 2000 and "\n" not in text:
        return "refused", text
    return "failed", f"{type(error).__name__}: {text}"


def _read_table(path: Path) -> tuple[str, str]:
    from unispectral.tables import read_table

    try:
        table = read_table(path)
    except Exception as error:
        return _refused(error, path)
    values = table.values.data if sp.issparse(table.values) else table.values
    if not np.isfinite(values).all():
        return "failed", "values that are not finite"
    if table.values.ndim != 2 or table.values.shape[1] != len(table.columns):
        return "failed", f"{table.values.shape} for {len(table.columns)} columns"
    return "works", ""


def _load_model(path: Path) -> tuple[str, str]:
    from unispectral.persistence import load_model

    try:
        model = load_model(path)
    except Exception as error:
        return _refused(error, path)
    if path.read_bytes() == valid("model"):
        return "works", ""
    # Whatever a damaged file still gives must be the model that was saved.
    whole = _whole_model()
    if not np.array_equal(model.predict(table()), whole.predict(table())):
        return "failed", "a damaged file gave another model"
    return "works", ""


@lru_cache(maxsize=1)
def _whole_model():
    from unispectral.persistence import load_model

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "whole.npz"
        path.write_bytes(valid("model"))
        return load_model(path)


def _cli(path: Path) -> tuple[str, str]:
    from unispectral.cli._app import run as command

    out = path.with_name("labels.csv")
    said = io.StringIO()
    method = ([], ["--method", "KKM"], ["--method", "kmeans"])[path.stat().st_size % 3]
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = command(["cluster", str(path), "-k", "2", "-o", str(out), "-q", *method])
    words = said.getvalue()
    if code == 0:
        lines = out.read_text().splitlines()
        labels = [line.split(",")[1] for line in lines[1:]]
        if not labels or not all(re.fullmatch(r"[01]", label) for label in labels):
            return "failed", f"labels {labels[:5]}"
        return "works", ""
    if out.exists():
        return "failed", f"code {code}, but the labels were written"
    if code in (1, 2) and "Error: " in words and "--debug shows where" not in words:
        return "refused", words
    return "failed", f"code {code}: {words}"


_READERS = {"tables": _read_table, "models": _load_model, "cli": _cli}
