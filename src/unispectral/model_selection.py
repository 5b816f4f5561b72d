"""Choosing without labels: internal scores, a search over parameters, other seeds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import (
    adjusted_rand_score,
    calinski_harabasz_score,
    davies_bouldin_score,
    silhouette_score,
)
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_array, column_or_1d

from unispectral._errors import InputError
from unispectral._run import Progress
from unispectral.graph.quality import modularity, normalized_cut

__all__ = ["Selection", "internal_scores", "seed_agreement", "select"]

#: What :func:`select` can maximise.
CRITERIA = ("consensus", "modularity", "silhouette", "cut")
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
    scores = {name: judge(labels) for name, judge in _judges(X, random_state).items()}
    dense = X.toarray() if sp.issparse(X) and X.shape[1] <= 1_000 else X
    if not sp.issparse(dense):
        scores["calinski_harabasz"] = float(calinski_harabasz_score(dense, labels))
        scores["davies_bouldin"] = -float(davies_bouldin_score(dense, labels))
    return scores


@dataclass
class Selection:
    """What :func:`select` tried and chose.

    Attributes
    ----------
    best_estimator_ : fitted estimator
    best_params_ : dict
    best_score_ : float
    params : list of dict
        Everything that was tried.
    scores : ndarray
        The criterion for each; NaN where a fit failed.
    failures : dict
        The reason of each failure, by position.
    criterion : str
    """

    best_estimator_: BaseEstimator
    best_params_: dict[str, Any]
    best_score_: float
    params: list[dict[str, Any]]
    scores: np.ndarray
    failures: dict[int, str]
    criterion: str

    def to_pandas(self):
        """One row per setting, best first."""
        from unispectral._compat import optional

        frame = optional("pandas", extra="io").DataFrame(self.params)
        frame["score"] = self.scores
        return frame.sort_values("score", ascending=False, kind="stable")


def select(
    estimator: BaseEstimator,
    X: Any,
    grid: Mapping[str, Sequence] | Sequence[Mapping[str, Sequence]],
    *,
    criterion: str = "consensus",
    n_jobs: int | None = 1,
    verbose: int = 0,
) -> Selection:
    """Fit every setting of a grid and keep the best one by a label-free criterion.

    Parameters
    ----------
    estimator : clusterer
        Its own ``random_state`` is used for every fit.
    X : as the estimator takes it
    grid : mapping or list of mappings
        Names of parameters and the values to try, as in scikit-learn's ``ParameterGrid``.
    criterion : {"consensus", "modularity", "silhouette", "cut"}
        ``"consensus"``: the clustering that agrees most with all the others (mean adjusted Rand
        index), which lost least against a choice with labels in our study. The others are those
        of :func:`internal_scores`, which needs X to be one table.
    n_jobs : int or None
        Processes.
    verbose : int

    Returns
    -------
    Selection

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unispectral import UnifiedSpectralClustering
    >>> X, _ = make_moons(80, noise=0.05, random_state=0)
    >>> model = UnifiedSpectralClustering(2, n_init=2)
    >>> chosen = select(model, X, {"n_neighbors": [5, 8, 12]})
    >>> len(chosen.params)
    3
    """
    if criterion not in CRITERIA:
        raise InputError("criterion", "is unknown", f"use {', '.join(CRITERIA)}", value=criterion)
    settings = list(ParameterGrid(grid))
    if not settings:
        raise InputError("grid", "is empty", "give at least one setting")
    progress = Progress(verbose)
    results = []
    jobs = (delayed(_try)(estimator, X, params) for params in settings)
    for done, result in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(jobs), 1):
        results.append(result)
        progress("settings", done, len(settings))
    progress.close()
    failures = {i: result for i, result in enumerate(results) if isinstance(result, str)}
    if len(failures) == len(settings):
        raise ValueError(f"Every setting of grid failed; the first because: {failures[0]}")
    fitted = [i for i in range(len(settings)) if i not in failures]
    scores = np.full(len(settings), np.nan)
    scores[fitted] = _score(criterion, X, [results[i].labels_ for i in fitted])
    best = int(np.nanargmax(scores))
    chosen = results[best], settings[best], float(scores[best])
    return Selection(*chosen, settings, scores, failures, criterion)


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


def _try(estimator: BaseEstimator, X: Any, params: dict[str, Any]) -> BaseEstimator | str:
    try:
        return clone(estimator).set_params(**params).fit(X)
    except (ValueError, TypeError, MemoryError, np.linalg.LinAlgError) as error:
        return f"{type(error).__name__}: {error}"


def _score(criterion: str, X: Any, labels: list[np.ndarray]) -> list[float]:
    if criterion != "consensus":
        judge = _judges(check_array(X, accept_sparse="csr"), 0)[criterion]
        return [judge(mine) for mine in labels]
    agreement = [sum(adjusted_rand_score(a, b) for b in labels) - 1.0 for a in labels]
    return [total / (len(labels) - 1) for total in agreement] if len(labels) > 1 else [1.0]


def _judges(X: Any, random_state: int | None) -> dict[str, Callable[[np.ndarray], float]]:
    """The same for every clustering; two of them look at the graph of the nearest neighbours."""
    from unispectral.graph.candidates import nearest

    n = X.shape[0]
    indices = nearest(X, min(_REFERENCE_NEIGHBOURS, n - 1)).indices
    valid = indices >= 0
    rows = np.repeat(np.arange(n), valid.sum(axis=1))
    W = sp.csr_array((np.ones(len(rows)), (rows, indices[valid])), shape=(n, n))
    W = sp.csr_array((W + W.T) * 0.5)
    drawn = {"sample_size": min(_SILHOUETTE_SAMPLES, n), "random_state": random_state}
    return {
        "silhouette": lambda labels: float(silhouette_score(X, labels, **drawn)),
        "modularity": lambda labels: modularity(W, labels),
        "cut": lambda labels: -normalized_cut(W, labels),
    }
