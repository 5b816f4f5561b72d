"""Choosing without labels: internal scores, a search over parameters, numbers of clusters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
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
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_array, column_or_1d

from unispectral._errors import InputError
from unispectral._run import Progress
from unispectral.graph.quality import modularity, normalized_cut

__all__ = [
    "EigengapChoice",
    "Selection",
    "internal_scores",
    "normalized_maximum_eigengap",
    "relative_eigengap",
    "seed_agreement",
    "select",
]

#: What :func:`select` can maximise.
CRITERIA = ("consensus", "modularity", "silhouette", "cut")
#: Pairs of samples that a silhouette looks at, at most.
_SILHOUETTE_SAMPLES = 2_000
_REFERENCE_NEIGHBOURS = 10
#: Numbers of neighbours that are tried unless they are given.
_TRIED = 20


def internal_scores(
    X: Any,
    labels: Any,
    *,
    affinity: sp.csr_array | None = None,
    random_state: int | None = 0,
) -> dict[str, float]:
    """Label-free scores of a clustering; for all of them larger is better.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    labels : array of shape (n_samples,)
    affinity : CSR array or None
        A learned graph (``affinity_matrix_``) to score the clusters on. Without one, and for the
        scores ``modularity`` and ``cut``, the graph of the 10 nearest neighbours is used.
    random_state : int or None
        Draws the samples of the silhouette where there are more than 2,000.

    Returns
    -------
    dict
        ``silhouette`` in −1 … 1; ``modularity`` and ``cut`` (minus the mean normalised cut) on
        the graph of the 10 nearest neighbours; ``calinski_harabasz``; ``davies_bouldin`` (minus
        the usual one); ``own_modularity`` where an affinity was given.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(60, centers=[[0, 0], [9, 9]], random_state=0)
    >>> internal_scores(X, y)["silhouette"] > 0.7
    True
    """
    labels = np.unique(column_or_1d(labels), return_inverse=True)[1]
    X = check_array(X, accept_sparse="csr")
    if len(labels) != X.shape[0]:
        raise ValueError(f"labels has {len(labels)} entries, but X has {X.shape[0]} samples.")
    count = int(labels.max()) + 1
    if not 2 <= count < X.shape[0]:
        raise ValueError(
            f"labels has {count} clusters for {X.shape[0]} samples; "
            "internal scores need at least 2 clusters and fewer than samples."
        )
    dense = X.toarray() if sp.issparse(X) and X.shape[1] <= 1_000 else X
    size = min(_SILHOUETTE_SAMPLES, X.shape[0])
    reference = _reference_graph(X)
    scores = {
        "silhouette": float(
            silhouette_score(X, labels, sample_size=size, random_state=random_state)
        ),
        "modularity": modularity(reference, labels),
        "cut": -normalized_cut(reference, labels),
    }
    if not sp.issparse(dense):
        scores["calinski_harabasz"] = float(calinski_harabasz_score(dense, labels))
        scores["davies_bouldin"] = -float(davies_bouldin_score(dense, labels))
    if affinity is not None:
        scores["own_modularity"] = modularity(sp.csr_array(affinity), labels)
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
        raise ValueError(f"criterion={criterion!r} is unknown; use one of {', '.join(CRITERIA)}.")
    settings = list(ParameterGrid(grid))
    if not settings:
        raise ValueError("grid is empty; give at least one setting.")
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
    labels = {i: r.labels_ for i, r in enumerate(results) if not isinstance(r, str)}
    scores = np.full(len(settings), np.nan)
    for i, score in _score(criterion, X, labels).items():
        scores[i] = score
    best = int(np.nanargmax(scores))
    return Selection(
        results[best], settings[best], float(scores[best]), settings, scores, failures, criterion
    )


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
        raise InputError(
            "estimator",
            f"is a {type(estimator).__name__}, which has no parameter random_state",
            "what does not depend on a seed agrees with itself",
        )
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


def _score(criterion: str, X: Any, labels: dict[int, np.ndarray]) -> dict[int, float]:
    if criterion == "consensus":
        if len(labels) == 1:
            return dict.fromkeys(labels, 1.0)
        agreement = np.array(
            [[adjusted_rand_score(a, b) for b in labels.values()] for a in labels.values()]
        )
        others = (agreement.sum(axis=1) - 1.0) / (len(labels) - 1)
        return dict(zip(labels, others.tolist(), strict=True))
    table = check_array(X, accept_sparse="csr")
    if criterion == "silhouette":
        return {i: internal_scores(table, mine)["silhouette"] for i, mine in labels.items()}
    reference = _reference_graph(table)
    measure = modularity if criterion == "modularity" else _minus_cut
    return {i: measure(reference, mine) for i, mine in labels.items()}


def _minus_cut(W: sp.csr_array, labels: np.ndarray) -> float:
    return -normalized_cut(W, labels)


def _reference_graph(X: Any) -> sp.csr_array:
    """The graph of the 10 nearest neighbours: the same judge for every clustering."""
    from unispectral.graph.candidates import nearest

    n = X.shape[0]
    k = min(_REFERENCE_NEIGHBOURS, n - 1)
    indices = nearest(X, k).indices
    valid = indices >= 0
    rows = np.repeat(np.arange(n), valid.sum(axis=1))
    W = sp.csr_array((np.ones(len(rows)), (rows, indices[valid])), shape=(n, n))
    return sp.csr_array((W + W.T) * 0.5)


class EigengapChoice(NamedTuple):
    """A number of clusters, and what decided it.

    Attributes
    ----------
    n_clusters : int
    counts : ndarray of shape (m,)
        The numbers that were compared.
    gaps : ndarray of shape (m,)
        The gap of each; the largest decides.
    n_neighbors : int or None
        The neighbours of the graph that was taken, where that was a choice.
    tried_neighbors, ratios : ndarray of shape (t,) or None
        The numbers of neighbours that were compared, and the ratio of each; the smallest decides.
    """

    n_clusters: int
    counts: np.ndarray
    gaps: np.ndarray
    n_neighbors: int | None = None
    tried_neighbors: np.ndarray | None = None
    ratios: np.ndarray | None = None


def relative_eigengap(affinity: Any, *, max_clusters: int = 10) -> EigengapChoice:
    """The number of clusters by the relative eigengap of AutoSC.

    With λ the ascending eigenvalues of the normalised Laplacian and m the mean of the first k, the
    gap of k is (λ_(k+1) − m) / (m + 1e-6). The authors (Fan et al., A simple approach to automated
    spectral clustering, NeurIPS 2022) choose graphs for a given k by it, and so can you: the
    larger the gap, the better the graph.

    Parameters
    ----------
    affinity : array or sparse matrix of shape (n_samples, n_samples)
        Symmetric and non-negative, such as ``affinity_matrix_`` of a fitted model.
    max_clusters : int
        From 2 up to this many are compared.

    Returns
    -------
    EigengapChoice

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(3), np.ones((4, 4))) + 0.01
    >>> relative_eigengap(blocks, max_clusters=6).n_clusters
    3
    """
    W = check_array(affinity, accept_sparse=True, input_name="affinity")
    W = W.toarray() if sp.issparse(W) else np.asarray(W, dtype=np.float64)
    n = W.shape[0]
    if W.shape[1] != n or W.min() < 0.0 or not np.allclose(W, W.T, atol=1e-8 * W.max()):
        problem = f"of shape {W.shape} is not square, symmetric and non-negative"
        raise InputError("affinity", problem, "give affinity_matrix_ of a fitted model")
    counts = _counts(max_clusters, n)
    degrees = W.sum(axis=1)
    roots = 1.0 / np.sqrt(np.where(degrees > 0.0, degrees, 1.0))
    L = np.eye(n) - roots[:, None] * W * roots
    # A sample without neighbours is a component of its own.
    L[degrees == 0.0, degrees == 0.0] = 0.0
    values = scipy.linalg.eigh(L, eigvals_only=True, subset_by_index=(0, int(counts[-1])))
    means = np.cumsum(np.maximum(values, 0.0))[counts - 1] / counts
    gaps = (values[counts] - means) / (means + 1e-6)
    return EigengapChoice(int(counts[np.argmax(gaps)]), counts, gaps)


def normalized_maximum_eigengap(
    X: Any,
    *,
    max_clusters: int = 10,
    n_neighbors: Sequence[int] | None = None,
    metric: str = "cosine",
) -> EigengapChoice:
    """The number of clusters, and of neighbours, by the normalised maximum eigengap (NME).

    For each number p of neighbours the graph has edges of weight one. g is the largest gap between
    consecutive eigenvalues of its unnormalised Laplacian, divided by the largest eigenvalue; p / g
    is smallest where few neighbours show a large gap, and the position of that gap is the number
    of clusters (Park, Han, Kumar and Narayanan, IEEE Signal Processing Letters 27, 2020, 381–385).

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Each number of neighbours costs the eigenvalues of a dense matrix: give a random part of
        more than a few thousand samples.
    max_clusters : int
        Up to this many are compared. One is among them.
    n_neighbors : sequence of int or None
        The numbers to try; None is up to 20 of them, from 2 to a quarter of the samples.
    metric : str
        As in :class:`sklearn.neighbors.NearestNeighbors`; the authors use the cosine.

    Returns
    -------
    EigengapChoice

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(90, centers=[[9, 0], [0, 9], [-9, -9]], random_state=0)
    >>> normalized_maximum_eigengap(X, metric="euclidean").n_clusters
    3
    """
    X = check_array(X, accept_sparse="csr", ensure_min_samples=4)
    n = X.shape[0]
    counts = np.arange(1, int(_counts(max_clusters, n)[-1]) + 1)
    if n_neighbors is None:
        tried = np.unique(np.linspace(2, max(n // 4, 2), _TRIED).astype(int))
    else:
        tried = np.unique(np.asarray(n_neighbors, dtype=int))
    if tried.size == 0 or tried[0] < 1 or tried[-1] >= n:
        remedy = f"give numbers between 1 and {n - 1}"
        raise InputError("n_neighbors", "is empty or out of range", remedy, value=n_neighbors)
    index = NearestNeighbors(n_neighbors=int(tried[-1]), metric=metric).fit(X)
    nearest = index.kneighbors(return_distance=False)
    ratios, gaps = np.empty(len(tried)), np.empty((len(tried), len(counts)))
    for t, p in enumerate(tried):
        values = _binary_spectrum(nearest[:, :p])
        gaps[t] = np.diff(values)[: len(counts)]
        ratios[t] = p * (values[-1] + 1e-10) / max(float(gaps[t].max()), 1e-10)
    best = int(np.argmin(ratios))
    chosen = int(counts[np.argmax(gaps[best])])
    return EigengapChoice(chosen, counts, gaps[best], int(tried[best]), tried, ratios)


def _binary_spectrum(nearest: np.ndarray) -> np.ndarray:
    """The eigenvalues of L = D − (A + Aᵀ)/2, A the graph of these neighbours."""
    n = len(nearest)
    A = np.zeros((n, n))
    np.put_along_axis(A, nearest, 1.0, axis=1)
    A = 0.5 * (A + A.T)
    return np.maximum(np.linalg.eigvalsh(np.diag(A.sum(axis=1)) - A), 0.0)


def _counts(max_clusters: int, n: int) -> np.ndarray:
    """The numbers of clusters from 2 on that are looked at."""
    if max_clusters < 2 or n < 3:
        remedy = "compare at least 2 clusters, of at least 3 samples"
        raise InputError(
            "max_clusters", f"is too small for {n} samples", remedy, value=max_clusters
        )
    return np.arange(2, min(max_clusters, n - 1) + 1)
