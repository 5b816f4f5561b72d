"""What the comparison methods share: parameters, validation, kernels, the named result."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning

from unispectral._compat import Interval
from unispectral._validation import check_kernel_matrix, check_samples, is_views, well_placed
from unispectral.kernels import Gaussian, Kernel, KernelBank, as_kernel, as_kernels

__all__ = ["ClusteringMethod", "KernelMethod", "Kernels", "KernelsMethod", "Partition"]

#: Kernels are kept as matrices up to this many bytes; above it they are evaluated on demand.
STACK_BYTES = 2**29


class Partition(NamedTuple):
    """What a clustering step found.

    Attributes
    ----------
    labels : ndarray of shape (n,)
    objective : float
        What the method minimises, at these labels.
    n_iter : int
    converged : bool
    residual : float
        How much the last iteration still changed: the share of the labels, or of the objective.
    """

    labels: np.ndarray
    objective: float
    n_iter: int
    converged: bool
    residual: float = 0.0


class ClusteringMethod(ClusterMixin, BaseEstimator):
    """Parameters and checks common to all methods."""

    _parameter_constraints: dict[str, Any] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    n_clusters: int
    max_iter: int

    def _features(self, X: Any) -> Any:
        """The table, checked."""
        X = check_samples(self, X, reset=True)
        self._check_n_clusters(X.shape[0])
        return X

    def _check_n_clusters(self, n_samples: int) -> None:
        if n_samples < self.n_clusters:
            raise ValueError(
                f"n_samples={n_samples} is less than n_clusters={self.n_clusters}; "
                "ask for fewer clusters or give more samples."
            )

    def _keep(self, partition: Partition) -> None:
        """Store what every method has to tell."""
        self.labels_ = partition.labels.astype(np.int32)
        self.objective_ = float(partition.objective)
        self.n_iter_ = int(partition.n_iter)
        self.converged_ = bool(partition.converged)
        # With recorded=True a method does what the record did, its number of iterations included.
        if not self.converged_ and not getattr(self, "recorded", False):
            warnings.warn(
                f"{type(self).__name__} stopped because the limit of max_iter={self.max_iter} "
                f"iterations was reached; the residual, how much the last one still changed, is "
                f"{partition.residual:.2g}. Raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class KernelMethod(ClusteringMethod):
    """A method of one kernel."""

    _parameter_constraints = {
        **ClusteringMethod._parameter_constraints,
        "kernel": "no_validation",  # as_kernel has the better sentence
        "normalize": "no_validation",
        "recorded": ["boolean"],
    }

    kernel: Any
    normalize: Any
    #: Whether a precomputed kernel must be positive semi-definite: not where it is an affinity.
    _definite = True

    def _kernel_matrix(self, X: Any) -> np.ndarray:
        """The kernel of the samples in ``X``."""
        if _is_precomputed(self.kernel):
            K = check_kernel_matrix(X, "X", definite=self._definite)
            self.n_features_in_ = K.shape[1]
            self._check_n_clusters(K.shape[0])
            bank = KernelBank.precomputed(K, normalize=self.normalize)
        else:
            spec = as_kernel(self.kernel)
            bank = KernelBank(_placed(self._features(X), (spec,)), spec, normalize=self.normalize)
        return bank.matrix(0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = _is_precomputed(self.kernel)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags


class KernelsMethod(ClusteringMethod):
    """A method of several kernels."""

    _parameter_constraints = {
        **ClusteringMethod._parameter_constraints,
        "kernels": "no_validation",
        "normalize": "no_validation",
        "recorded": ["boolean"],
    }

    kernels: Any
    normalize: Any
    _definite = True

    def _kernels(self, X: Any) -> Kernels:
        """The kernels of the samples in ``X``."""
        if _is_precomputed(self.kernels):
            bank = X if isinstance(X, KernelBank) else self._precomputed_bank(X)
            self.n_features_in_ = bank.n_samples
            self._check_n_clusters(bank.n_samples)
        else:
            specs = as_kernels(self.kernels)
            bank = KernelBank(_placed(self._features(X), specs), specs, normalize=self.normalize)
        self.kernel_names_ = list(bank.names)
        return Kernels(bank)

    def _precomputed_bank(self, X: Any) -> KernelBank:
        matrices: list[np.ndarray] = []
        for r, K in enumerate(list(X) if is_views(X) else [X]):
            size = matrices[0].shape[0] if matrices else None
            checked = check_kernel_matrix(K, f"X[{r}]", n_samples=size, definite=self._definite)
            matrices.append(checked)
        return KernelBank.precomputed(matrices, normalize=self.normalize)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = _is_precomputed(self.kernels)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags


class Kernels:
    """The kernels of a bank as the multi-kernel methods need them: summed, or within clusters.

    Small kernels are kept as one stack. Large ones are evaluated in blocks from the bank, so that
    twelve kernels never exist at once.

    Parameters
    ----------
    bank : KernelBank
    keep : bool, optional
        Keep the stack; by default if it fits in :data:`STACK_BYTES`.
    """

    def __init__(self, bank: KernelBank, keep: bool | None = None) -> None:
        self.bank = bank
        self.n_samples = bank.n_samples
        if keep is None:
            keep = len(bank) * bank.n_samples**2 * bank.dtype.itemsize <= STACK_BYTES
        self._stack = np.stack([bank.matrix(r) for r in range(len(bank))]) if keep else None
        self.diagonals = np.stack(
            [np.asarray(bank.diagonal(r), dtype=np.float64) for r in range(len(bank))]
        )

    def __len__(self) -> int:
        return len(self.bank)

    def matrix(self, r: int) -> np.ndarray:
        """Kernel ``r``."""
        return self.bank.matrix(r) if self._stack is None else self._stack[r]

    def combine(self, weights: np.ndarray) -> np.ndarray:
        """Σ w_r K_r."""
        if self._stack is None:
            return self.bank.combine(weights)
        flat = self._stack.reshape(len(self), -1)
        total = np.asarray(weights, dtype=flat.dtype) @ flat
        return total.reshape(self.n_samples, self.n_samples)

    def within(self, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Squared distances (r, n) of each sample to the centre of its cluster, in each kernel.

        Only kernel entries within clusters are looked at.
        """
        from unispectral.baselines import _loops

        distances = np.empty((len(self), self.n_samples))
        for members in _groups(labels):
            own = weights[members]
            for r in range(len(self)):
                diagonal = self.diagonals[r, members]
                if self._stack is None:
                    products = self.bank.block(r, members, members) @ own
                else:
                    products = _loops.within_products(self._stack[r], members, own)
                distances[r, members] = diagonal - 2.0 * products + own @ products
        return np.maximum(distances, 0.0, out=distances)


def _groups(labels: np.ndarray) -> list[np.ndarray]:
    """The members of each cluster that has any."""
    order = np.argsort(labels, kind="stable")
    edges = np.flatnonzero(np.diff(labels[order])) + 1
    return np.split(order, edges)


def _placed(X: Any, kernels: tuple[Kernel, ...]) -> Any:
    """The table where distances keep their digits, if distances are all that the kernels see."""
    relative = all(isinstance(k, Gaussian) and isinstance(k.scale, str) for k in kernels)
    return well_placed(X)[0] if relative else X


def _is_precomputed(kernel: Any) -> bool:
    return isinstance(kernel, str) and kernel == "precomputed"
