"""What SCSK and SCMK share: validation, wiring, fitted attributes, new points."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from unispectral import _fitting
from unispectral._checkpoint import checkpoint
from unispectral._compat import Interval, StrOptions, as_generator, fit_context
from unispectral._defaults import resolve
from unispectral._progress import Progress, showing
from unispectral._repr import FittedSummaryMixin
from unispectral._samples import Samples, read, read_new
from unispectral._threads import threads
from unispectral._validation import check_cluster_count
from unispectral.labels import assign, fill_empty, memberships, order_of_appearance
from unispectral.spectrum import affinity

__all__ = ["AT_LEAST_ZERO", "AUTO", "LearnedGraphClustering"]

AUTO = StrOptions({"auto"})
AT_LEAST_ZERO = Interval(Real, 0, None, closed="left")
_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")


class LearnedGraphClustering(FittedSummaryMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """What SCSK and SCMK share: everything but the number of kernels."""

    _parameter_constraints: dict[str, list] = {
        "n_clusters": [_AT_LEAST_ONE, AUTO],
        "max_clusters": [Interval(Integral, 2, None, closed="left")],
        "model": [StrOptions({"adaptive", "paper"})],
        "normalize": [str, tuple, list, None],
        "alpha": [AT_LEAST_ZERO, AUTO],
        "beta": [AT_LEAST_ZERO, AUTO],
        "gamma": [AT_LEAST_ZERO, AUTO],
        "ridge": [AT_LEAST_ZERO, AUTO],
        "n_neighbors": [_AT_LEAST_ONE, AUTO],
        "whiten": [list, tuple, AUTO, None],
        "scale_codes": ["boolean", AUTO],
        "laplacian": [StrOptions({"auto", "normalized", "unnormalized"})],
        "unit_rows": ["boolean", AUTO],
        "mend": ["boolean", AUTO],
        "assign_labels": [StrOptions({"auto", "best", "kmeans", "rotation"})],
        "solver": [StrOptions({"auto", "exact", "local", "alm"})],
        "max_iter": [_AT_LEAST_ONE, AUTO],
        "tol": [AT_LEAST_ZERO, AUTO],
        "n_init": [_AT_LEAST_ONE],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "checkpoint": [str, os.PathLike, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
    }

    # The kernels of the estimator, under the name of its own parameter.
    _kernels: Any
    _kernel_argument: str

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None):
        """Learn graph, embedding and labels.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Or several views, or precomputed kernels; see the class.
        y : ignored
            Here for scikit-learn's sake.

        Returns
        -------
        self
        """
        settings = resolve(self)
        progress = Progress(self.verbose)
        rng = as_generator(self.random_state)
        with threads(self.n_jobs):
            samples = read(self, X, self._kernels, self._kernel_argument)
            if self.n_clusters != "auto":
                check_cluster_count(self.n_clusters, samples.n_samples)
            with checkpoint(self, samples), showing(progress):
                fitted = _fitting.fit(self, samples, settings, rng, progress)
        progress.close()
        self._store(samples, fitted)
        return self

    def _store(self, samples: Samples, fitted: _fitting.Fitted) -> None:
        solution = fitted.solution
        labels = fill_empty(solution.P @ solution.Q, solution.labels)
        order = order_of_appearance(labels)
        rotation = solution.Q[:, order]
        scores = solution.P @ rotation
        self.labels_ = np.argsort(order)[labels].astype(np.int32)
        self.n_clusters_ = solution.Q.shape[0]
        self.graph_ = solution.Z
        self.affinity_matrix_ = affinity(solution.Z)
        self.embedding_ = solution.P
        self.rotation_ = rotation
        self.membership_ = memberships(scores)
        self.outlier_score_ = fitted.outlier_score
        self.kernel_weights_ = fitted.kernel_weights
        self.kernel_evidence_ = solution.evidence
        self.kernel_names_ = fitted.kernel_names
        self.geometry_weights_ = fitted.geometry_weights
        self.objective_ = np.asarray(solution.objective)
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.converged
        self.stop_reason_ = solution.reason
        self.kkt_residual_ = solution.kkt
        self.eigenvalues_ = solution.eigenvalues
        self.cluster_evidence_ = fitted.evidence
        self._samples_ = samples
        self._sources_ = fitted.sources
        if not solution.converged:
            warnings.warn(
                f"The fit stopped because {solution.reason}; the residual of the optimality "
                f"conditions is {solution.kkt:.2g}. Raise max_iter, max_time or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the embedding of the training points."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """The embedding of new points: the weighted mean of those of their neighbours.

        Parameters
        ----------
        X : as in ``fit``
            For precomputed kernels, the kernel between new and training points.

        Returns
        -------
        ndarray of shape (n_new, n_clusters)
        """
        return self._by_rows(X, lambda part: self._placed(part)[0])

    def predict(self, X: Any) -> np.ndarray:
        """The cluster of new points, by their embedding and the learned rotation.

        Parameters
        ----------
        X : as in ``transform``
            Rows of a file (:func:`unispectral.tables.open_rows`) and large memory maps are read
            in blocks.

        Returns
        -------
        ndarray of shape (n_new,)
        """
        return self._by_rows(X, self._labels_of).astype(np.int32)

    def predict_membership(self, X: Any) -> np.ndarray:
        """How much new points belong to each cluster, as ``membership_`` of training points.

        Parameters
        ----------
        X : as in ``transform``

        Returns
        -------
        ndarray of shape (n_new, n_clusters)
            Rows sum to one.
        """
        return memberships(self.transform(X) @ self.rotation_)

    def predict_outlier_score(self, X: Any) -> np.ndarray:
        """How strange new points are, on the scale of ``outlier_score_``.

        Parameters
        ----------
        X : as in ``transform``

        Returns
        -------
        ndarray of shape (n_new,)
            Large for points that the training points explain badly.
        """
        return self._by_rows(X, self._strangeness_of)

    def _by_rows(self, X: Any, work: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Apply ``work`` to new points; a file of rows is read in blocks."""
        from unispectral.predict import row_blocks

        check_is_fitted(self)
        with threads(self.n_jobs):
            parts = [work(read_new(self, part, self._samples_)) for part in row_blocks(X)]
        return np.concatenate(parts)

    def _labels_of(self, new: Any) -> np.ndarray:
        embedding, twin = self._placed(new)
        labels = assign(embedding, self.rotation_)
        # A training point keeps its label, also where an empty cluster had to be filled.
        return np.where(twin >= 0, self.labels_[twin], labels)

    def _strangeness_of(self, new: Any) -> np.ndarray:
        from unispectral.predict import in_chunks, strangeness

        found = in_chunks(lambda part: strangeness(self._sources_, part), new, self._sources_)
        error, explained, twin = found[:, 0], found[:, 1], found[:, 2].astype(np.intp)
        if self.model == "paper":
            # A new point's code counts both ways, as if those it leans on leant on it.
            error = _fitting.weakness(2.0 * explained, self.graph_)
        return np.where(twin >= 0, self.outlier_score_[twin], error)

    def _placed(self, new: Any) -> tuple[np.ndarray, np.ndarray]:
        from unispectral.predict import in_chunks, place

        def work(part: Any) -> np.ndarray:
            placement = place(self._sources_, part)
            return np.column_stack([placement.average(self.embedding_), placement.twin])

        found = in_chunks(work, new, self._sources_)
        return found[:, :-1], found[:, -1].astype(np.intp)

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
