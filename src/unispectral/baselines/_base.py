"""What the comparison methods share: parameters, checks, the fit, the result."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning

from unispectral._compat import CallbackSupportMixin, FitTasks, Interval, fit_context
from unispectral._run import Run, whole_or_as_before
from unispectral._validation import (
    check_cluster_count,
    check_kernel_matrix,
    check_samples,
    is_views,
    recentred,
)
from unispectral.baselines._kernels import Kernels
from unispectral.kernels import Abilities, Kernel, KernelBank, as_kernel, as_kernels

__all__ = ["POSITIVE", "ClusteringMethod", "KernelMethod", "KernelsMethod", "Partition"]

#: Constraints of a count, and of a number that is not negative.
POSITIVE = [Interval(Integral, 1, None, closed="left")]
NON_NEGATIVE = [Interval(Real, 0, None, closed="left")]


class Partition(NamedTuple):
    """What a method found.

    Attributes
    ----------
    labels : ndarray of shape (n,)
    objective : float or None
        What the method minimises, at these labels; None where only the labels are known.
    n_iter : int
    converged : bool
    residual : float
        How much the last iteration still changed: the share of the labels, or of the objective.
    kernel_weights : ndarray of shape (n_kernels,) or None
    objective_path : ndarray or None
        The objective after each step.
    sample_weights : ndarray of shape (n,) or None
        The share of each sample in the centre of its cluster.
    """

    labels: np.ndarray
    objective: float | None
    n_iter: int
    converged: bool
    residual: float = 0.0
    kernel_weights: np.ndarray | None = None
    objective_path: np.ndarray | None = None
    sample_weights: np.ndarray | None = None


class ClusteringMethod(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """The one fit of all methods: check the input, cluster it, store the result.

    A method says in ``_prepare`` what is clustered (here the table), in ``_cluster`` how.
    """

    _parameter_constraints: dict[str, Any] = {
        "n_clusters": POSITIVE,
        "n_init": POSITIVE,
        "max_iter": POSITIVE,
        "random_state": ["random_state", np.random.Generator],
    }
    #: A parameter that not every method has.
    n_jobs: int | None = None

    def __init__(self, n_clusters: int, n_init: int, max_iter: int, random_state: Any) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            The samples, or the kernel (the kernels) if precomputed.
        y : ignored

        Returns
        -------
        self
        """
        run = Run.of(self.n_jobs, self.random_state, tasks=FitTasks(self, X))
        with whole_or_as_before(self), run.limited() as run:
            self._keep(self._cluster(self._prepare(X, run), run))
        run.progress.close()
        return self

    def _prepare(self, X: Any, run: Run) -> Any:
        """What is clustered: the table, checked."""
        X = check_samples(self, X, reset=True)
        check_cluster_count(self.n_clusters, X.shape[0])
        return X

    def _cluster(self, data: Any, run: Run) -> Partition:
        """Cluster what ``_prepare`` made; attributes of the method's own are set here."""
        raise NotImplementedError

    def _keep(self, found: Partition) -> None:
        """Store what every method has to tell."""
        self.labels_ = found.labels.astype(np.int32)
        self.n_iter_ = int(found.n_iter)
        if found.objective is not None:
            self.objective_ = float(found.objective)
            self.converged_ = bool(found.converged)
        if found.kernel_weights is not None:
            self.kernel_weights_ = found.kernel_weights
        if found.objective_path is not None:
            self.objective_path_ = found.objective_path
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} stopped because the limit of max_iter={self.max_iter} "
                f"iterations was reached; the residual, how much the last one still changed, is "
                f"{found.residual:.2g}. Raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class KernelMethod(ClusteringMethod):
    """A method of one kernel, which gets the kernel matrix."""

    _parameter_constraints = {
        **ClusteringMethod._parameter_constraints,
        "kernel": "no_validation",  # as_kernel has the better sentence
        "normalize": "no_validation",
    }
    #: Whether a precomputed kernel must be positive semi-definite: not where it is an affinity.
    _definite = True
    #: The parameter that says which kernel, or kernels.
    _argument = "kernel"
    normalize: Any

    def _prepare(self, X: Any, run: Run) -> Any:
        return self._bank(X, run).matrix(0, run)

    @property
    def _spec(self) -> Any:
        return getattr(self, self._argument)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self._spec, str) and self._spec == "precomputed"

    def _kernels(self) -> tuple[Kernel, ...]:
        return (as_kernel(self._spec),)

    def _given(self, X: Any) -> KernelBank:
        K = check_kernel_matrix(X, "X", definite=self._definite)
        return KernelBank.precomputed(K, normalize=self.normalize)

    def _bank(self, X: Any, run: Run) -> KernelBank:
        """The precomputed kernels, or those of the samples in ``X``."""
        if self._precomputed:
            bank = self._given(X)
            self.n_features_in_ = bank.n_samples
            check_cluster_count(self.n_clusters, bank.n_samples)
            return bank
        kernels = self._kernels()
        table = super()._prepare(X, run)
        # Distances keep more of their digits near the origin.
        if all(getattr(kernel, "abilities", Abilities()).movable for kernel in kernels):
            table = recentred(table)[0]
        return KernelBank(table, kernels, normalize=self.normalize, run=run)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags


class KernelsMethod(KernelMethod):
    """A method of several kernels, which gets :class:`Kernels`."""

    _parameter_constraints = {
        **ClusteringMethod._parameter_constraints,
        "kernels": "no_validation",
        "normalize": "no_validation",
        "tol": NON_NEGATIVE,
    }
    _argument = "kernels"

    def _prepare(self, X: Any, run: Run) -> Any:
        bank = self._bank(X, run)
        self.kernel_names_ = list(bank.names)
        return Kernels(bank, run)

    def _kernels(self) -> tuple[Kernel, ...]:
        return as_kernels(self._spec)

    def _given(self, X: Any) -> KernelBank:
        if isinstance(X, KernelBank):
            return X
        matrices: list[np.ndarray] = []
        for r, K in enumerate(list(X) if is_views(X) else [X]):
            size = matrices[0].shape[0] if matrices else None
            checked = check_kernel_matrix(K, f"X[{r}]", n_samples=size, definite=self._definite)
            matrices.append(checked)
        return KernelBank.precomputed(matrices, normalize=self.normalize)
