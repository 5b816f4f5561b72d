"""Hostile files for the readers of tables, the command line and saved models.

A case is a valid file of some format, damaged by a seed: cut short, overwritten, repeated, given
another name; or a text that no table should hold.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.io
import scipy.sparse as sp

from torture._crew import run_cases
from torture._tally import Plan, Tally

__all__ = ["FileCase", "file_cases", "outcome", "run"]

_LIMIT = 120.0


class FileCase(NamedTuple):
    """Who reads (a reader, the command line, the loader of models), which file, damaged how."""

    reader: str
    format: str
    damage: str
    seed: int

    def __str__(self) -> str:
        return f"{self.reader}: {self.format} | {self.damage} | {self.seed}"


def run(plan: Plan) -> Iterator[Tally]:
    """Read damaged and hostile files in every way there is."""
    counts = {"tables": (150, 5000), "rows": (60, 1500), "models": (60, 1500), "cli": (40, 1000)}
    for reader, (few, many) in counts.items():
        tally = Tally(f"hostile files: {_TITLES[reader]}", plan.seed)
        wanted = islice(file_cases(reader, plan.seed), plan.pick(few, many))
        slowest: tuple[float, str] = (0.0, "")
        for answer in run_cases(outcome, wanted, limit=_LIMIT, until=plan.until):
            tally.add(answer.outcome, str(answer.case), answer.words)
            slowest = max(slowest, (answer.seconds, str(answer.case)))
        tally.facts["slowest case"] = f"{slowest[0]:.2f} s: {slowest[1]}"
        yield tally


_TITLES = {
    "tables": "read_table",
    "rows": "open_rows",
    "models": "load_model",
    "cli": "the command line",
}


def file_cases(reader: str, seed: int) -> Iterator[FileCase]:
    """Endless cases for one reader."""
    rng = np.random.default_rng([seed, len(reader)])
    formats = ["model"] if reader == "models" else [f for f in FORMATS if f != "model"]
    if reader == "rows":
        formats = ["csv", "npy", "npz", "parquet", "h5ad"]
    while True:
        for damage in DAMAGES:
            kind = formats[rng.integers(len(formats))]
            yield FileCase(reader, kind, damage, int(rng.integers(2**31)))
        if reader != "models":
            for name in TEXTS:
                yield FileCase(reader, "csv", name, int(rng.integers(2**31)))


# Valid files --------------------------------------------------------------------------------


def _table(rows: int = 12) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((rows, 3)).round(3)


def _frame():
    import pandas as pd

    frame = pd.DataFrame(_table(), columns=["a", "b", "c"])
    frame["kind"] = ["x", "y"] * 6
    return frame


def _saved(write: Callable, *args, **kwargs) -> bytes:
    file = io.BytesIO()
    write(file, *args, **kwargs)
    return file.getvalue()


def _by_path(suffix: str, write: Callable[[str], object]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"file{suffix}")
        write(path)
        return Path(path).read_bytes()


def _h5ad(path: str) -> None:
    import anndata
    import pandas as pd

    obs = pd.DataFrame(index=[f"r{i}" for i in range(12)])
    anndata.AnnData(sp.csr_matrix(_table()), obs=obs).write_h5ad(path)


def _hdf5(path: str) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=_table(), compression="gzip", chunks=(4, 3))
        file.create_dataset("other", data=np.arange(12))


def _model(path: str) -> None:
    from unispectral import SCSK
    from unispectral.persistence import save_model

    save_model(SCSK(2, kernel="gaussian", n_init=2).fit(_table()), path)


def _sparse_npz(file: io.BytesIO) -> None:
    sp.save_npz(file, sp.csr_matrix(_table()))


FORMATS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "csv": (".csv", lambda: _frame().to_csv(index=False).encode()),
    "tsv": (".tsv", lambda: _frame().to_csv(index=False, sep="\t").encode()),
    "npy": (".npy", lambda: _saved(np.save, _table())),
    "npz": (".npz", lambda: _saved(np.savez_compressed, X=_table())),
    "sparse npz": (".npz", lambda: _saved(_sparse_npz)),
    "mat": (".mat", lambda: _saved(scipy.io.savemat, {"X": _table(), "y": np.arange(12)})),
    "sparse mat": (
        ".mat",
        lambda: _saved(scipy.io.savemat, {"X": sp.csc_matrix(_table())}, do_compression=True),
    ),
    "parquet": (".parquet", lambda: _saved(lambda f: _frame().to_parquet(f))),
    "excel": (".xlsx", lambda: _saved(lambda f: _frame().to_excel(f, index=False))),
    "h5ad": (".h5ad", lambda: _by_path(".h5ad", _h5ad)),
    "hdf5": (".h5", lambda: _by_path(".h5", _hdf5)),
    "model": (".npz", lambda: _by_path(".npz", _model)),
}


@lru_cache(maxsize=32)
def valid(kind: str) -> bytes:
    """The undamaged file of a format."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FORMATS[kind][1]()


# Damages ------------------------------------------------------------------------------------


def _cut(content: bytes, rng) -> bytes:
    return content[: rng.integers(len(content))]


def _flip(count: int) -> Callable[[bytes, np.random.Generator], bytes]:
    def damage(content, rng):
        changed = bytearray(content)
        for place in rng.integers(len(changed), size=count):
            changed[place] = rng.integers(256)
        return bytes(changed)

    return damage


def _early(content: bytes, rng) -> bytes:
    """Headers are where the lies are."""
    changed = bytearray(content)
    for place in rng.integers(min(len(changed), 256), size=3):
        changed[place] = rng.integers(256)
    return bytes(changed)


def _late(content: bytes, rng) -> bytes:
    changed = bytearray(content)
    for place in rng.integers(max(0, len(changed) - 256), len(changed), size=3):
        changed[place] = rng.integers(256)
    return bytes(changed)


def _huge_numbers(content: bytes, rng) -> bytes:
    """A length field that promises the moon."""
    changed = bytearray(content)
    place = int(rng.integers(max(1, len(changed) - 8)))
    width = int(rng.choice([4, 8]))
    changed[place : place + width] = b"\xff" * (width - 1) + b"\x7f"
    return bytes(changed)


def _zeros(content: bytes, rng) -> bytes:
    start, stop = sorted(rng.integers(len(content), size=2))
    return content[:start] + bytes(stop - start) + content[stop:]


def _doubled(content: bytes, rng) -> bytes:
    start, stop = sorted(rng.integers(len(content), size=2))
    return content[:stop] + content[start:]


def _noise(content: bytes, rng) -> bytes:
    return rng.bytes(int(rng.integers(1, 4000)))


DAMAGES: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "none": lambda content, rng: content,
    "empty": lambda content, rng: b"",
    "cut short": _cut,
    "one byte": _flip(1),
    "ten bytes": _flip(10),
    "header": _early,
    "end": _late,
    "huge number": _huge_numbers,
    "zeros": _zeros,
    "part twice": _doubled,
    "noise": _noise,
    "noise behind": lambda content, rng: content + rng.bytes(100),
    "another name": lambda content, rng: content,
}


def _many_columns() -> bytes:
    return b",".join(b"c%d" % j for j in range(5000)) + b"\n" + (b"1," * 4999 + b"2\n") * 4


TEXTS: dict[str, bytes] = {
    "only a heading": b"a,b,c\n",
    "one cell": b"1",
    "one row": b"a,b\n1,2\n",
    "NUL bytes": b"a,b\n1,\x002\n3,4\n5,6\n",
    "open quote": b'a,b\n"1,2\n3,4\n5,6\n',
    "ragged": b"a,b\n1,2\n3\n4,5,6\n7,8\n",
    "same headings": b"a,a,a\n1,2,3\n4,5,6\n7,8,9\n",
    "no headings": b"1,2\n3,4\n5,6\n7,9\n",
    "empty headings": b",,\n1,2,3\n4,5,6\n7,8,9\n",
    "infinities": b"a,b\n1,inf\n-inf,4\n5,6\n7,8\n",
    "not a number": b"a,b\nnan,1\n2,NaN\n5,6\n7,8\n",
    "too large": b"a,b\n1e999,1\n2,-1e999\n3,4\n5,6\n",
    "commas for points": b"a;b\n1,5;2,5\n3,5;4,5\n5,0;6,1\n",
    "UTF-16": "a,b\n1,2\n3,4\n5,6\n7,9\n".encode("utf-16"),
    "UTF-8 with a mark": b"\xef\xbb\xbfa,b\n1,2\n3,4\n5,7\n",
    "Latin-1": "größe,b\n1,2\n3,4\n5,7\n".encode("latin-1"),
    "no UTF-8": b"a,b\n\xff\xfe,2\n3,4\n5,6\n",
    "formulas": b"a,b\n=1+1,@SUM(A1)\n+2,-3\n5,6\n7,8\n",
    "markup": b"<script>alert(1)</script>,b\n1,2\n3,4\n5,7\n",
    "a long field": b"a,b\n" + b"9" * 200_000 + b",2\n3,4\n5,6\n",
    "many columns": _many_columns(),
    "only text": b"a,b\nx,y\nz,w\nu,v\n",
    "dates": b"day,b\n2020-01-01,1\n2020-01-02,2\n2020-01-03,4\n",
    "blank lines": b"\n\n\na,b\n\n1,2\n\n3,4\n\n5,7\n",
    "carriage returns": b"a,b\r1,2\r3,4\r5,7\r",
    "a million digits": b"a\n" + b"1" * 10_000 + b"\n2\n3\n",
    "constant": b"a,b\n1,1\n1,1\n1,1\n1,1\n",
    "traversal": b"../../etc/passwd,b\n1,2\n3,4\n5,7\n",
}


def content_of(case: FileCase) -> tuple[bytes, str]:
    """The bytes of a case and the ending of its name."""
    rng = np.random.default_rng(case.seed)
    suffix = FORMATS[case.format][0]
    if case.damage in TEXTS:
        return TEXTS[case.damage], suffix
    if case.damage == "another name":
        suffix = FORMATS[list(FORMATS)[rng.integers(len(FORMATS))]][0]
    return DAMAGES[case.damage](valid(case.format), rng), suffix


# Outcomes -----------------------------------------------------------------------------------


def outcome(case: FileCase) -> tuple[str, str]:
    """Do one case: ``"works"``, ``"refused"`` or ``"lost"``, and what was said."""
    content, suffix = content_of(case)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"hostile{suffix}"
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _READERS[case.reader](path)
        left = sorted(p.name for p in Path(folder).iterdir())
        if case.reader != "cli" and left != [path.name]:
            return "lost", f"the reader left files behind: {left}"
        if path.read_bytes() != content:
            return "lost", "the reader changed the file"
    return found


def _refused(error: BaseException, path: Path) -> tuple[str, str]:
    from unispectral.persistence import ModelFileError
    from unispectral.tables import TableError

    text = str(error)
    if isinstance(error, (TableError, ModelFileError)) and len(text) < 2000 and "\n" not in text:
        return "refused", text
    return "lost", f"{type(error).__name__}: {text}"


def _read_table(path: Path) -> tuple[str, str]:
    from unispectral.tables import read_table

    try:
        table = read_table(path)
    except Exception as error:
        return _refused(error, path)
    values = table.values.data if sp.issparse(table.values) else table.values
    if not np.isfinite(values).all():
        return "lost", "values that are not finite"
    if table.values.ndim != 2 or table.values.shape[1] != len(table.columns):
        return "lost", f"{table.values.shape} for {len(table.columns)} columns"
    return "works", ""


def _open_rows(path: Path) -> tuple[str, str]:
    from unispectral.tables import open_rows

    try:
        with open_rows(path) as rows:
            total = sum(block.shape[0] for block in rows.iter_blocks(5))
    except Exception as error:
        return _refused(error, path)
    return "works", str(total)


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
    if not np.array_equal(model.predict(_table()), whole.predict(_table())):
        return "lost", "a damaged file gave another model"
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
    method = ("SCMK", "KKM", "kmeans")[path.stat().st_size % 3]
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = command(["cluster", str(path), "-k", "2", "-o", str(out), "-q", "--method", method])
    words = said.getvalue()
    if code == 0:
        lines = out.read_text().splitlines()
        labels = [line.split(",")[1] for line in lines[1:]]
        if not labels or not all(re.fullmatch(r"[01]", label) for label in labels):
            return "lost", f"labels {labels[:5]}"
        return "works", ""
    if out.exists():
        return "lost", f"code {code}, but the labels were written"
    if code in (1, 2) and "Error: " in words and "--debug shows where" not in words:
        return "refused", words
    return "lost", f"code {code}: {words}"


_READERS = {"tables": _read_table, "rows": _open_rows, "models": _load_model, "cli": _cli}
