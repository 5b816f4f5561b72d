"""How well found clusters agree with known classes: the paper's three scores, and two more.

All of them compare two labellings of the same samples and do not care how clusters are numbered
or named. They are for judging; no algorithm of this library sees the true labels.
"""

from __future__ import annotations

import numbers

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from unispectral._errors import InputError, InputTypeError

__all__ = [
    "clustering_accuracy", "normalized_mutual_info", "purity", "scores", "swapped_purity",
]  # fmt: skip

# Above this many cells (32 MB) the matching works on the non-zero counts alone.
_DENSE_CELLS = 4_000_000
_LEAVE_OUT = "leave those samples out of both labellings"
_KINDS = "labels must be all integers, all booleans or all strings"


def scores(labels_true: ArrayLike, labels_pred: ArrayLike) -> dict[str, float]:
    """All scores at once.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes: integers, booleans or strings.
    labels_pred : array-like of shape (n_samples,)
        Found clusters.

    Returns
    -------
    dict of str to float
        Keys ``accuracy``, ``nmi``, ``purity``, ``swapped_purity`` and ``ari``.

    Examples
    --------
    >>> scores([0, 0, 1, 1], [0, 0, 0, 1])["accuracy"]
    0.75
    """
    classes, clusters = _encode_both(labels_true, labels_pred)
    counts = _count(classes, clusters)
    return {
        "accuracy": _match_clusters(counts) / len(classes),
        "nmi": float(normalized_mutual_info_score(classes, clusters, average_method="max")),
        "purity": float(counts.max(axis=0).sum() / len(classes)),
        "swapped_purity": float(counts.max(axis=1).sum() / len(classes)),
        "ari": float(adjusted_rand_score(classes, clusters)),
    }


def clustering_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of samples that are right under the best one-to-one map of clusters to classes.

    Between 0 (never reached) and 1 (equal up to renaming), and symmetric. Clusters beyond the
    number of classes stay without a partner. Parameters as in :func:`scores`.

    Examples
    --------
    >>> clustering_accuracy([0, 0, 1, 1, 2, 2], [2, 2, 0, 0, 0, 1])
    0.8333333333333334
    """
    classes, clusters = _encode_both(labels_true, labels_pred)
    return _match_clusters(_count(classes, clusters)) / len(classes)


def normalized_mutual_info(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Mutual information divided by the larger of the two entropies, as in the paper.

    Between 0 (independent) and 1 (equal up to renaming), and symmetric. Two labellings of one
    cluster each are equal, hence 1. Parameters as in :func:`scores`.

    Examples
    --------
    >>> round(normalized_mutual_info(["a", "a", "b", "b"], [0, 0, 1, 2]), 6)
    0.666667
    """
    classes, clusters = _encode_both(labels_true, labels_pred)
    return float(normalized_mutual_info_score(classes, clusters, average_method="max"))


def purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of samples that belong to the commonest class of their cluster.

    Never below the accuracy; rises to 1 when every sample is its own cluster, so compare it only
    at equal numbers of clusters. Parameters as in :func:`scores`.

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    classes, clusters = _encode_both(labels_true, labels_pred)
    return float(_count(classes, clusters).max(axis=0).sum() / len(classes))


def swapped_purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of samples that belong to the commonest cluster of their class.

    This is the third number of the public code of the paper, which passes the two labellings to
    its purity function in the other order: ``purity(labels_pred, labels_true)``.

    Examples
    --------
    >>> swapped_purity([0, 0, 1, 1], [0, 0, 0, 0])
    1.0
    """
    classes, clusters = _encode_both(labels_true, labels_pred)
    return float(_count(classes, clusters).max(axis=1).sum() / len(classes))


def _count(classes: np.ndarray, clusters: np.ndarray) -> sp.csr_array:
    """Number of samples in each (class, cluster), without zeros."""
    shape = (int(classes.max()) + 1, int(clusters.max()) + 1)
    ones = np.ones(len(classes), dtype=np.int64)
    return sp.coo_array((ones, (classes, clusters)), shape=shape).tocsr()


def _match_clusters(counts: sp.csr_array) -> float:
    """Largest number of samples on one-to-one pairs of rows and columns."""
    rows, columns = counts.shape
    if rows * columns <= _DENSE_CELLS:
        table = counts.toarray()
        return float(table[linear_sum_assignment(table, maximize=True)].sum())
    # The sparse solver wants every row and column matched through stored entries. So each row and
    # column gets a stand-in of its own to stay alone with, and the stand-ins of a matched pair
    # are joined by the transposed pattern. All these edges cost the same, so they do not choose.
    ceiling = float(counts.max()) + 1.0
    cost = counts.astype(float)
    joined = counts.T.tocsr().astype(float)
    cost.data = ceiling - cost.data
    joined.data = np.full_like(joined.data, ceiling)
    alone = [sp.eye_array(size, format="csr") * ceiling for size in (rows, columns)]
    graph = sp.block_array([[cost, alone[0]], [alone[1], joined]], format="csr")
    left, right = min_weight_full_bipartite_matching(graph)
    real = (left < rows) & (right < columns)
    return float(np.asarray(counts[left[real], right[real]]).sum())


def _encode_both(labels_true: ArrayLike, labels_pred: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    classes = _encode(labels_true, "labels_true")
    clusters = _encode(labels_pred, "labels_pred")
    if len(classes) != len(clusters):
        problem = f"has {len(classes)} labels and labels_pred has {len(clusters)}"
        raise InputError("labels_true", problem, "both must label the same samples")
    return classes, clusters


def _encode(labels: ArrayLike, name: str) -> np.ndarray:
    """Labels as integers 0, 1, …; whatever is no label is refused."""
    if sp.issparse(labels):
        raise InputTypeError(name, "is a sparse matrix", "pass a one-dimensional array of labels")
    if np.ma.is_masked(labels):
        raise InputError(name, "has masked entries", _LEAVE_OUT)
    try:
        values = np.asarray(labels)
    except ValueError as error:
        raise InputError(name, "is ragged", "pass one label per sample") from error
    if values.ndim != 1:
        problem = f"must be one-dimensional, one label per sample, but has shape {values.shape}"
        raise InputError(name, problem)
    if len(values) == 0:
        raise InputError(name, "is empty", "at least one label is needed")
    if values.dtype.kind == "O":
        values = _from_objects(values, name)
    if values.dtype.kind == "f":
        if strange := np.count_nonzero(~np.isfinite(values)):
            problem = f"has {strange} labels that are NaN or infinite"
            raise InputError(name, problem, _LEAVE_OUT)
        if len(broken := values[values != np.floor(values)]):
            raise InputError(name, f"has continuous values such as {broken[0]}", _KINDS)
    elif values.dtype.kind not in "biuUST":
        raise InputTypeError(name, f"has dtype {values.dtype}", _KINDS)
    return np.unique(values, return_inverse=True)[1]


def _from_objects(values: np.ndarray, name: str) -> np.ndarray:
    if all(isinstance(value, str) for value in values):
        return values.astype(str)
    if all(isinstance(value, numbers.Integral) for value in values):
        return np.unique(values, return_inverse=True)[1]  # Python integers may exceed 64 bits
    if all(isinstance(value, numbers.Real) for value in values):
        return values.astype(float)
    raise InputError(name, "has missing labels or labels of mixed types", _KINDS)
