"""Units: whether the columns of a table are standardised before distances are taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._validation import Shift

__all__ = ["scaling_of"]

#: Columns whose standard deviations differ by less than this factor share a unit.
_RATIO = 10.0
#: Where the variances are spread over fewer columns than this, a few decide alone.
_DECIDING = 2.0
#: Where at least this share of the columns have the same least value, they are pixels or counts.
_SHARED_LEAST = 0.5
#: Coordinates of the plane, where a long shape is no sign of another unit.
_FEW_COLUMNS = "as given: fewer than three columns"


def scaling_of(X: Any, scaling: str) -> tuple[Shift | None, str]:
    """How to move and scale a table, or None to leave it, and why.

    ``"auto"`` standardises a table of measurements in different units, in which the one or two
    columns with the largest numbers would decide alone, and leaves pixels, counts, and columns
    of like spread as they are.

    Parameters
    ----------
    X : ndarray or CSR array
        Rows of NaN are samples that are absent.
    scaling : {"auto", "standard", "none"}

    Returns
    -------
    shift : (offset, factors) or None
    reason : str

    Examples
    --------
    >>> X = np.array([[0.0, 5.0, 1000.0], [1.0, 7.0, 3000.0], [0.5, 8.0, 2500.0]])
    >>> scaling_of(X, "auto")[1]
    'standardised: 1 of 3 columns has nearly all of the variance'
    """
    if scaling == "none":
        return None, "as given: scaling='none'"
    if sp.issparse(X):
        return None, "as given: a sparse table"
    if scaling == "auto" and X.shape[1] < 3:  # spares a large table of the plane four passes
        return None, _FEW_COLUMNS
    mean = _rounded(np.asarray(np.nanmean(X, axis=0, dtype=np.float64)))
    spread = _rounded(np.asarray(np.nanstd(X, axis=0, dtype=np.float64)))
    largest = max(float(np.nanmax(np.abs(X))), 1e-300)
    varies = spread > 1e-12 * largest
    reason = "standardised: scaling='standard'"
    if scaling == "auto":
        left, reason = _decision(X, spread, varies)
        if left:
            return None, reason
    return (np.asarray(mean), 1.0 / np.where(varies, spread, 1.0)), reason


def _rounded(values: np.ndarray) -> np.ndarray:
    """Ten digits: in the others, sums differ with the order of the rows."""
    mantissas, exponents = np.frexp(values)
    return np.ldexp(np.round(mantissas, 10), exponents)


def _decision(X: np.ndarray, spread: np.ndarray, varies: np.ndarray) -> tuple[bool, str]:
    """Whether a table is left as it is, and why."""
    count = int(varies.sum())
    if count < 3:
        return True, _FEW_COLUMNS
    variances = (spread[varies] / spread[varies].max()) ** 2  # whose squares do not overflow
    if variances.max() <= _RATIO**2 * variances.min():
        return True, "as given: the columns have similar spreads"
    effective = float(variances.sum() ** 2 / (variances**2).sum())
    if effective >= _DECIDING:
        return True, "as given: no column decides alone"
    least = np.nanmin(X[:, varies], axis=0)
    room = 1e-9 * float(np.nanmax(X) - np.nanmin(X))
    if np.mean(least <= least.min() + room) >= _SHARED_LEAST:
        return True, "as given: the columns share their smallest value, as pixels and counts do"
    deciding = int((variances > 0.1 * variances.max()).sum())
    have = "has" if deciding == 1 else "have"
    return False, f"standardised: {deciding} of {count} columns {have} nearly all of the variance"
