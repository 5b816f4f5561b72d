"""Valid files of every format, and what is done to them: cut short, overwritten, repeated, given
another name; and texts that no table should hold.
"""

from __future__ import annotations

import io
import os
import tempfile
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp


def table(rows: int = 12) -> np.ndarray:
    """The numbers that every valid file holds."""
    return np.random.default_rng(0).standard_normal((rows, 3)).round(3)


def _frame():
    import pandas as pd

    frame = pd.DataFrame(table(), columns=["a", "b", "c"])
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
    anndata.AnnData(sp.csr_matrix(table()), obs=obs).write_h5ad(path)


def _hdf5(path: str) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=table(), compression="gzip", chunks=(4, 3))
        file.create_dataset("other", data=np.arange(12))


def _mat73(path: str) -> None:
    """What MATLAB writes since version 7.3: HDF5 behind a heading of its own."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        made = file.create_dataset("X", data=table().T)
        made.attrs["MATLAB_class"] = np.bytes_("double")
    heading = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    with open(path, "r+b") as raw:
        raw.write(heading)


def _model(path: str) -> None:
    from unispectral import UnifiedSpectralClustering
    from unispectral.persistence import save_model

    save_model(UnifiedSpectralClustering(2, kernels="gaussian", n_init=2).fit(table()), path)


def _sparse_npz(file: io.BytesIO) -> None:
    sp.save_npz(file, sp.csr_matrix(table()))


FORMATS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "csv": (".csv", lambda: _frame().to_csv(index=False).encode()),
    "tsv": (".tsv", lambda: _frame().to_csv(index=False, sep="\t").encode()),
    "npy": (".npy", lambda: _saved(np.save, table())),
    "npz": (".npz", lambda: _saved(np.savez_compressed, X=table())),
    "sparse npz": (".npz", lambda: _saved(_sparse_npz)),
    "mat": (".mat", lambda: _saved(scipy.io.savemat, {"X": table(), "y": np.arange(12)})),
    "sparse mat": (
        ".mat",
        lambda: _saved(scipy.io.savemat, {"X": sp.csc_matrix(table())}, do_compression=True),
    ),
    "parquet": (".parquet", lambda: _saved(lambda f: _frame().to_parquet(f))),
    "excel": (".xlsx", lambda: _saved(lambda f: _frame().to_excel(f, index=False))),
    "h5ad": (".h5ad", lambda: _by_path(".h5ad", _h5ad)),
    "hdf5": (".h5", lambda: _by_path(".h5", _hdf5)),
    "mat 7.3": (".mat", lambda: _by_path(".mat", _mat73)),
    "model": (".npz", lambda: _by_path(".npz", _model)),
}


@lru_cache(maxsize=32)
def valid(kind: str) -> bytes:
    """The undamaged file of a format."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FORMATS[kind][1]()


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


def damaged(kind: str, damage: str, seed: int) -> tuple[bytes, str]:
    """A file, and the ending of its name."""
    rng = np.random.default_rng(seed)
    suffix = FORMATS[kind][0]
    if damage in TEXTS:
        return TEXTS[damage], suffix
    if damage == "another name":
        suffix = FORMATS[list(FORMATS)[rng.integers(len(FORMATS))]][0]
    return DAMAGES[damage](valid(kind), rng), suffix
