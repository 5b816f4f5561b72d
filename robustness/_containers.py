"""What a hostile table is wrapped in: kinds of arrays, sparse matrices, frames, lists."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp


def _as(dtype: Any) -> Callable[[np.ndarray, np.random.Generator], Any]:
    def wrap(X, rng):
        with np.errstate(all="ignore"):
            return np.asarray(X).astype(dtype)

    return wrap


def _integers(dtype: Any) -> Callable[[np.ndarray, np.random.Generator], Any]:
    limits = np.iinfo(dtype)

    def wrap(X, rng):
        native = np.dtype(dtype).newbyteorder("=")
        drawn = rng.integers(limits.min, limits.max, X.shape, dtype=native, endpoint=True)
        return drawn.astype(dtype)

    return wrap


def _read_only(X, rng):
    X = X.copy()
    X.flags.writeable = False
    return X


def _strided(X, rng):
    padded = np.full((2 * X.shape[0] + 1, 3 * X.shape[1] + 1), np.nan)
    padded[1::2, 1::3] = X
    return padded[1::2, 1::3]


def _overlapping(X, rng):
    """Rows that share memory: writing to one would change its neighbours."""
    flat = np.ascontiguousarray(X).ravel()
    if X.shape[0] < 2 or X.shape[1] < 1:
        return X
    shape, strides = (X.shape[0], X.shape[1]), (flat.itemsize, flat.itemsize)
    return np.lib.stride_tricks.as_strided(flat, shape, strides, writeable=False)


def _mapped(X, rng):
    if X.size == 0:
        return X
    file = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the map
    mapped = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    mapped.flush()
    return mapped


def _object_with(value: Any) -> Callable[[np.ndarray, np.random.Generator], Any]:
    def wrap(X, rng):
        X = X.astype(object)
        if X.size:
            X.flat[rng.integers(X.size)] = value
        return X

    return wrap


def _ragged(X, rng):
    rows = X.tolist()
    if rows:
        rows[-1] = rows[-1][:-1]
    return rows


def _explicit_zeros(X, rng):
    S = sp.csr_array(X)
    if S.nnz:
        S.data[rng.random(S.nnz) < 0.3] = 0.0
    return S


def _duplicates(X, rng):
    S = sp.coo_array(X)
    return sp.coo_array(
        (
            np.concatenate([S.data, S.data]),
            (np.concatenate([S.row, S.row]), np.concatenate([S.col, S.col])),
        ),
        shape=S.shape,
    )


def _duplicate_csr(X, rng):
    """CSR with every entry twice, in no order."""
    S = sp.csr_array(X)
    data, indices, indptr = [], [], [0]
    for i in range(S.shape[0]):
        own = slice(S.indptr[i], S.indptr[i + 1])
        order = rng.permutation(2 * (own.stop - own.start))
        data.append(np.tile(S.data[own], 2)[order])
        indices.append(np.tile(S.indices[own], 2)[order])
        indptr.append(indptr[-1] + len(order))
    out = sp.csr_array(S.shape)
    out.data = np.concatenate([*data, np.empty(0)])
    out.indices = np.concatenate([*indices, np.empty(0, np.int32)]).astype(np.int32)
    out.indptr = np.array(indptr, dtype=np.int32)
    return out


def _int64_indices(X, rng):
    S = sp.csr_array(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


def _broken_csr(X, rng):
    """CSR whose indices point outside: compiled code that trusts them reads foreign memory."""
    S = sp.csr_array(X)
    if S.nnz:
        S.indices[rng.integers(S.nnz)] = rng.choice([-1, S.shape[1], 2**31 - 1])
    return S


def _broken_indptr(X, rng):
    S = sp.csr_array(X)
    if S.shape[0]:
        S.indptr[rng.integers(len(S.indptr))] = rng.choice([-1, S.nnz + 7, 2**31 - 1])
    return S


def _frame(change: Callable[[Any, np.random.Generator], Any]) -> Callable[..., Any]:
    def wrap(X, rng):
        import pandas as pd

        return change(pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])]), rng)

    return wrap


def _with_column(make: Callable[[int, np.random.Generator], Any]) -> Callable[..., Any]:
    def change(frame, rng):
        frame["extra"] = make(len(frame), rng)
        return frame

    return _frame(change)


def _categories(n, rng):
    import pandas as pd

    return pd.Categorical(rng.choice(["a", "b"], n))


def _days(n, rng):
    import pandas as pd

    return pd.date_range("2020-01-01", periods=n)


def _nullable(n, rng):
    import pandas as pd

    return pd.array([None if rng.random() < 0.2 else i for i in range(n)], dtype="Int64")


def _full_nullable(n, rng):
    import pandas as pd

    return pd.array(list(range(n)), dtype="Int64")


def _same_names(frame, rng):
    frame.columns = ["same"] * frame.shape[1]
    return frame


def _mixed_names(frame, rng):
    frame.columns = [j if j % 2 else f"f{j}" for j in range(frame.shape[1])]
    return frame


def _two_level_names(frame, rng):
    import pandas as pd

    frame.columns = pd.MultiIndex.from_tuples([("a", str(j)) for j in range(frame.shape[1])])
    return frame


def _arrow(frame, rng):
    if frame.shape[1] > 10_000:  # pandas takes longer to make it than a case may take
        raise TypeError("an arrow frame of so many columns is not to be had")
    return frame.convert_dtypes(dtype_backend="pyarrow")


def _polars(X, rng):
    import polars

    return polars.DataFrame({f"f{j}": X[:, j].copy() for j in range(X.shape[1])})


CONTAINERS: dict[str, Callable[[np.ndarray, np.random.Generator], Any]] = {
    "float64": lambda X, rng: X,
    "float32": _as(np.float32),
    "float16": _as(np.float16),
    "longdouble": _as(np.longdouble),
    "complex": _as(np.complex128),
    "bool": _as(bool),
    "int8": _integers(np.int8),
    "uint8": _integers(np.uint8),
    "int32": _integers(np.int32),
    "int64": _integers(np.int64),
    "uint64": _integers(np.uint64),
    "big-endian": _as(">f8"),
    "big-endian int16": _integers(">i2"),
    "Fortran": lambda X, rng: np.asfortranarray(X),
    "strided": _strided,
    "reversed": lambda X, rng: X[::-1, ::-1],
    "overlapping": _overlapping,
    "read-only": _read_only,
    "memory map": _mapped,
    "masked": lambda X, rng: np.ma.masked_array(X, rng.random(X.shape) < 0.1),
    "np.matrix": lambda X, rng: np.asmatrix(X),
    "objects": _as(object),
    "objects with None": _object_with(None),
    "objects with text": _object_with("abc"),
    "objects with numbers as text": _object_with("1.5"),
    "objects with a list": _object_with([1, 2]),
    "objects with a huge integer": _object_with(10**400),
    "text": _as("U16"),
    "bytes": lambda X, rng: np.full(X.shape, b"ab"),
    "dates": lambda X, rng: np.full(X.shape, np.datetime64("2020-01-01")),
    "durations": lambda X, rng: np.full(X.shape, np.timedelta64(3, "D")),
    "structured": lambda X, rng: np.zeros(X.shape, dtype=[("a", "f8"), ("b", "i4")]),
    "list": lambda X, rng: X.tolist(),
    "tuples": lambda X, rng: tuple(map(tuple, X.tolist())),
    "list of arrays": lambda X, rng: list(X),
    "ragged": _ragged,
    "csr": lambda X, rng: sp.csr_array(X),
    "csr matrix": lambda X, rng: sp.csr_matrix(X),
    "csr float32": lambda X, rng: sp.csr_array(_as(np.float32)(X, rng)),
    "csr int": lambda X, rng: sp.csr_array(np.nan_to_num(X).clip(-9, 9).astype(np.int64)),
    "csr complex": lambda X, rng: sp.csr_array(X.astype(complex)),
    "csc": lambda X, rng: sp.csc_array(X),
    "coo": lambda X, rng: sp.coo_array(X),
    "lil": lambda X, rng: sp.lil_array(X),
    "dok": lambda X, rng: sp.dok_array(X),
    "bsr": lambda X, rng: sp.bsr_array(X) if X.size else sp.csr_array(X),
    "dia": lambda X, rng: sp.dia_array(X),
    "csr with zeros": _explicit_zeros,
    "coo with duplicates": _duplicates,
    "csr with duplicates": _duplicate_csr,
    "csr with int64": _int64_indices,
    "csr with wrong indices": _broken_csr,
    "csr with wrong indptr": _broken_indptr,
    "frame": _frame(lambda frame, rng: frame),
    "frame with categories": _with_column(_categories),
    "frame with dates": _with_column(_days),
    "frame with gaps": _with_column(_nullable),
    "frame of nullable numbers": _with_column(_full_nullable),
    "frame with text": _with_column(lambda n, rng: ["x"] * n),
    "frame with objects": _with_column(lambda n, rng: [object()] * n),
    "frame with infinities": _with_column(lambda n, rng: np.full(n, np.inf)),
    "frame with one name": _frame(_same_names),
    "frame with mixed names": _frame(_mixed_names),
    "frame with two levels": _frame(_two_level_names),
    "frame of arrow": _frame(_arrow),
    "series": _frame(lambda frame, rng: frame.iloc[:, 0] if frame.shape[1] else frame),
    "polars": _polars,
    "three axes": lambda X, rng: np.stack([X, X + 1]),
    "four axes": lambda X, rng: np.stack([np.stack([X, X])] * 2),
    "one axis": lambda X, rng: X.ravel(),
    "views": lambda X, rng: [X, X[:, ::-1].copy()],
    "named views": lambda X, rng: {"a": X, "b": X**2},
    "views that differ": lambda X, rng: [X, X[:-1]],
    "a sparse view": lambda X, rng: [X, sp.csr_array(X)],
}
