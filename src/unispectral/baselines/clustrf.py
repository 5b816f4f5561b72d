"""Clustering random forests."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.ensemble import RandomForestClassifier

from unispectral._compat import StrOptions
from unispectral._memory import require_memory
from unispectral._parameters import count, parameter
from unispectral._run import Run
from unispectral._validation import recentre
from unispectral.baselines._base import Partition, RestartedMethod, seed_from
from unispectral.baselines._spectral import leading_eigenvectors, unit_rows

if TYPE_CHECKING:
    from unispectral.kernels._features import Table

__all__ = ["ClustRF"]

#: Rows of the similarity per block.
_BLOCK = 16


class ClustRF(RestartedMethod):
    """Clustering random forest (Zhu, Loy and Gong, CVPR 2014), ClustRF-u and ClustRF-a.

    A forest learns to tell the samples from synthetic ones whose features are drawn independently.
    Two samples are similar if they share much of their path from the root to their leaves, on
    average over the trees. The similarities are clustered by normalised spectral clustering.

    Parameters
    ----------
    weights : {"uniform", "adaptive"}
        What a node counts: one (ClustRF-u), or one over the number of its training rows
        (ClustRF-a), so that specific nodes count more. The root does not count.
    n_estimators : int
        Trees.

    Attributes
    ----------
    affinity_matrix_ : ndarray of shape (n_samples, n_samples)
        Symmetric, between 0 and 1, with a diagonal of 1; float32 above 4,000 samples.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows of the leading eigenvectors of the normalised affinity.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(0, 1, (20, 4)), rng.normal(8, 1, (20, 4))])
    >>> labels = ClustRF(2, n_estimators=30).fit_predict(X)
    >>> len(set(labels[:20])), len(set(labels[20:]))
    (1, 1)
    """

    weights: str = parameter(StrOptions({"uniform", "adaptive"}), default="uniform")
    n_estimators: int = count(default=200)
    n_jobs: int | None = parameter(Integral, default=None)

    def _prepare(self, X: object, run: Run) -> Any:
        # Trees see single precision: large numbers would overflow, small differences vanish.
        return recentre(super()._prepare(X, run))[0]

    def _cluster(self, data: object, run: Run) -> Partition:
        forest = grow(data, self.n_estimators, run)
        W = forest_similarity(forest, data, run, adaptive=self.weights == "adaptive")
        embedding = unit_rows(leading_eigenvectors(W, self.n_clusters))
        return self._kmeans(embedding, run, affinity_matrix=W)


def grow(X: Table, n_trees: int, run: Run) -> RandomForestClassifier:
    """A forest that tells the rows of ``X`` from synthetic ones."""
    synthetic = synthetic_rows(X, run.rng)
    if sp.issparse(X):
        stack = sp.vstack([X, synthetic], "csr")
    else:
        stack = np.vstack([X, synthetic])
    forest = RandomForestClassifier(
        n_trees,
        max_features="sqrt",
        max_samples=X.shape[0],  # half of all rows: as many draws as there are real ones
        n_jobs=run.n_threads,
        random_state=seed_from(run.rng),
    )
    with parallel_config("threading"):  # trees release the lock; processes would copy rows
        return forest.fit(_short_indices(stack), np.repeat([0, 1], X.shape[0]))


def synthetic_rows(X: Table, rng: np.random.Generator) -> Any:
    """As many rows as ``X`` has, each feature drawn by itself from the values it has in ``X``."""
    n, d = X.shape
    if not sp.issparse(X):
        out = np.empty_like(X)
        for feature in range(d):
            out[:, feature] = X[rng.integers(n, size=n), feature]
        return out
    columns = sp.csc_array(X)
    # The number of non-zeros that n draws with replacement hit, then where and which.
    counts = rng.binomial(n, np.diff(columns.indptr) / n)
    rows = [rng.choice(n, size=count, replace=False, shuffle=False) for count in counts]
    chosen = [
        start + rng.integers(stop - start, size=count) if count else np.empty(0, dtype=np.int64)
        for start, stop, count in zip(columns.indptr[:-1], columns.indptr[1:], counts, strict=True)
    ]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    data = columns.data[np.concatenate(chosen)]
    return sp.csr_array(sp.csc_array((data, np.concatenate(rows), indptr), shape=(n, d)))


def _short_indices(X: Table) -> Any:
    """Sparse rows with 32-bit indices, the only ones that scikit-learn's trees take."""
    if not sp.issparse(X) or X.indices.dtype == np.int32:
        return X
    short = [part.astype(np.int32) for part in (X.indices, X.indptr)]
    return sp.csr_array((X.data, *short), shape=X.shape)


def forest_similarity(
    forest: RandomForestClassifier, X: Table, run: Run, *, adaptive: bool = False
) -> np.ndarray:
    """The mean similarity (n, n) of the paths of the rows of ``X`` in the trees of a forest.

    Where ``adaptive``, a node is weighed by one over the distinct training rows in it.
    """
    from unispectral.baselines import _forest

    n = X.shape[0]
    n_trees = len(forest.estimators_)
    dtype: type[np.floating] = np.float64
    if n > 4_000:
        dtype = np.float32
    size = n * n * np.dtype(dtype).itemsize * 2
    require_memory(size, f"A forest similarity of {n} samples", "use fewer samples")
    with parallel_config("threading"):
        leaves = forest.apply(_short_indices(X))
    order = np.ascontiguousarray(np.argsort(leaves, axis=0, kind="stable").T)
    position = np.argsort(order, axis=1)
    lengths = np.empty((n_trees, n), dtype=np.int32)
    sums, shared = np.empty((2, n_trees, n))
    for t, tree in enumerate(forest.estimators_):
        nodes = tree.tree_
        if adaptive:
            weights = 1.0 / nodes.n_node_samples
        else:
            weights = np.ones(nodes.node_count)
        paths = leaves[:, t].copy(), order[t], sums[t], lengths[t], shared[t]
        _forest.describe_tree(nodes.children_left, nodes.children_right, weights, *paths)
    out = np.empty((n, n), dtype=dtype)

    def work(rows: slice) -> None:
        _forest.add_similarities(
            order, position, sums, lengths, shared, rows.start, rows.stop, out[rows]
        )

    run.map_blocks(work, n, _BLOCK)
    return out
