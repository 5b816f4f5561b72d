"""Units: whether columns are standardised or counts weighted, and in which units a table is taken.

Nothing that cannot matter may decide: a table times a number, or moved, is to have the same
clusters. So a table is moved to its medians, measured in its own spread and rounded to a grid that
is finer than anything distances can tell: what is left is the same whatever the units were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._arrays import absent_rows
from unispectral._errors import InputError
from unispectral._validation import Shift

if TYPE_CHECKING:
    from unispectral.kernels._features import Table

#: Columns whose standard deviations differ by less than this factor share a unit.
_RATIO = 10.0
#: Where the variances are spread over fewer columns than this, a few decide alone.
_DECIDING = 2.0
#: Where this share of the columns have this share of the samples at their smallest or at their
#: largest value, they are pixels or counts.
_PILED_COLUMNS = 0.5
_PILED_SAMPLES = 0.1
#: The spread of a column is the distance of the order statistics that leave one sample in four at
#: either end, or one in twenty where these are equal; values that are so many times as far from
#: them are no part of the column's spread.
_ONE_IN = (4, 20)
_FAR = 30.0
#: Tables that take more bytes are not copied for the sake of their units. One without its
#: constant columns is, where its rows are shorter than this, or most of its columns are constant.
_MOST_BYTES = 64 * 2**20
_ROW_BYTES = 256
#: Entries that are looked at together.
_ENTRIES = 2**20
#: A unit is at least this share of the range: squares must not overflow.
_LEAST_UNIT = 2.0**-400
#: Where all values are multiples of a step, as counts and pixels are, and no more than this, and
#: to within this share of it, the step is the unit: equal distances then stay equal.
_MOST_STEPS = 2**16
_OFF_STEP = 1e-6
#: Values that are looked at before all are.
_FEW = 256
#: Counts of words, or of anything that is seldom there: at least this share of the entries is
#: zero, and most of the others are one.
_LEAST_ZEROS = 0.8
_ONES = 0.5
#: Rows of so many columns, whose lengths differ by no more than this share, are embeddings that
#: were scaled to length one, rounded perhaps to half precision or to whole numbers.
_LONG_ROWS = 16
_ONE_LENGTH = 0.02
#: Rows far from the origin are all about as long, too: the variances of embeddings have more than
#: this share of the squared medians.
_LEAST_SPREAD = 0.1
#: Rows whose lengths are taken at a time.
_LENGTH_ROWS = 16_384
#: A column that varies less than this share of its largest value varies by rounding.
_ROUNDING = 1e-14


def scaling_of(X: Table, scaling: str) -> tuple[Shift | None, str]:
    """How a table is moved and scaled, or None to leave it, and what was done to its columns.

    ``"auto"`` standardises a table of measurements in different units, in which the one or two
    columns with the largest numbers would decide alone, and leaves pixels, counts, and columns
    of like spread in their proportions. Neither a few samples far from all others decide that, nor
    columns that are copies of others. Columns that do not vary are left out. Counts of words, of
    which most are zero and most others one, are weighted: their logarithms times that of the
    inverse share of samples that have the word, in rows of length one.

    Parameters
    ----------
    X : ndarray or CSR array
        Rows of NaN are samples that are absent.
    scaling : {"auto", "standard", "counts", "none"}

    Returns
    -------
    shift : Shift or None
    reason : str

    Examples
    --------
    >>> X = np.array([[0.0, 5.0, 1000.0, 7.0], [1.0, 7.0, 3000.0, 7.0], [0.5, 8.0, 2500.0, 7.0]])
    >>> shift, reason = scaling_of(X, "auto")
    >>> shift.columns.tolist()
    [0, 1, 2]
    >>> reason
    'standardised: 1 of 3 columns has nearly all of the variance; 1 that does not vary left out'
    """
    if scaling in ("auto", "counts"):
        varies = _find_varying(X)
        unit = _counting_unit(X, varies, scaling)
        if unit > 0:
            return _weigh_counts(X, varies, unit, scaling)
    if sp.issparse(X):
        reason = "as given: scaling='none'" if scaling == "none" else "as given: a sparse table"
        varies, unit = _sparse_columns(X)
        kept = np.flatnonzero(varies)
        shift = Shift(None, 1.0 / unit, _columns(kept, X), fixed=X.data.nbytes <= _MOST_BYTES)
        return shift, reason + _tell_left_out(X.shape[1] - len(kept), _CONSTANT)
    columns = _describe(X)
    kept = np.flatnonzero(columns.varies)
    if not len(kept):
        return None, "as given: no column varies"
    constant = X.shape[1] - len(kept)
    columns = columns.among(kept)
    standardise, reason = _decide(X, kept, columns, scaling)
    copies = 0
    if standardise:
        first = _distinct(X, kept, columns)
        copies = len(kept) - len(first)
        kept = kept[first]
        columns = columns.among(first)
    reason += _tell_left_out(constant, _CONSTANT) + _tell_left_out(copies, _COPIES)
    return _shift(X, kept, columns, standardise), reason


def _find_varying(X: Table) -> np.ndarray:
    """Which columns are more than one number, by the samples that are present."""
    if not sp.issparse(X):
        return np.fmin.reduce(X, axis=0) < np.fmax.reduce(X, axis=0)
    entries = np.bincount(X.indices, minlength=X.shape[1])
    varies = entries > 0
    full = np.flatnonzero(entries == X.shape[0])
    if len(full):
        part = X[:, full].toarray()
        varies[full] = part.min(axis=0) < part.max(axis=0)
    return varies


def _counting_unit(X: Table, varies: np.ndarray, scaling: str) -> float:
    """The unit in which a table counts, the smallest number above zero; 0 where it does not.

    Columns that do not vary say nothing of it.
    """
    size = 0
    n_positive = 0
    unit = np.inf
    for block in _varying_blocks(X, varies):
        if block.size and np.fmin.reduce(block, axis=None) < 0:
            if scaling == "auto":
                return 0.0
            problem = "is for counts, but the table has numbers below zero"
            raise InputError("scaling", problem, "use scaling='auto'", value=scaling)
        counts = block[block > 0]
        if len(counts):
            n_positive += len(counts)
            unit = min(unit, float(counts.min()))
        size -= int(np.isnan(block).sum())
    size += X.shape[0] * int(varies.sum())
    if scaling == "counts":
        return unit if n_positive else 1.0
    if not n_positive or n_positive > (1.0 - _LEAST_ZEROS) * size:
        return 0.0
    largest = 0.0
    n_ones = 0
    for block in _varying_blocks(X, varies):
        counts = block[block > 0].astype(np.float64) / unit
        if float(np.abs(counts - np.rint(counts)).max(initial=0.0)) > _OFF_STEP:
            return 0.0  # measured
        largest = max(largest, float(counts.max(initial=0.0)))
        n_ones += int((counts < 1.5).sum())
    if largest < 1.5:  # a word is there or not
        return 0.0
    return unit if n_ones / n_positive >= _ONES else 0.0


def _varying_blocks(X: Table, varies: np.ndarray) -> Iterator[np.ndarray]:
    """The values of the columns that vary, some rows at a time: a large table is not copied."""
    kept = np.flatnonzero(varies)
    if sp.issparse(X):
        values = X.data if len(kept) == X.shape[1] else X[:, kept].data
    else:
        values = X
    step = max(1, _ENTRIES // max(1, values[:1].size))
    for start in range(0, len(values), step):
        some = values[start : start + step]
        yield some if some.ndim == 1 or len(kept) == some.shape[1] else some[:, kept]


def _weigh_counts(X: Table, varies: np.ndarray, unit: float, scaling: str) -> tuple[Shift, str]:
    """Columns weighted by how few samples have them; those that say nothing are left out."""
    n = X.shape[0]
    if sp.issparse(X):
        having = np.bincount(X.indices[X.data > 0], minlength=X.shape[1])
    else:
        having = (X > 0).sum(axis=0)
        n -= int(absent_rows(X).sum())
    kept = np.flatnonzero((having > 0) & varies)
    weights = 1.0 + np.log((1.0 + n) / (1.0 + having[kept]))
    reason = "weighted as counts: "
    reason += "scaling='counts'" if scaling == "counts" else "whole numbers, most of them 0 and 1"
    reason += _tell_left_out(X.shape[1] - len(kept), _CONSTANT)
    columns = _columns(kept, X) if len(kept) else None
    weights = weights if len(kept) else np.ones(X.shape[1])
    return Shift(None, weights, columns, fixed=True, counted=unit), reason


class _Columns(NamedTuple):
    """What is known of each column, from the samples that are present."""

    #: Whether it is more than one number and its rounding.
    varies: np.ndarray
    median: np.ndarray
    #: Between its smallest and its largest value, and between two order statistics.
    range: np.ndarray
    width: np.ndarray
    #: Its standard deviation without values that are far from all others.
    deviation: np.ndarray
    #: The larger share of the samples that are as far out as the one at its end, at either end.
    piled: np.ndarray

    def among(self, kept: np.ndarray) -> _Columns:
        return _Columns(*(values[kept] for values in self))


def _describe(X: np.ndarray) -> _Columns:
    """Every column by itself: exact order statistics, which no order of the samples changes."""
    everyone = np.arange(X.shape[1])
    blocks = [_describe_block(values) for values in _column_blocks(X, everyone)]
    return _Columns(*(np.concatenate(values) for values in zip(*blocks, strict=True)))


def _column_blocks(X: np.ndarray, kept: np.ndarray) -> Iterator[np.ndarray]:
    """Some columns at a time, as rows, of the samples that are present."""
    lacking = absent_rows(X)
    present = ~lacking if lacking.any() else slice(None)
    step = max(1, _ENTRIES // len(X))
    for start in range(0, len(kept), step):
        block = X[:, kept[start : start + step]][present]
        yield np.ascontiguousarray(block.T, dtype=np.float64)


def _describe_block(values: np.ndarray) -> _Columns:
    """What is known of some columns, which are the rows of ``values``.

    Their width is that between two order statistics, of wider ones where these are equal. Values
    that are many widths away take no part in deviations and in what is piled up at the ends.
    """
    n = values.shape[1]
    ends = [(n - 1) // share for share in _ONE_IN]
    places = [0, (n - 1) // 2, n // 2, n - 1, *ends, *(n - 1 - end for end in ends)]
    ordered = np.partition(values, sorted(set(places)), axis=1)
    least = ordered[:, 0]
    greatest = ordered[:, -1]
    median = 0.5 * (ordered[:, (n - 1) // 2] + ordered[:, n // 2])
    low = least
    high = greatest
    for end in reversed(ends):
        narrower = ordered[:, n - 1 - end] > ordered[:, end]
        low = np.where(narrower, ordered[:, end], low)
        high = np.where(narrower, ordered[:, n - 1 - end], high)
    width = high - low
    room = _FAR * width
    near = (values >= (low - room)[:, None]) & (values <= (high + room)[:, None])
    count = near.sum(axis=1)
    unit = np.where(width > 0, width, 1.0)[:, None]
    centred = np.where(near, (values - median[:, None]) / unit, 0.0)
    mean = centred.sum(axis=1) / count
    centred = np.where(near, centred - mean[:, None], 0.0)
    deviation = unit[:, 0] * np.sqrt((centred * centred).sum(axis=1) / count)
    first = np.where(near, values, np.inf).min(axis=1)[:, None]
    last = np.where(near, values, -np.inf).max(axis=1)[:, None]
    at_end = np.maximum((values == first).sum(axis=1), (values == last).sum(axis=1))
    piled = (at_end - 1) / n
    varies = greatest - least > _ROUNDING * np.maximum(np.abs(least), np.abs(greatest))
    return _Columns(varies, median, greatest - least, width, deviation, piled)


def _decide(X: np.ndarray, kept: np.ndarray, columns: _Columns, scaling: str) -> tuple[bool, str]:
    """Whether the columns are standardised, and why."""
    if scaling == "none":
        return False, "as given: scaling='none'"
    if scaling == "standard":
        return True, "standardised: scaling='standard'"
    if len(kept) < 3:  # coordinates of the plane, where a long shape is no sign of another unit
        return False, "as given: fewer than three columns"
    unit = max(float(np.abs(columns.median).max()), float(columns.deviation.max()))
    spread = float(((columns.deviation / unit) ** 2).sum())
    away = float(((columns.median / unit) ** 2).sum())
    long = len(kept) >= _LONG_ROWS and spread > _LEAST_SPREAD * away
    if long and have_one_length(X if len(kept) == X.shape[1] else X[:, kept]):
        return False, "as given: rows of one length, whose distances rank as their cosines do"
    largest = columns.deviation.max()
    if largest <= _RATIO * columns.deviation.min():
        return False, "as given: the columns have similar spreads"
    first = _distinct(X, kept, columns)
    variances = (columns.deviation[first] / largest) ** 2  # whose squares do not overflow
    if float(variances.sum() ** 2 / (variances**2).sum()) >= _DECIDING:
        return False, "as given: no column decides alone"
    if np.mean(columns.piled[first] >= _PILED_SAMPLES) >= _PILED_COLUMNS:
        return False, "as given: many samples are at the end of a column, as of pixels and counts"
    deciding = int((variances > 0.1).sum())
    have = "has" if deciding == 1 else "have"
    return True, (
        f"standardised: {deciding} of {len(first)} columns {have} nearly all of the variance"
    )


def have_one_length(X: np.ndarray) -> bool:
    """Whether all rows, but those that are absent, are about as long as each other.

    Examples
    --------
    >>> have_one_length(np.array([[3.0, 4.0], [5.0, 0.0], [0.0, -5.01]]))
    True
    >>> have_one_length(np.array([[3.0, 4.0], [1.0, 0.0]]))
    False
    """
    least = np.inf
    greatest = 0.0
    for start in range(0, len(X), _LENGTH_ROWS):
        some = X[start : start + _LENGTH_ROWS]
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->i", some, some)
        squares = squares[~np.isnan(squares)]
        least = min(least, float(squares.min(initial=np.inf)))
        greatest = max(greatest, float(squares.max(initial=0.0)))
        if not greatest <= (1.0 + _ONE_LENGTH) ** 2 * least:
            return False
    return 0.0 < greatest < np.inf


def _distinct(X: np.ndarray, kept: np.ndarray, columns: _Columns) -> np.ndarray:
    """The positions of the columns that are no copies of one before them."""
    alike = np.column_stack([columns.median, columns.range, columns.width, columns.piled])
    _, group, sizes = np.unique(alike, axis=0, return_inverse=True, return_counts=True)
    repeated = sizes[group.ravel()] > 1
    known: set[bytes] = set()
    first = np.ones(len(kept), dtype=bool)
    for position in np.flatnonzero(repeated):
        content = np.ascontiguousarray(X[:, kept[position]]).tobytes()
        first[position] = content not in known
        known.add(content)
    return np.flatnonzero(first)


def _shift(X: np.ndarray, kept: np.ndarray, columns: _Columns, standardise: bool) -> Shift | None:
    """Medians to zero, and the largest spread, or that of each column, to one.

    A large table is not copied: it stays as it is, but for what standardising asks for.
    """
    n = X.shape[0]
    small = 8.0 * n * len(kept) <= _MOST_BYTES
    short = X.itemsize * len(kept) <= _ROW_BYTES or 2 * len(kept) <= X.shape[1]
    if not (small or standardise or (short and len(kept) < X.shape[1])):
        return None
    factor: float | np.ndarray
    if standardise:
        factor = 1.0 / np.where(columns.deviation > 0, columns.deviation, columns.range)
    else:
        values = (block - block[:, :1] for block in _column_blocks(X, kept))
        factor = 1.0 / _unit(values, float(columns.width.max()), float(columns.range.max()))
    return Shift(columns.median, factor, _columns(kept, X), fixed=small)


def _unit(blocks: Iterable[np.ndarray], width: float, largest: float) -> float:
    """The unit of a table whose values, from some origin of each column, come in blocks.

    It is the width that is given, or the step of the values times a power of two that is near it.
    """
    step = _common_step(blocks, largest)
    if step > 0:
        return step * 2.0 ** round(np.log2(width / step))
    return max(width, _LEAST_UNIT * largest)


def _common_step(blocks: Iterable[np.ndarray], largest: float) -> float:
    """The step of which all values are multiples; 0 where it is too small to be one.

    By Euclid's algorithm: what is left of a value after division is the next step to be tried.
    """
    step = largest
    for block in blocks:
        values = np.abs(block[block != 0.0])
        for part in (values[:_FEW], values):
            while (rest := _rest(part, step)) > 0.0:
                whole = step
                step = rest
                if largest > _MOST_STEPS * step:
                    return 0.0
                part = np.append(part, whole)
            # Steps that were differences of differences have lost digits.
            step = largest / max(1.0, round(largest / step))
    return step


def _rest(values: np.ndarray, step: float) -> float:
    """The smallest remainder of division by a step that is not rounding; 0 for none."""
    rests = np.abs(values - step * np.rint(values / step))
    rests = rests[rests > _OFF_STEP * step]
    return float(rests.min(initial=np.inf)) if rests.size else 0.0


def _sparse_columns(X: sp.csr_array) -> tuple[np.ndarray, float]:
    """Which columns vary, and the median of the entries that are not zero, without signs."""
    varies = _find_varying(X)
    largest = float(np.abs(X.data).max(initial=0.0))
    unit = _unit([X.data], float(np.median(np.abs(X.data))), largest) if largest > 0 else 1.0
    return (varies if varies.any() else ~varies), unit


def _columns(kept: np.ndarray, X: Table) -> np.ndarray | None:
    return None if len(kept) == X.shape[1] else kept


_CONSTANT = ("does not vary", "do not vary")
_COPIES = ("is a copy", "are copies")


def _tell_left_out(count: int, words: tuple[str, str]) -> str:
    """That columns were left out, for the end of a reason."""
    if not count:
        return ""
    return f"; {count} that {words[0] if count == 1 else words[1]} left out"
