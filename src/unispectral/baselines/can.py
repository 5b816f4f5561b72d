"""Clustering with adaptive neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral._run import Run
from unispectral.baselines._base import POSITIVE, ClusteringMethod, Partition
from unispectral.baselines._neighbours import (
    components_or_kmeans,
    nearest_codes,
    neighbourhoods,
    on_simplex,
    part,
)

__all__ = ["CAN"]


class CAN(ClusteringMethod):
    """Clustering with adaptive neighbours (Nie, Wang and Huang, KDD 2014, 977–986).

    The neighbours of a sample are weighted by a distribution that is large where distances are
    small. The graph is learned together with an embedding that pulls at it until it has as many
    connected components as there are clusters; the components are the clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    n_neighbors : int, default=15
        Neighbours of a sample in the first graph, as in the authors' program; it sets the weight
        of the ridge, and there is nothing else to tune.
    n_init : int, default=10
        Random starts of k-means on the embedding, which is asked only where the graph does not
        get the wanted number of components.
    max_iter : int, default=30
        Rounds of graph and embedding.
    random_state : int, RandomState, Generator or None, default=0
        The starts of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    affinity_matrix_ : CSR array of shape (n_samples, n_samples)
        The symmetric part of the graph.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The smallest eigenvectors of its Laplacian.
    n_components_ : int
        Of the graph.
    objective_ : float
        Σ_ij ‖x_i − x_j‖² s_ij + γ s_ij², without the price of the embedding.
    n_iter_ : int
    converged_ : bool
        Whether there are as many components as clusters.

    Notes
    -----
    A sample can only get neighbours among its ``n_neighbors + 1`` nearest, as in the faster
    variant of the authors' program. The labels do not change with the unit of the features.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> CAN(2, n_neighbors=2).fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    _parameter_constraints = {
        **ClusteringMethod._parameter_constraints,
        "n_neighbors": POSITIVE,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 15,
        n_init: int = 10,
        max_iter: int = 30,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.n_neighbors = n_neighbors

    def _cluster(self, data: Any, run: Run) -> Partition:
        k = min(self.n_neighbors, max(data.shape[0] - 2, 1))
        near = neighbourhoods([data.astype(np.float64)], k)
        distances = near.distances[0]
        ridge = mean_ridge(distances, k)

        def update(rows: np.ndarray, pull: np.ndarray) -> np.ndarray:
            return on_simplex(-(distances + pull) / (2.0 * ridge))

        first = nearest_codes(distances, k)
        found = part(near, first, update, self.n_clusters, self.max_iter, ridge, run)
        self.affinity_matrix_ = found.affinity
        self.embedding_ = found.embedding
        self.n_components_, partition = components_or_kmeans(
            found, self.n_clusters, self.n_init, run
        )
        used = np.where(found.rows > 0.0, distances, 0.0)
        objective = float((used * found.rows).sum() + ridge * np.square(found.rows).sum())
        return partition._replace(objective=objective)


def mean_ridge(distances: np.ndarray, k: int) -> float:
    """The γ that leaves k neighbours to a sample, as a mean over the samples.

    For one sample it is ½ (k d_(k+1) − Σ_j≤k d_(j)), d its sorted squared distances.

    Examples
    --------
    >>> import numpy as np
    >>> mean_ridge(np.array([[1.0, 2.0, 4.0]]), 2)
    2.5
    """
    ranked = np.sort(distances, axis=1)[:, : k + 1]
    ranked = np.where(np.isfinite(ranked), ranked, ranked[:, :1])
    limit = ranked[:, -1]
    gaps = 0.5 * (k * limit - ranked[:, :k].sum(axis=1))
    scale = max(float(limit.mean()), np.finfo(np.float64).tiny)
    return max(float(gaps.mean()), 1e-12 * scale)
