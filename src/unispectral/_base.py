"""What the three estimators share: wiring of a fit, fitted attributes, new points."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from unispectral._alignment import sample_index
from unispectral._compat import (
    CallbackSupportMixin,
    Interval,
    ManualLinkMixin,
    StrOptions,
    fit_context,
    fit_tasks,
    optional,
    output_container,
)
from unispectral._errors import Sentence, warn
from unispectral._inputs import read_new
from unispectral._result import Fitted
from unispectral._run import Run, whole_or_as_before
from unispectral.answers import AnswersMixin
from unispectral.kernels import Kernel, as_kernels
from unispectral.labels import (
    agree_with,
    fill_empty,
    label_shares,
    memberships,
    order_of_appearance,
)
from unispectral.predict import Prediction, Trained, row_blocks

if TYPE_CHECKING:
    from unispectral.knowledge import Knowledge

#: What ``random_state`` and ``verbose`` may be.
RandomState = int | np.random.RandomState | np.random.Generator | None
Verbose = int | bool | Callable[[str, int, int | None, str], Any]

AUTO = StrOptions({"auto"})
AT_LEAST_ZERO = Interval(Real, 0, None, closed="left")
AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")


class LearnedGraphClustering(
    AnswersMixin,
    ManualLinkMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """What the estimators share: everything but the model."""

    n_jobs: int | None
    random_state: RandomState
    verbose: Verbose
    n_features_in_: int

    #: Which parameter holds the kernels, and what to do where a fit did not converge.
    _kernel_argument = "kernels"
    _remedy = Sentence("Raise {max_iter}, {max_time} or {tol}.", "max_iter", "max_time", "tol")
    _parameter_constraints: dict[str, list[Any]] = {
        "n_clusters": [AT_LEAST_ONE],
        "ridge": [AT_LEAST_ZERO],
        "max_iter": [AT_LEAST_ONE, AUTO],
        "tol": [AT_LEAST_ZERO, AUTO],
        "n_init": [AT_LEAST_ONE],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose", callable],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: object, y: object = None, *, must_link: object = None, cannot_link: object = None
    ) -> Self:
        """Learn graph, embedding and labels.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Or several views, or precomputed kernels; see the class.
        y : array of shape (n_samples,), default=None
            Labels as far as they are known: −1, None or NaN where they are not. They are kept,
            and the others follow. A ``y`` without unknown entries is ignored, as everywhere in
            scikit-learn: it is what scores compare with.
        must_link, cannot_link : list of pairs or groups of rows, default=None
            Rows that belong to one cluster, and rows that belong to different ones: by their
            names in the index of a frame that has names, otherwise counted from 0.

        Returns
        -------
        self
        """
        return self._fit_knowing(X, self._read_knowledge(X, y, must_link, cannot_link))

    def _read_knowledge(
        self, X: object, y: object, must_link: object, cannot_link: object, **more: Any
    ) -> Knowledge | None:
        """What is known of the samples; None where that is nothing."""
        if y is None and must_link is None and cannot_link is None and not more:
            return None
        from unispectral.knowledge import read_knowledge

        return read_knowledge(X, y, must_link=must_link, cannot_link=cannot_link, **more)

    def _fit_knowing(self, X: object, known: Knowledge | None) -> Self:
        """Fit with what is known of the samples."""
        if hasattr(X, "columns"):
            from unispectral.tables._suspects import warn_of_columns

            warn_of_columns(X)
        tasks = fit_tasks(self, X)
        run = Run.of(self.n_jobs, self.random_state, self.verbose, tasks=tasks)
        return self._fit_in(X, run, known)

    def _fit_in(self, X: object, run: Run, known: Knowledge | None = None) -> Self:
        """Fit in a given run, whose executor may be a cluster."""
        with whole_or_as_before(self), run.limit_threads() as run:
            self._store(self._solve(X, run, known))
            self.knowledge_: dict[str, Any] = {}
            if known is not None:
                self._note_knowledge(known)
            self._sample_index_ = sample_index(X)
        run.progress.close()
        return self

    def _solve(self, X: object, run: Run, known: Knowledge | None) -> Fitted:
        raise NotImplementedError

    def _note_knowledge(self, known: Knowledge) -> None:
        """What the clusters had to keep to; samples whose label was given belong there."""
        self.knowledge_ = known.describe()
        if known.is_kept:
            rows = np.flatnonzero(known.labels >= 0)
            self.membership_[rows] = 0.0
            self.membership_[rows, self.labels_[rows]] = 1.0

    def fit_predict(self, X: object, y: object = None, **known: Any) -> np.ndarray:
        """Fit, and return ``labels_``; the arguments are those of ``fit``."""
        return self.fit(X, y, **known).labels_

    def _store(self, fitted: Fitted) -> None:
        solution = fitted.solution
        labels = solution.labels
        if not np.bincount(labels, minlength=solution.Q.shape[0]).all():
            labels = fill_empty(solution.P @ solution.Q, labels)
        named = fitted.cluster_names is not None
        order = np.arange(solution.Q.shape[0]) if named else order_of_appearance(labels)
        rotation = solution.Q[:, order]
        self.labels_: np.ndarray = np.argsort(order)[labels].astype(np.int32)
        self.n_clusters_ = solution.Q.shape[0]
        names_ = fitted.cluster_names or np.arange(self.n_clusters_).astype(str)
        self.cluster_names_ = np.array(names_, dtype=object)
        self.graph_ = solution.Z
        self.affinity_matrix_: sp.csr_array = solution.W
        self.embedding_ = solution.P
        self.rotation_: np.ndarray = rotation
        self.membership_: np.ndarray
        if fitted.membership is not None:
            self.membership_ = agree_with(fitted.membership[:, order], self.labels_)
        elif fitted.predictor.by_labels:
            self.membership_ = label_shares(solution.W, self.labels_, self.n_clusters_)
        else:
            self.membership_ = memberships(solution.P @ rotation)
        self.outlier_score_ = fitted.outlier_score
        self.diagnostics_ = tuple(map(str, fitted.diagnostics))
        self.kernel_weights_ = solution.weights
        self.kernel_names_ = fitted.kernel_names
        names = fitted.predictor.layout.view_names
        self.view_weights_ = dict.fromkeys(names, 0.0)
        for view, weight in zip(fitted.kernel_views, solution.weights, strict=True):
            self.view_weights_[names[view]] += float(weight)
        self.geometry_weights_ = fitted.geometry_weights
        self.objective_: np.ndarray = np.asarray(solution.objective)
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.converged
        self.stop_reason_ = solution.reason
        self.kkt_residual_ = solution.kkt
        self.eigenvalues_ = solution.eigenvalues
        self._predictor_ = fitted.predictor
        if not solution.converged:
            warn(
                Sentence(
                    f"The fit stopped because {solution.reason}; kkt_residual_ is "
                    f"{solution.kkt:.2g}. {self._remedy.template}",
                    about="convergence",
                    **self._remedy.values,
                ),
                ConvergenceWarning,
            )

    def fit_transform(self, X: object, y: object = None, **known: Any) -> np.ndarray:
        """Fit, and return the embedding of the training points."""
        return self._restore_index(self.fit(X, y, **known).embedding_, X)

    def predict_all(self, X: object) -> Prediction:
        """Labels, embedding, memberships and outlier scores of new points, in one pass.

        Parameters
        ----------
        X : as in ``fit``
            For precomputed kernels, the kernel between new and training points. A large
            memory map is read in blocks.

        Returns
        -------
        Prediction
            A named tuple of ``labels``, ``embedding``, ``membership`` and ``outlier_score``.
        """
        check_is_fitted(self)
        predictor = self._predictor_
        trained = Trained(
            self.labels_, self.embedding_, self.rotation_, self.outlier_score_, self.membership_
        )
        run = Run.of(self.n_jobs, 0, self.verbose)
        with run.limit_threads() as run:
            parts = (read_new(self, part, predictor.layout) for part in row_blocks(X))
            blocks = [predictor.predict(part, trained, run) for part in parts]
        return Prediction(*(np.concatenate(values) for values in zip(*blocks, strict=True)))

    def transform(self, X: object) -> np.ndarray:
        """The embedding of new points: the weighted mean of those of their neighbours.

        X as in ``predict_all``. A frame with its index where ``set_output`` asked for one.
        """
        return self._restore_index(self.predict_all(X).embedding, X)

    def _restore_index(self, embedding: np.ndarray, X: object) -> Any:
        """With the index of several views, whose rows scikit-learn does not know."""
        if output_container(self) == "pandas":
            index = sample_index(X)
        else:
            index = None
        if index is None:
            return embedding
        return optional("pandas", extra="io").DataFrame(embedding, index=index)

    def predict(self, X: object) -> np.ndarray:
        """The cluster of each new point; X as in ``predict_all``."""
        return self.predict_all(X).labels

    def predict_proba(self, X: object) -> np.ndarray:
        """How much new points belong to each cluster, as ``membership_``; rows sum to one.

        X as in ``predict_all``.
        """
        return self.predict_all(X).membership

    def score_samples(self, X: object) -> np.ndarray:
        """How usual new points are: minus their outlier score, on the scale of ``outlier_score_``.

        X as in ``predict_all``.
        """
        return -self.predict_all(X).outlier_score

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        kernels = getattr(self, self._kernel_argument)
        tags.input_tags.pairwise = isinstance(kernels, str) and kernels in ("precomputed", "graph")
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def kernel_specs(kernels: Any, argument: str) -> tuple[Kernel, ...] | None:
    """Kernel objects from what a user gave; None for ``"precomputed"``."""
    if isinstance(kernels, str) and kernels == "precomputed":
        return None
    return as_kernels(kernels, argument)
