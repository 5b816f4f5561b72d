"""Graph-based multi-view clustering."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import scale

from unispectral._errors import InputError
from unispectral._run import Run
from unispectral._validation import check_cluster_count, check_views, is_views
from unispectral.baselines._base import POSITIVE, ClusteringMethod, Partition
from unispectral.baselines._neighbours import (
    Near,
    Parted,
    components_or_kmeans,
    nearest_codes,
    neighbourhoods,
    on_simplex,
    part,
)

__all__ = ["GMC"]


class GMC(ClusteringMethod):
    """Graph-based multi-view clustering (Wang, Yang and Liu, IEEE TKDE 32, 2020, 1116–1129).

    Each view has a graph of nearest neighbours whose rows lie on the simplex. One unified graph is
    kept close to all of them, the views weighted by how close it already is, and is made to have
    as many connected components as there are clusters; graphs, weights and unified graph are
    updated in turn. The components are the clusters. There is nothing to tune.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    n_neighbors : int, default=15
        Neighbours of a sample in each view's graph.
    normalize : bool, default=False
        Whether each sample's features are standardised within each view, as the published code
        does: for histograms and pixels, not for few columns.
    n_init : int, default=10
        Random starts of k-means on the embedding, which is asked only where the graph does not
        get the wanted number of components.
    max_iter : int, default=20
        Rounds over graphs, weights and unified graph.
    random_state : int, RandomState, Generator or None, default=0
        The starts of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    affinity_matrix_ : CSR array of shape (n_samples, n_samples)
        The symmetric part of the unified graph.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The smallest eigenvectors of its Laplacian.
    view_weights_ : ndarray of shape (n_views,)
        Their sum is one.
    n_components_ : int
        Of the unified graph.
    objective_ : float
        Σ_v ‖U − S_v‖, the distance of the unified graph from those of the views.
    n_iter_ : int
    converged_ : bool
        Whether there are as many components as clusters.

    Notes
    -----
    Every step minimises its part of the objective exactly. The published code orders the
    neighbours by their distances alone when a view's graph is updated, and leaves the weights out
    of the mean of the views' graphs.

    Examples
    --------
    >>> import numpy as np
    >>> first = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> model = GMC(2, n_neighbors=2).fit([first, -2.0 * first])
    >>> model.labels_.tolist(), model.view_weights_.tolist()
    ([0, 0, 0, 1, 1, 1], [0.5, 0.5])
    """

    _parameter_constraints = {
        **ClusteringMethod._parameter_constraints,
        "n_neighbors": POSITIVE,
        "normalize": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 15,
        normalize: bool = False,
        n_init: int = 10,
        max_iter: int = 20,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.n_neighbors = n_neighbors
        self.normalize = normalize

    def _prepare(self, X: Any, run: Run) -> list[Any]:
        if not is_views(X):
            return [super()._prepare(X, run)]
        tables, names = check_views(X)
        for name, table in zip(names, tables, strict=True):
            if not np.isfinite(table.data if sp.issparse(table) else table).all():
                raise InputError(
                    "X", f"lacks samples in view {name!r}", "give every view all rows"
                )
        self.n_features_in_ = sum(table.shape[1] for table in tables)
        check_cluster_count(self.n_clusters, tables[0].shape[0])
        return tables

    def _cluster(self, data: list[Any], run: Run) -> Partition:
        tables = [table.astype(np.float64) for table in data]
        if self.normalize:
            dense = (table.toarray() if sp.issparse(table) else table for table in tables)
            tables = [scale(table, axis=1) for table in dense]
        near = neighbourhoods(tables, min(self.n_neighbors, max(tables[0].shape[0] - 2, 1)))
        found, weights, apart = _unify(near, self.n_clusters, self.max_iter, run)
        self.affinity_matrix_ = found.affinity
        self.embedding_ = found.embedding
        self.view_weights_ = weights / weights.sum()
        self.n_components_, partition = components_or_kmeans(
            found, self.n_clusters, self.n_init, run
        )
        return partition._replace(objective=apart)


def _unify(
    near: Near, n_clusters: int, max_iter: int, run: Run
) -> tuple[Parted, np.ndarray, float]:
    """Graphs of the views, weights and unified graph in turn, until it falls apart as asked.

    Returns the unified graph, the weights of the views, and how far it is from their graphs.
    """
    inside = np.isfinite(near.distances[0])
    graphs = np.stack([nearest_codes(costs, near.n_neighbors) for costs in near.distances])
    weights = np.full(len(graphs), 1.0 / len(graphs))

    def update(unified: np.ndarray, pull: np.ndarray) -> np.ndarray:
        for view, distances in enumerate(near.distances):
            costs = np.where(inside, distances - 2.0 * weights[view] * unified, np.inf)
            graphs[view] = nearest_codes(costs, near.n_neighbors)
        weights[:] = 0.5 / np.maximum(_apart(unified, graphs), 1e-12)
        target = np.tensordot(weights, graphs, axes=1) - 0.5 * pull
        return on_simplex(np.where(inside, target / weights.sum(), -np.inf))

    found = part(near, graphs.mean(axis=0), update, n_clusters, max_iter, 1.0, run)
    return found, weights, float(_apart(found.rows, graphs).sum())


def _apart(unified: np.ndarray, graphs: np.ndarray) -> np.ndarray:
    """The distance of the unified graph from each view's."""
    return np.sqrt(np.square(graphs - unified).sum(axis=(1, 2)))
