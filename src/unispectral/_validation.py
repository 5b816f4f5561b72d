"""What comes in from outside, checked once and refused with a sentence that says what to do."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from unispectral._alignment import align, view_names
from unispectral._arrays import absent_rows, is_far, locate, pick_evenly
from unispectral._errors import (
    DoubtfulResultWarning,
    InputError,
    InputTypeError,
    Sentence,
    plural,
    warn,
)
from unispectral.kernels._features import Table

#: How far a kernel may be from symmetric, relative to its largest entry.
SYMMETRY = 1e-5
#: A table whose largest value lies outside is scaled by a power of two, which changes no digit.
_SIZES = (1e-9, 1e9)

#: Samples that a view must have if it lacks some.
_LEAST_KNOWN = 3

#: How scikit-learn reads a table.
_AS_TABLE: Any = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}

#: Numbers of one or two bytes, all of which single precision holds.
_SMALL_TYPES = (np.float16, np.int8, np.uint8)

#: The grid of tables that are rounded, in units of their spread, and what they are clipped to.
_GRID = 2.0**-30
_LARGEST = 2.0**450


class Shift(NamedTuple):
    """How a table was moved and scaled."""

    #: What is subtracted from each column that is kept, or None.
    offset: np.ndarray | None
    #: What all of them, or each, are multiplied by.
    factor: float | np.ndarray
    #: The numbers of the columns that are kept; None for all.
    columns: np.ndarray | None = None
    #: Whether the table is of double precision and rounded to a grid, so that tables that differ
    #: by rounding alone are equal.
    fixed: bool = False
    #: The unit in which entries are counted, of which the logarithm is taken and whose rows are
    #: scaled to length one; 0 for a table of other numbers.
    counted: float = 0.0

    @property
    def is_standardised(self) -> bool:
        """Whether each column is divided by its own spread."""
        return isinstance(self.factor, np.ndarray) and not self.counted


def refuse_stack(X: object) -> None:
    """An array of three axes may be anything but tables, which is not for us to guess."""
    if isinstance(X, np.ndarray) and X.ndim == 3:
        remedy = f"give X.reshape({len(X)}, -1) if its first axis is that of the samples, or "
        remedy += "list(X), a list of tables, if it is that of views"
        raise InputError("X", f"is an array of shape {X.shape}, not a table", remedy)


def check_samples(estimator: BaseEstimator, X: object, *, reset: bool) -> Table:
    """A table of samples as a float32 or float64 array or CSR array.

    With ``reset``, in ``fit``, its features are noted in the estimator; afterwards the table is
    compared with them.
    """
    with _naming(X, "X"):
        if reset:
            least = 2
        else:
            least = 1
        X = validate_data(estimator, widen(X), reset=reset, ensure_min_samples=least, **_AS_TABLE)
    X = _canonical(X)
    _refuse_extremes(X, "X")
    return X


def widen(X: object) -> Any:
    """An array of half precision or of small whole numbers in single precision, not in double.

    Embeddings are often stored so; what is another kind of table stays as it is.

    Examples
    --------
    >>> widen(np.ones((2, 3), dtype=np.float16)).dtype, widen(np.ones((2, 3))).dtype
    (dtype('float32'), dtype('float64'))
    """
    if isinstance(X, np.ndarray) and X.dtype.type in _SMALL_TYPES:
        return X.astype(np.float32)
    return X


def check_views(X: Any, least: int = 2) -> tuple[list[Table], list[str]]:
    """Several tables of the same samples; a row of NaN is a sample that a view lacks.

    Frames with an index are brought into the order of the first of them.
    """
    refuse_stack(X)
    names = view_names(X)
    if not names:
        raise InputError("X", "holds no view", "give at least one table of samples")
    checked = []
    options = {"ensure_all_finite": False, "ensure_min_samples": least, **_AS_TABLE}
    X = align(X)
    if isinstance(X, Mapping):
        tables = list(X.values())
    else:
        tables = list(X)
    for name, table in zip(names, tables, strict=True):
        argument = f"view {name!r}"
        with _naming(table, argument):
            array = check_array(widen(table), input_name=argument, **options)
        checked.append(_check_absent(_canonical(array), argument, table))
        if least > 1:
            _refuse_few(checked[-1], argument)
    if len({table.shape[0] for table in checked}) > 1:
        sizes = (f"{name}: {table.shape[0]}" for name, table in zip(names, checked, strict=True))
        raise InputError(
            "X",
            f"holds views with different numbers of samples ({', '.join(sizes)})",
            "every view needs one row per sample, filled with NaN where the sample is absent",
        )
    lost = np.flatnonzero(np.all([absent_rows(table) for table in checked], axis=0))
    if len(lost):
        problem = f"has {len(lost)} samples that are absent from every view (first: row {lost[0]})"
        raise InputError("X", problem, "remove them")
    return checked, names


def _refuse_few(table: Table, argument: str) -> None:
    """A view that lacks all samples but one or two shows nothing of any."""
    lacking = absent_rows(table)
    few = len(lacking) - int(lacking.sum())
    if few < _LEAST_KNOWN and lacking.any():
        if few:
            has = f"only {few} of {len(lacking)} samples"
        else:
            has = "no sample"
        raise InputError(argument, f"has {has} (the rest is rows of NaN)", "leave this view out")


def feature_names(table: object, argument: str) -> tuple[str, ...] | None:
    """The names of the columns of a frame, None where there are none, as scikit-learn has them."""
    one = BaseEstimator()
    with _naming(table, argument):
        validate_data(one, table, skip_check_array=True)
    names = getattr(one, "feature_names_in_", None)
    if names is None:
        return None
    return tuple(map(str, names))


def check_feature_names(
    estimator: BaseEstimator, table: object, argument: str, names: Sequence[str] | None
) -> None:
    """Compare the columns of one of several tables with those of the fit, as those of one are.

    The estimator is a new one, whose name warnings will tell.
    """
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    with _naming(table, argument):
        validate_data(estimator, table, reset=False, skip_check_array=True)


def check_kernel_matrix(
    K: Any, argument: str = "X", *, n_samples: int | None = None, definite: bool = True
) -> np.ndarray:
    """A precomputed kernel: square, finite, symmetric and, if asked for, semi-definite."""
    with _naming(K, argument, "leave these samples out"):
        if sp.issparse(K):
            K = K.toarray()
        options = {**_AS_TABLE, "accept_sparse": False, "ensure_min_samples": 2}
        K = check_array(K, input_name=argument, **options)
    if K.shape[0] != K.shape[1]:
        problem = f"is a precomputed kernel of shape {K.shape}, which is not square"
        raise InputError(argument, problem, "give the kernel between all pairs of samples")
    if n_samples is not None and K.shape[0] != n_samples:
        problem = f"is a kernel of {K.shape[0]} samples, the first kernel has {n_samples}"
        raise InputError(argument, problem, "all kernels must be on the same samples")
    gap = float(np.abs(K - K.T).max())
    if gap > SYMMETRY * max(float(np.abs(K).max()), np.finfo(K.dtype).tiny):
        problem = f"is a precomputed kernel that is not symmetric (largest difference {gap:.3g})"
        raise InputError(argument, problem, "give (K + K.T) / 2 if that is what is meant")
    if gap > 0:
        K = (K + K.T) / 2
    if definite:
        _check_definite(K, argument)
    return K


def check_kernel_matrices(
    matrices: Iterable[Any], argument: str = "X", *, definite: bool = True
) -> list[np.ndarray]:
    """Precomputed kernels on the same samples."""
    given = list(matrices)
    checked: list[np.ndarray] = []
    for r, K in enumerate(given):
        if len(given) > 1:
            name = f"{argument}[{r}]"
        else:
            name = argument
        if checked:
            size = len(checked[0])
        else:
            size = None
        checked.append(check_kernel_matrix(K, name, n_samples=size, definite=definite))
    return checked


def check_cluster_count(n_clusters: int, n_samples: int, tables: Sequence[Table] = ()) -> None:
    """No more clusters than samples; what is no clustering is fitted, and called what it is."""
    if n_samples < n_clusters:
        problem = f"is more than n_samples={n_samples}"
        remedy = "ask for fewer or give more"
        raise InputError("n_clusters", problem, remedy, value=n_clusters)
    if n_clusters == 1:
        said = "{n_clusters} puts all samples into one cluster; there is nothing to find."
        warn(Sentence(said, n_clusters=1), DoubtfulResultWarning)
        return
    distinct = _distinct(tables, 2 * n_clusters)
    if distinct < n_clusters:
        samples = plural(distinct, "distinct sample")
        said = f"{{X}} has {samples}, fewer than {{n_clusters}}: equal samples are put into "
        said += "different clusters."
        warn(Sentence(said, "X", n_clusters=n_clusters), DoubtfulResultWarning)


def _distinct(tables: Sequence[Table], enough: int) -> int:
    """How many samples differ, or any number that is enough."""
    if not tables or any(sp.issparse(table) for table in tables):
        return enough
    n = len(tables[0])
    for most in (400, n):
        rows = pick_evenly(n, most)
        found = len(np.unique(np.hstack([table[rows] for table in tables]), axis=0))
        if found >= enough:
            break
    return found


@contextlib.contextmanager
def _naming(X: object, argument: str, remedy: str | None = None) -> Iterator[None]:
    """Whatever is wrong with a table, the sentence says which argument it is, and where."""
    if _reads_as_numbers(X):
        _refuse_values(X, argument, remedy)
    if sp.issparse(X):
        check_sparse_indices(X, argument)
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        said = str(error)
        if said.startswith("The feature names should match"):
            said = said.strip().rstrip(".")  # the sentence ends with its own
            raise InputError(argument, f"has other columns than the fit: {said}") from None
        _refuse_values(X, argument, remedy)
        if said.startswith("Complex data not supported"):
            said = "Complex data not supported"  # scikit-learn goes on to print the whole table
        if re.search(rf"(^|\W){re.escape(argument)}(\W|$)", said) and type(error) is ValueError:
            raise
        problem = f"is not a table of numbers that can be clustered: {said.rstrip('.')}"
        if isinstance(error, TypeError):
            raise InputTypeError(argument, problem) from None
        raise InputError(argument, problem) from None


def check_sparse_indices(X: Table, argument: str) -> None:
    """A sparse matrix that points outside itself would make compiled code read foreign memory."""
    sound = True
    if X.format == "coo":
        sound = len({len(X.data), *map(len, X.coords)}) == 1
        for at, size in zip(X.coords, X.shape, strict=True):
            sound = sound and (len(at) == 0 or 0 <= at.min() <= at.max() < size)
    elif X.format in ("csr", "csc", "bsr"):
        try:
            type(X)((X.data, X.indices, X.indptr), shape=X.shape).check_format()
            sound = bool((np.diff(X.indptr) >= 0).all())  # not looked at where it ends below zero
        except ValueError:
            sound = False
    if not sound:
        problem = f"is a sparse matrix whose indices point outside its shape {X.shape}"
        raise InputError(argument, problem, "build it again from rows, columns and values")


def recentre(X: Table, shift: Shift | None = None) -> tuple[Table, Shift | None]:
    """A table moved and scaled to where squared distances keep their digits, and how.

    Only for kernels that depend on distances relative to the data's own: their values are the
    same. A table that is well placed already is returned as it is. ``shift`` is what was done to
    the training samples, to be done to new ones.
    """
    if shift is None:
        shift = _shift_of(X)
    if shift is None:
        return X, None
    offset, factor, columns, fixed, counted = shift
    if columns is not None:
        X = X[:, columns]
    if fixed:
        X = X.astype(np.float64, copy=False)
    if counted:
        return _weigh_counts(X, factor, counted), shift
    if offset is None:
        moved = X
    else:
        moved = (X - offset).astype(X.dtype, copy=False)
    if not (isinstance(factor, float) and factor == 1.0):
        with np.errstate(over="ignore"):  # new samples may be far from those of the fit
            moved = moved * np.asarray(factor, dtype=X.dtype)
    if not fixed:
        return moved, shift
    if sp.issparse(moved):
        return _round_sparse(moved), shift
    return _round_to_grid(moved), shift


def _weigh_counts(X: Table, factor: float | np.ndarray, unit: float) -> Table:
    """Logarithms of counts, times the weights of their columns, in rows of length one.

    A row of zeros stays one, and one of NaN is a sample that is absent.
    """
    weights = np.broadcast_to(np.asarray(factor, dtype=X.dtype), (X.shape[1],))
    if sp.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        data = _take_logs(X.data, unit) * weights[X.indices]
        lengths = np.sqrt(np.bincount(rows, data * data, X.shape[0]))
        data /= np.where(lengths > 0, lengths, 1.0)[rows]
        return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    values = _take_logs(X, unit)
    values *= weights
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))
    values /= np.where(lengths == 0.0, 1.0, lengths)[:, None]
    return values


def _take_logs(values: np.ndarray, unit: float) -> np.ndarray:
    return np.sign(values) * np.log1p(np.abs(values) / unit)


def _round_to_grid(values: np.ndarray) -> np.ndarray:
    """Values on a grid, so that tables that differ by rounding alone are equal."""
    clipped = np.clip(values, -_LARGEST, _LARGEST)
    return np.rint(clipped / _GRID) * _GRID


def _round_sparse(X: sp.csr_array) -> sp.csr_array:
    X = sp.csr_array((_round_to_grid(X.data), X.indices, X.indptr), shape=X.shape)
    X.eliminate_zeros()
    return X


def _shift_of(X: Table) -> Shift | None:
    if sp.issparse(X):
        values = X.data
    else:
        values = X
    if not values.size:
        return None
    # These leave NaN out, and say nothing where there is nothing else.
    greatest = float(np.fmax.reduce(values, axis=None))
    least = float(np.fmin.reduce(values, axis=None))
    if np.isnan(greatest):
        return None
    offset: np.ndarray | None = None
    largest = max(abs(greatest), abs(least))
    if not sp.issparse(X):
        mean, spread = locate(X)  # huge numbers, whose mean overflows, are scaled but not moved
        if is_far(mean, spread):
            offset = mean
            largest = spread
    factor = 1.0
    if largest > 0 and not _SIZES[0] < largest < _SIZES[1]:
        factor = 2.0 ** -round(np.log2(largest))
    if offset is None and factor == 1.0:
        return None
    return Shift(offset, factor)


def _check_definite(K: np.ndarray, argument: str) -> None:
    """Refuse a kernel with a clearly negative eigenvalue, which a Cholesky attempt finds out."""
    scale = max(float(np.abs(np.diagonal(K)).max()), float(np.abs(K).max()))
    slack = (1e-8 if K.dtype == np.float64 else 1e-4) * K.shape[0] ** 0.5 * max(scale, 1e-300)
    shifted = K.copy()
    shifted.flat[:: K.shape[0] + 1] += slack
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        if np.diagonal(K).any():
            least = float(np.linalg.eigvalsh(K)[0])
            problem = f"is a precomputed kernel with a negative eigenvalue ({least:.3g})"
            remedy = "a kernel must be positive semi-definite: clip its eigenvalues, or add "
            remedy += f"{-least:.3g} to its diagonal; a graph is given with kernels='graph'"
        else:
            problem = "has a diagonal of zeros, as graphs and distances have, where a kernel has "
            problem += "the similarity of each sample with itself"
            remedy = "give a graph with kernels='graph', or turn distances D into a kernel with "
            remedy += "np.exp(-D / np.median(D))"
        raise InputError(argument, problem, remedy) from None


def _canonical(X: Table) -> Table:
    """Sparse input without duplicates or explicit zeros, as a CSR array with sorted rows."""
    if not sp.issparse(X):
        return X
    X = sp.csr_array(X)
    if not X.has_canonical_format or (X.nnz and (X.data == 0).any()):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) < 2**31:
        # Half of scikit-learn's kernels know no other indices.
        places = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        X = sp.csr_array((X.data, *places), shape=X.shape)
    return X


def _refuse_extremes(X: Table, argument: str) -> None:
    """Squares must neither overflow nor vanish: distances are made of them."""
    if sp.issparse(X):
        values = X.data
    else:
        values = X
    if values.size == 0:
        return
    # Of a large table a mask of what is missing would take a quarter of its memory.
    high = np.fmax.reduce(values, axis=None)
    if np.isnan(high):  # a view that lacks all of these samples
        return
    largest = float(max(abs(high), abs(np.fmin.reduce(values, axis=None))))
    limits = np.finfo(values.dtype)
    ceiling = float(np.sqrt(limits.max)) / max(X.shape[1], 1) ** 0.5 / 4
    floor = float(np.sqrt(limits.tiny)) * 4
    if largest > ceiling or 0 < largest < floor:
        why = f"too {'large' if largest > ceiling else 'small'} for squared distances"
        problem = f"has values up to {largest:.3g}, {why} in {values.dtype}"
        raise InputError(argument, problem, "rescale the features")


def _reads_as_numbers(X: object) -> bool:
    """Whether NumPy would read numbers from text or dates."""
    dtypes = getattr(X, "dtypes", getattr(X, "dtype", None))
    for dtype in dtypes if np.iterable(dtypes) else [dtypes]:
        if getattr(dtype, "kind", "") in ("S", "U", "M", "m"):
            return True
        if getattr(dtype, "is_temporal", bool)():  # polars
            return True
    return False


def _refuse_values(X: object, argument: str, remedy: str | None = None) -> None:
    """Text, dates, NaN and infinity: which columns have them, and what to do about it."""
    from unispectral.tables._faults import table_fault

    fault = table_fault(X)
    if fault is not None:
        raise InputError(argument, fault[0], remedy or fault[1]) from None


def _check_absent(table: Table, argument: str, given: object) -> Table:
    """A view that lacks samples as a whole or not at all; ``given`` knows its columns' names."""
    from unispectral.tables._faults import in_columns

    if sp.issparse(table):
        _refuse_values(table, argument)
    else:
        endless = np.flatnonzero(np.isinf(table).any(axis=0))
        if len(endless):
            problem = f"contains infinity {in_columns(given, endless)}"
            raise InputError(argument, problem, "replace these values")
        missing = np.isnan(table)
        partly = missing.any(axis=1) & ~missing.all(axis=1)
        if partly.any():
            where = in_columns(given, np.flatnonzero(missing[partly].any(axis=0)))
            raise InputError(
                argument,
                f"contains NaN in part of {int(partly.sum())} rows, {where}",
                "fill these values with unispectral.tables.TablePreparer, or fill the whole row "
                "with NaN to say that the sample is absent from this view",
            )
    _refuse_extremes(table, argument)
    return table
