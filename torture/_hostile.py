"""Hostile tables and kernels: what is in them, and what they are wrapped in.

A family is ``content/container`` (every content in every container) or one of the odd objects
that have no content. Each is made from a seed alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["CONTAINERS", "CONTENTS", "KERNELS", "ODDITIES", "WRAPS", "make_kernel", "make_table"]

Make = Callable[[np.random.Generator, int, int], np.ndarray]


# Contents -----------------------------------------------------------------------------------


def _normal(rng, n, d):
    return rng.standard_normal((n, d))


def _blobs(rng, n, d):
    return rng.standard_normal((n, d)) + 8 * rng.integers(0, 4, (n, 1))


def _spoiled(value: float, how: str) -> Make:
    def make(rng, n, d):
        X = rng.standard_normal((n, d))
        if how == "one":
            X[rng.integers(n), rng.integers(d)] = value
        elif how == "row":
            X[rng.integers(n)] = value
        elif how == "column":
            X[:, rng.integers(d)] = value
        else:
            X[:] = value
        return X

    return make


def _scaled(scale: float, offset: float = 0.0) -> Make:
    return lambda rng, n, d: offset + scale * rng.standard_normal((n, d))


def _one_point(rng, n, d):
    return np.tile(rng.standard_normal(d), (n, 1))


def _few_points(rng, n, d):
    return rng.standard_normal((2, d))[rng.integers(0, 2, n)]


def _nearly_equal(rng, n, d):
    return 1.0 + np.finfo(float).eps * rng.integers(0, 3, (n, d))


def _zero_rows(rng, n, d):
    X = rng.standard_normal((n, d))
    X[rng.random(n) < 0.5] = 0.0
    return X


def _mixed_scales(rng, n, d):
    return rng.standard_normal((n, d)) * 10.0 ** rng.integers(-12, 12, d)


def _outlier(rng, n, d):
    X = rng.standard_normal((n, d))
    X[rng.integers(n)] *= 10.0 ** rng.integers(3, 15)
    return X


def _collinear(rng, n, d):
    return np.outer(np.arange(n), rng.standard_normal(d))


def _signs(rng, n, d):
    return rng.choice([-1.0, 1.0], (n, d))


def _wide_range(rng, n, d):
    return rng.choice([-1.0, 1.0], (n, d)) * 10.0 ** rng.uniform(-150, 150, (n, d))


def _counts(rng, n, d):
    return rng.poisson(0.5, (n, d)).astype(float)


def _negative_zero(rng, n, d):
    return rng.choice([0.0, -0.0, 1.0], (n, d))


def _one_feature(rng, n, d):
    return rng.standard_normal((n, 1))


def _many_features(rng, n, d):
    X = np.zeros((min(n, 7), 100_000))
    X[:, :50] = rng.standard_normal((len(X), 50))
    return X


def _tiny(rows: int) -> Make:
    return lambda rng, n, d: rng.standard_normal((rows, d))


def _no_feature(rng, n, d):
    return np.empty((n, 0))


def _simplex(rng, n, d):
    return np.eye(n)


CONTENTS: dict[str, Make] = {
    "normal": _normal,
    "blobs": _blobs,
    "one NaN": _spoiled(np.nan, "one"),
    "a row of NaN": _spoiled(np.nan, "row"),
    "a column of NaN": _spoiled(np.nan, "column"),
    "all NaN": _spoiled(np.nan, "all"),
    "one inf": _spoiled(np.inf, "one"),
    "a row of -inf": _spoiled(-np.inf, "row"),
    "subnormal": _scaled(5e-324 * 50),
    "1e300": _scaled(1e300),
    "1e-300": _scaled(1e-300),
    "1e160": _scaled(1e160),
    "1e150": _scaled(1e150),
    "1e-155": _scaled(1e-155),
    "1e38": _scaled(1e38),
    "1e-30": _scaled(1e-30),
    "one 1e308": _spoiled(1e308, "one"),
    "a column of 1e200": _spoiled(1e200, "column"),
    "large offset": _scaled(1.0, 1e8),
    "huge offset": _scaled(1.0, 1e15),
    "one point": _one_point,
    "two points": _few_points,
    "nearly one point": _nearly_equal,
    "all zero": _spoiled(0.0, "all"),
    "zero rows": _zero_rows,
    "a constant column": _spoiled(3.0, "column"),
    "mixed scales": _mixed_scales,
    "an outlier": _outlier,
    "collinear": _collinear,
    "signs": _signs,
    "300 orders": _wide_range,
    "counts": _counts,
    "negative zero": _negative_zero,
    "one feature": _one_feature,
    "100,000 features": _many_features,
    "no sample": _tiny(0),
    "one sample": _tiny(1),
    "two samples": _tiny(2),
    "three samples": _tiny(3),
    "no feature": _no_feature,
    "simplex": _simplex,
}


# Containers ---------------------------------------------------------------------------------


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
    "frame of arrow": _frame(lambda frame, rng: frame.convert_dtypes(dtype_backend="pyarrow")),
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

ODDITIES: dict[str, Callable[[np.random.Generator], Any]] = {
    "None": lambda rng: None,
    "a number": lambda rng: 3.5,
    "a string": lambda rng: "abc",
    "bytes": lambda rng: b"abc",
    "an empty list": lambda rng: [],
    "an empty dict": lambda rng: {},
    "an empty set": lambda rng: set(),
    "a generator": lambda rng: (row for row in [[1.0, 2.0]]),
    "a range": lambda rng: range(10),
    "a list of empty lists": lambda rng: [[], [], []],
    "nested lists": lambda rng: [[[1.0], [2.0]], [[3.0], [4.0]]],
    "a dict of numbers": lambda rng: {"a": 1.0, "b": 2.0},
    "a dict of None": lambda rng: {"a": None},
    "a list of None": lambda rng: [None, None, None],
    "a list of strings": lambda rng: ["a", "b", "c"],
    "a list of dicts": lambda rng: [{"a": 1.0}, {"a": 2.0}],
    "an object": lambda rng: object(),
    "a class": lambda rng: dict,
    "a function": lambda rng: len,
    "no axis": lambda rng: np.array(1.0),
    "no axis, object": lambda rng: np.array(None, dtype=object),
    "no row, no column": lambda rng: np.empty((0, 0)),
    "NaN": lambda rng: float("nan"),
    "an ellipsis": lambda rng: ...,
    "200,000 columns of bytes": lambda rng: np.ones((3, 200_000), dtype=np.int8),
    "a broadcast": lambda rng: np.broadcast_to(rng.standard_normal(3), (9, 3)),
}


# Kernels ------------------------------------------------------------------------------------


def _gram(rng, n):
    A = rng.standard_normal((n, n))
    return A @ A.T


def _rank_one(rng, n):
    v = rng.standard_normal(n)
    return np.outer(v, v)


def _indefinite(rng, n):
    A = rng.standard_normal((n, n))
    return A + A.T


def _asymmetric(size: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, n: _gram(rng, n) + size * rng.standard_normal((n, n))


def _with_value(value: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    def make(rng, n):
        K = _gram(rng, n)
        i, j = rng.integers(n, size=2)
        K[i, j] = K[j, i] = value
        return K

    return make


def _zero_diagonal(rng, n):
    K = np.abs(_indefinite(rng, n))
    np.fill_diagonal(K, 0.0)
    return K


def _zero_rows_kernel(rng, n):
    K = _gram(rng, n)
    gone = rng.random(n) < 0.4
    K[gone], K[:, gone] = 0.0, 0.0
    return K


def _blocks(rng, n):
    labels = rng.integers(0, 3, n)
    return (labels[:, None] == labels[None, :]).astype(float)


def _hilbert(rng, n):
    i = np.arange(n)
    return 1.0 / (1.0 + i[:, None] + i[None, :])


KERNELS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "gram": _gram,
    "rank one": _rank_one,
    "all zero": lambda rng, n: np.zeros((n, n)),
    "all one": lambda rng, n: np.ones((n, n)),
    "identity": lambda rng, n: np.eye(n),
    "minus identity": lambda rng, n: -np.eye(n),
    "blocks": _blocks,
    "indefinite": _indefinite,
    "asymmetric by 1e-6": _asymmetric(1e-6),
    "asymmetric by 1e-12": _asymmetric(1e-12),
    "asymmetric": _asymmetric(1.0),
    "with NaN": _with_value(np.nan),
    "with inf": _with_value(np.inf),
    "with -inf": _with_value(-np.inf),
    "with 1e300": _with_value(1e300),
    "1e300": lambda rng, n: 1e300 * _gram(rng, n),
    "1e-300": lambda rng, n: 1e-300 * _gram(rng, n),
    "1e-320": lambda rng, n: 1e-320 * np.ones((n, n)),
    "1e200 identity": lambda rng, n: 1e200 * np.eye(n),
    "zero diagonal": _zero_diagonal,
    "zero rows": _zero_rows_kernel,
    "nearly singular": _hilbert,
    "not square": lambda rng, n: rng.standard_normal((n, n + 1)),
    "a table": lambda rng, n: rng.standard_normal((n, 3)),
    "no sample": lambda rng, n: np.empty((0, 0)),
    "one sample": lambda rng, n: np.ones((1, 1)),
    "two samples": lambda rng, n: np.eye(2),
    "negative entries": lambda rng, n: np.eye(n) * n - 1.0,
}

#: How kernels are handed over: one, a stack, a list, a mapping, sizes that differ.
WRAPS: dict[str, Callable[[Callable[[], np.ndarray]], Any]] = {
    "one": lambda make: make(),
    "a stack": lambda make: np.stack([make(), make()]),
    "a list": lambda make: [make(), make(), make()],
    "a mapping": lambda make: {"a": make(), "b": make()},
    "a list of one": lambda make: [make()],
    "sizes that differ": lambda make: [make(), make()[:-1, :-1]],
    "sparse ones": lambda make: [sp.csr_array(make()), sp.csr_array(make())],
    "four axes": lambda make: np.stack([np.stack([make(), make()])] * 2),
}


def make_table(family: str, rng: np.random.Generator) -> Any:
    """A hostile table of a family ``content/container``, or an oddity."""
    if family in ODDITIES:
        return ODDITIES[family](rng)
    content, _, container = family.partition("/")
    n, d = int(rng.integers(6, 32)), int(rng.integers(1, 8))
    X = CONTENTS[content](rng, n, d)
    return CONTAINERS[container](X, rng)


def make_kernel(family: str, rng: np.random.Generator) -> Any:
    """A hostile kernel of a family ``content/wrap/container``."""
    content, wrap, container = family.split("/")
    n = int(rng.integers(6, 28))

    def make() -> Any:
        return CONTAINERS[container](KERNELS[content](rng, n), rng)

    return WRAPS[wrap](make)
