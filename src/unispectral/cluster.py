"""The two models as scikit-learn estimators: parameters, validation, wiring, fitted attributes."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from unispectral._compat import Interval, StrOptions, as_generator, fit_context
from unispectral._memory import require_memory
from unispectral._progress import Progress
from unispectral._threads import threads
from unispectral._validation import (
    check_cluster_count,
    check_kernel_matrix,
    check_samples,
    check_views,
    is_views,
)
from unispectral.kernels import KernelBank, as_kernel, as_kernels
from unispectral.labels import fill_empty, memberships
from unispectral.spectrum import affinity

__all__ = ["SCMK", "SCSK"]


class _LearnedGraphClustering(TransformerMixin, ClusterMixin, BaseEstimator):
    """What SCSK and SCMK share: everything but the number of kernels."""

    _parameter_constraints: dict[str, list] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "normalize": [str, tuple, list, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"exact", "alm"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        normalize="cosine",
        alpha=0.1,
        beta=0.1,
        gamma=0.1,
        ridge=0.0,
        solver="exact",
        max_iter=50,
        tol=1e-5,
        n_init=10,
        max_time=None,
        n_jobs=None,
        random_state=0,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.normalize = normalize
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.ridge = ridge
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None):
        """Learn graph, embedding and labels.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            See the class for several views and precomputed kernels.
        y : ignored

        Returns
        -------
        self
        """
        progress = Progress(self.verbose)
        with threads(self.n_jobs):
            progress("kernels")
            bank = self._bank(X)
            check_cluster_count(self.n_clusters, bank.n_samples)
            solution = self._solve(bank, progress)
        progress.close()
        self._store(bank, solution)
        return self

    def _solve(self, bank: KernelBank, progress: Progress):
        from unispectral.solvers import DenseGraph, Objective, descend, solve_alm

        objective = Objective(
            self.n_clusters, float(self.alpha), float(self.beta), float(self.gamma), self.ridge
        )
        rng = as_generator(self.random_state)
        settings = {
            "max_iter": self.max_iter,
            "max_time": self.max_time,
            "rng": rng,
            "on_iteration": lambda done, value: progress(
                "descent", done, self.max_iter, f"objective {value:.6g}"
            ),
        }
        if self.solver == "alm":
            return solve_alm(bank, objective, **settings)
        return descend(
            DenseGraph(bank, tol=1e-6), objective, tol=self.tol, n_init=self.n_init, **settings
        )

    def _store(self, bank: KernelBank, solution) -> None:
        scores = solution.P @ solution.Q
        self.labels_ = fill_empty(scores, solution.labels).astype(np.int32)
        self.n_clusters_ = int(self.n_clusters)
        self.graph_ = solution.Z
        self.affinity_matrix_ = affinity(solution.Z)
        self.embedding_ = solution.P
        self.rotation_ = solution.Q
        self.membership_ = memberships(scores)
        self.kernel_weights_ = solution.weights
        self.kernel_names_ = bank.names
        self.objective_ = np.asarray(solution.objective)
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.converged
        self.stop_reason_ = solution.reason
        self.kkt_residual_ = solution.kkt
        self.eigenvalues_ = solution.eigenvalues
        self._bank_ = bank
        if not solution.converged:
            warnings.warn(
                f"The fit stopped because {solution.reason}; the residual of the optimality "
                f"conditions is {solution.kkt:.2g}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _bank(self, X: Any) -> KernelBank:
        raise NotImplementedError

    def _feature_bank(self, X: Any, kernels: Any) -> KernelBank:
        tables: Any
        if is_views(X):
            tables, self.view_names_ = check_views(X)
            n = tables[0].shape[0]
        else:
            tables = check_samples(self, X, reset=True)
            n = tables.shape[0]
        size = n * n * (tables[0] if isinstance(tables, list) else tables).dtype.itemsize
        require_memory(
            2.5 * size,
            f"A dense fit of {n} samples",
            "use solver='local', float32 input, or fewer samples",
        )
        return KernelBank(tables, kernels, normalize=self.normalize)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SCSK(_LearnedGraphClustering):
    """Spectral clustering with a single kernel and a learned graph (Kang et al., AAAI 2018)."""

    _parameter_constraints: dict[str, list] = {
        **_LearnedGraphClustering._parameter_constraints,
        "kernel": [str, callable, object],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        kernel="gaussian",
        normalize="cosine",
        alpha=0.1,
        beta=0.1,
        gamma=0.1,
        ridge=0.0,
        solver="exact",
        max_iter=50,
        tol=1e-5,
        n_init=10,
        max_time=None,
        n_jobs=None,
        random_state=0,
        verbose=0,
    ):
        super().__init__(
            n_clusters,
            normalize=normalize,
            alpha=alpha,
            beta=beta,
            gamma=gamma,
            ridge=ridge,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            n_init=n_init,
            max_time=max_time,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.kernel = kernel

    @classmethod
    def paper(cls, n_clusters=8, *, kernel="polyplus_4", alpha=0.1, beta=0.1, gamma=0.1, **params):
        """The unmodified model of the paper."""
        settings = {"normalize": "cosine", "ridge": 0.0, "solver": "exact"} | params
        return cls(n_clusters, kernel=kernel, alpha=alpha, beta=beta, gamma=gamma, **settings)

    def _bank(self, X: Any) -> KernelBank:
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            K = check_kernel_matrix(X, "X")
            self.n_features_in_ = K.shape[1]
            return KernelBank.precomputed(K, normalize=self.normalize)
        return self._feature_bank(X, as_kernel(self.kernel))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


class SCMK(_LearnedGraphClustering):
    """Spectral clustering with multiple kernels and a learned graph (Kang et al., AAAI 2018)."""

    _parameter_constraints: dict[str, list] = {
        **_LearnedGraphClustering._parameter_constraints,
        "kernels": [str, tuple, list, callable, object],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        kernels="paper",
        normalize="cosine",
        alpha=0.1,
        beta=0.1,
        gamma=0.1,
        ridge=0.0,
        solver="exact",
        max_iter=50,
        tol=1e-5,
        n_init=10,
        max_time=None,
        n_jobs=None,
        random_state=0,
        verbose=0,
    ):
        super().__init__(
            n_clusters,
            normalize=normalize,
            alpha=alpha,
            beta=beta,
            gamma=gamma,
            ridge=ridge,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            n_init=n_init,
            max_time=max_time,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.kernels = kernels

    @classmethod
    def paper(cls, n_clusters=8, *, kernels="paper", alpha=0.1, beta=0.1, gamma=0.1, **params):
        """The unmodified model of the paper."""
        settings = {"normalize": "cosine", "ridge": 0.0, "solver": "exact"} | params
        return cls(n_clusters, kernels=kernels, alpha=alpha, beta=beta, gamma=gamma, **settings)

    def _bank(self, X: Any) -> KernelBank:
        if isinstance(self.kernels, str) and self.kernels == "precomputed":
            if isinstance(X, KernelBank):
                return X
            stack = list(X) if is_views(X) else [X]
            first = check_kernel_matrix(stack[0], "X[0]")
            rest = [
                check_kernel_matrix(K, f"X[{r}]", n_samples=first.shape[0])
                for r, K in enumerate(stack[1:], 1)
            ]
            return KernelBank.precomputed([first, *rest], normalize=self.normalize)
        return self._feature_bank(X, as_kernels(self.kernels))
