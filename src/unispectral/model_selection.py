"""Choosing without labels: internal scores, and other seeds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import (
    adjusted_rand_score,
    calinski_harabasz_score,
    davies_bouldin_score,
    silhouette_score,
)
from sklearn.utils.validation import check_array, column_or_1d

from unispectral._errors import InputError
from unispectral.graph.candidates import nearest
from unispectral.graph.quality import modularity, normalized_cut

__all__ = ["internal_scores", "seed_agreement"]

#: Pairs of samples that a silhouette looks at, at most.
_SILHOUETTE_SAMPLES = 2_000
_REFERENCE_NEIGHBOURS = 10


def internal_scores(X: Any, labels: Any, *, random_state: int | None = 0) -> dict[str, float]:
    """Label-free scores of a clustering; for all of them larger is better.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    labels : array of shape (n_samples,)
    random_state : int or None
        Draws the samples of the silhouette where there are more than 2,000.

    Returns
    -------
    dict
        ``silhouette`` in −1 … 1; ``modularity`` and ``cut`` (minus the mean normalised cut) on
        the graph of the 10 nearest neighbours; ``calinski_harabasz``; ``davies_bouldin`` (minus
        the usual one).

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(60, centers=[[0, 0], [9, 9]], random_state=0)
    >>> internal_scores(X, y)["silhouette"] > 0.7
    True
    """
    labels = np.unique(column_or_1d(labels), return_inverse=True)[1]
    X = check_array(X, accept_sparse="csr")
    n, count = X.shape[0], int(labels.max()) + 1
    if len(labels) != n:
        raise InputError("labels", f"has {len(labels)} entries, but X has {n} samples")
    if not 2 <= count < n:
        problem = f"has {count} clusters for {n} samples"
        raise InputError("labels", problem, "scores need at least 2, and fewer than samples")
    W = _neighbour_graph(X)
    drawn = {"sample_size": min(_SILHOUETTE_SAMPLES, n), "random_state": random_state}
    scores = {
        "silhouette": float(silhouette_score(X, labels, **drawn)),
        "modularity": modularity(W, labels),
        "cut": -normalized_cut(W, labels),
    }
    dense = X.toarray() if sp.issparse(X) and X.shape[1] <= 1_000 else X
    if not sp.issparse(dense):
        scores["calinski_harabasz"] = float(calinski_harabasz_score(dense, labels))
        scores["davies_bouldin"] = -float(davies_bouldin_score(dense, labels))
    return scores


def seed_agreement(
    estimator: BaseEstimator, X: Any, *, seeds: Sequence[int] = (1, 2)
) -> np.ndarray:
    """How far the labels of a fitted estimator agree with those that other seeds give.

    Parameters
    ----------
    estimator : fitted clusterer with a parameter ``random_state``
    X : its training samples
    seeds : sequence of int

    Returns
    -------
    ndarray of shape (n_seeds,)
        The adjusted Rand index with the labels of each seed: 1 where they are the same.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unispectral import UnifiedSpectralClustering
    >>> X, _ = make_moons(200, noise=0.05, random_state=0)
    >>> seed_agreement(UnifiedSpectralClustering(2).fit(X), X).tolist()
    [1.0, 1.0]
    """
    if "random_state" not in estimator.get_params(deep=False):
        problem = f"is a {type(estimator).__name__}, which has no parameter random_state"
        raise InputError("estimator", problem, "what does not depend on a seed agrees with itself")
    found = []
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say was said by the first fit
            other = clone(estimator).set_params(random_state=seed).fit(X)
        found.append(float(adjusted_rand_score(estimator.labels_, other.labels_)))
    return np.array(found)


def _neighbour_graph(X: Any) -> sp.csr_array:
    n = X.shape[0]
    indices = nearest(X, min(_REFERENCE_NEIGHBOURS, n - 1)).indices
    valid = indices >= 0
    rows = np.repeat(np.arange(n), valid.sum(axis=1))
    W = sp.csr_array((np.ones(len(rows)), (rows, indices[valid])), shape=(n, n))
    return sp.csr_array((W + W.T) * 0.5)
