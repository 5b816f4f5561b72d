"""What there is to say about each cluster: who is typical, who is doubtful, what sets it apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from unispectral._alignment import align_to_fit, is_views, view_names
from unispectral._compat import optional
from unispectral._errors import InputError
from unispectral.tables._encode import plans_by_column

if TYPE_CHECKING:
    import pandas as pd

#: A mean difference of so many deviations is as clear as any; it keeps constants finite.
_CLEAREST = 99.0
#: Who is as sure as this is not called doubtful, though others are surer.
_SURE = 0.99
#: Numbers of a table that are looked at in double precision at a time.
_ENTRIES = 2**22


class Certainty(NamedTuple):
    """How surely each sample belongs to its cluster (1 surely, 0 not at all), and to which else.

    ``second`` is the next best cluster, −1 if there is none.
    """

    value: np.ndarray
    second: np.ndarray


def certainty_of(estimator: object, X: object, labels: np.ndarray) -> Certainty:
    """Distance between the strongest and the second membership, or between centres.

    A method without memberships is judged by its centres: (b − a) / max(a, b) with the distances
    a to the own and b to the nearest other centre.
    """
    n, count = len(labels), int(labels.max()) + 1
    own = np.arange(n), labels
    membership = getattr(estimator, "membership_", None)
    known = membership is not None and membership.shape == (n, count)
    if count < 2 or (X is None and not known):
        return Certainty(np.ones(n), np.full(n, -1))
    strength = np.array(membership) if known else -_centre_distances(X, labels)
    first, strength[own] = strength[own].astype(np.float64), -np.inf
    second = strength.argmax(axis=1)
    next_best = strength[own[0], second].astype(np.float64)
    lead = first - next_best
    if not known:
        lead /= np.maximum(-np.minimum(first, next_best), 1e-300)
    return Certainty(np.clip(lead, 0.0, 1.0), second)


def _centre_distances(X: object, labels: np.ndarray) -> np.ndarray:
    filled: Any = X if sp.issparse(X) else np.nan_to_num(np.asarray(X, dtype=np.float64))
    sizes = np.maximum(np.bincount(labels), 1)
    return euclidean_distances(filled, _dense(_indicator(labels).T @ filled) / sizes[:, None])


def rank_members(
    labels: np.ndarray,
    certainty: np.ndarray,
    affinity: object = None,
    outlier: np.ndarray | None = None,
    shown: int = 6,
) -> list[tuple[list[int], list[int]]]:
    """For each cluster its most typical and its most doubtful members, best first.

    Typical are the surest, and among equals those with most ties to their own cluster; doubtful
    the least sure, and among equals the oddest. Nobody is both.
    """
    ties: Any = np.zeros(len(labels))
    if affinity is not None:
        coo = sp.coo_array(affinity)
        inside = labels[coo.row] == labels[coo.col]
        ties = np.bincount(coo.row[inside], weights=coo.data[inside], minlength=len(labels))
    odd = np.zeros(len(labels)) if outlier is None else np.asarray(outlier, dtype=np.float64)
    surest = np.lexsort((odd, -ties, -np.round(certainty, 2)))
    doubted = np.lexsort((-odd, ties, certainty))
    ranked = []
    for cluster, size in enumerate(np.bincount(labels)):
        typical = surest[labels[surest] == cluster][: min(shown, max(1, size - 1))].tolist()
        unsure = doubted[(labels[doubted] == cluster) & (certainty[doubted] < _SURE)]
        doubtful = [i for i in unsure[: 2 * shown].tolist() if i not in typical][:shown]
        ranked.append((typical, doubtful))
    return ranked


class Contrasts(NamedTuple):
    """How each cluster differs from the rest in each feature; arrays of shape (c, d).

    ``effect`` is the difference of the means inside and outside the cluster, in deviations.
    """

    effect: np.ndarray
    inside: np.ndarray
    outside: np.ndarray

    def top(self, cluster: int, shown: int = 8) -> np.ndarray:
        """The features in which a cluster differs most, clearest first."""
        return _largest(np.abs(self.effect[cluster]), shown)

    def telling(self, shown: int) -> np.ndarray:
        """The features that tell most clusters apart, clearest first."""
        return _largest(np.abs(self.effect).sum(axis=0), shown)


def _largest(sizes: np.ndarray, shown: int) -> np.ndarray:
    order = np.argsort(-sizes, kind="stable")[:shown]
    return order[sizes[order] > 1e-9]


def contrasts(X: Any, labels: np.ndarray) -> Contrasts:
    """Find in which features, and how far, each cluster differs from the rest.

    The difference of the means inside and outside is divided by the deviation within the two
    groups. A missing value counts for neither.
    """
    member = _indicator(labels).T
    if sp.issparse(X):
        return _contrast_columns(X, member, labels)
    if X.size <= _ENTRIES:
        return _contrast_columns(X.astype(np.float64, copy=False), member, labels)
    # A large table is copied in double precision a few columns at a time.
    step = max(1, _ENTRIES // len(X))
    parts = [
        _contrast_columns(X[:, start : start + step].astype(np.float64), member, labels)
        for start in range(0, X.shape[1], step)
    ]
    return Contrasts(*(np.hstack(values) for values in zip(*parts, strict=True)))


def _contrast_columns(X: Any, member: sp.csr_array, labels: np.ndarray) -> Contrasts:
    """The same of few columns; ``member`` has a row for each cluster."""
    sizes = np.bincount(labels).astype(np.float64)[:, None]
    centre, counts, table = np.zeros(X.shape[1]), np.broadcast_to(sizes, (len(sizes), 1)), X
    if not sp.issparse(X):  # squares about the mean keep their digits
        known = ~np.isnan(X)
        counts = np.asarray(member @ known.astype(np.float64))
        centre = np.where(known, X, 0.0).sum(axis=0) / np.maximum(counts.sum(axis=0), 1.0)
        table = np.where(known, X - centre, 0.0)
    sums = _dense(member @ table)
    squares = _dense(member @ (table.multiply(table) if sp.issparse(table) else table**2)).sum(0)
    others = counts.sum(axis=0) - counts
    inside = sums / np.maximum(counts, 1.0)
    outside = (sums.sum(axis=0) - sums) / np.maximum(others, 1.0)
    within = squares - counts * inside**2 - others * outside**2
    total = np.maximum(counts.sum(axis=0), 1.0)
    gap, pooled = inside - outside, np.sqrt(np.maximum(within, 0.0) / total)
    least = np.maximum(np.abs(gap) / _CLEAREST, 1e-12 * np.sqrt(squares / total) + 1e-300)
    effect = np.where((counts > 0) & (others > 0), gap / np.maximum(pooled, least), 0.0)
    rounding = 1e-13 * (np.sqrt(squares / total) + np.abs(centre))
    means = [np.where(np.abs(m + centre) > rounding, m + centre, 0.0) for m in (inside, outside)]
    return Contrasts(effect, *means)


def describe(model: object, X: object, *, n_features: int | None = None) -> pd.DataFrame:
    """Tell in which features each cluster differs from the rest, clearest first.

    Parameters
    ----------
    model : fitted clusterer, Pipeline, or array of labels
        Whose clusters are described.
    X : data frame, array, sparse matrix, or list or dict of these (views)
        The samples in the units in which they shall be described, in the order of the fit; frames
        are matched by their index, as in a fit of several views. Text columns are encoded as
        :class:`unispectral.tables.TablePreparer` does; the mean of a category is its share. A
        missing value counts nowhere.
    n_features : int, default=None
        How many features of each cluster; None is all.

    Returns
    -------
    pandas.DataFrame
        A row for each cluster and feature: ``cluster``, ``size``, ``feature``, the ``mean`` of
        its members, the ``mean_elsewhere`` and their ``difference`` in standard deviations
        within the two groups. The largest differences of a cluster come first.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.cluster import KMeans
    >>> X = pd.DataFrame({"height": [1.0, 1.2, 3.0, 3.3], "age": [5, 6, 5, 6]})
    >>> describe(KMeans(2, n_init=1, random_state=0).fit(X[["height"]]), X, n_features=1)
       cluster  size feature  mean  mean_elsewhere  difference
    0        0     2  height  3.15            1.10   16.081523
    1        1     2  height  1.10            3.15  -16.081523
    """
    pandas = optional("pandas", extra="io")
    if n_features is not None and n_features < 1:
        raise InputError("n_features", "must be at least 1, or None", value=n_features)
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    labels = np.asarray(getattr(last, "labels_", model if isinstance(model, list) else last))
    if labels.ndim != 1 or not len(labels):
        raise InputError("model", "has no labels_", "fit it first, or give labels in its place")
    clusters, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    values, names, _ = as_numbers(align_to_fit(X, last), len(labels))
    found = contrasts(values, codes)
    parts = []
    for k, cluster in enumerate(clusters.tolist()):
        order = np.argsort(-np.abs(found.effect[k]), kind="stable")[:n_features]
        part = {"cluster": cluster, "size": int(sizes[k]), "feature": [names[j] for j in order]}
        part |= {"mean": found.inside[k, order], "mean_elsewhere": found.outside[k, order]}
        parts.append(pandas.DataFrame(part | {"difference": found.effect[k, order]}))
    return pandas.concat(parts, ignore_index=True)


class Numbers(NamedTuple):
    """A table of any kind as floats, NaN where missing; ``plans`` say how texts became numbers."""

    values: Any
    names: list[str]
    plans: list[dict[str, Any]]


def as_numbers(X: Any, n: int, names: Any = None) -> Numbers:
    """Samples of any kind as a float table, with the names of its columns."""
    if is_views(X) and not isinstance(X, Mapping):
        X = dict(zip(view_names(X), X, strict=True))
    if isinstance(X, Mapping):
        parts = {str(view): as_numbers(part, n) for view, part in X.items()}
        listed = [f"{view}: {name}" for view, part in parts.items() for name in part.names]
        plans = [plan for part in parts.values() for plan in part.plans]
        tables = [part.values for part in parts.values()]
        if any(map(sp.issparse, tables)):
            joined = sp.hstack([sp.csr_array(table) for table in tables], format="csr")
            return Numbers(joined, listed, plans)
        return Numbers(np.hstack(tables), listed, plans)
    names = getattr(X, "columns", None) if names is None else names
    made: Sequence[dict[str, Any]] = ()
    try:
        values = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        if values.dtype != np.float32:
            values = values.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        from unispectral.tables import TablePreparer

        preparer = TablePreparer(impute=None, scale="none")
        values, names = np.asarray(preparer.fit_transform(X)), preparer.get_feature_names_out()
        made = plans_by_column(preparer.columns_)
    if values.ndim != 2 or values.shape[0] != n:
        problem = f"has the shape {values.shape}, but there are labels for {n} samples"
        raise InputError("X", problem)
    if names is None or len(names) != values.shape[1]:
        names = [f"column {j}" for j in range(values.shape[1])]
    plans = list(made) or [{} for _ in names]
    return Numbers(values, [str(name) for name in names], plans)


def cluster_tree(X: Any, labels: np.ndarray, affinity: object = None) -> dict[str, Any] | None:
    """How clusters relate, as the steps in which the nearest two are joined.

    By the distances between their means, each feature in its deviations; without features by the
    ties of the graph. A step holds two nodes and the height at which they meet; clusters are
    nodes 0 … c − 1, and each step makes the next node.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    sizes = np.bincount(labels)
    if len(sizes) < 3 or not sizes.all() or (X is None and affinity is None):
        return None
    member = _indicator(labels).T
    if X is not None:
        filled: Any = X if sp.issparse(X) else np.nan_to_num(X - np.nanmean(X, axis=0))
        squares = filled.multiply(filled) if sp.issparse(filled) else filled**2
        spread = np.sqrt(np.asarray(squares.sum(axis=0)).ravel() / len(labels))
        means = _dense(member @ filled) / sizes[:, None]
        steps = linkage(means / np.where(spread > 0, spread, 1.0), "average")
    else:
        ties = _dense(member @ sp.csr_array(affinity) @ member.T)
        total = np.maximum(ties.sum(axis=1), 1e-300)
        apart = 1.0 - np.minimum((ties + ties.T) / 2 / np.sqrt(np.outer(total, total)), 1.0)
        np.fill_diagonal(apart, 0.0)
        steps = linkage(squareform(apart, checks=False), "average")
    by = "features" if X is not None else "graph"
    return {"by": by, "steps": [[int(a), int(b), h] for a, b, h, _ in steps]}


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def _indicator(labels: np.ndarray) -> sp.csr_array:
    return sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
