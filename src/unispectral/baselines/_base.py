"""What the comparison methods share: parameters, checks, the fit, rounds, the result."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from unispectral._alignment import align, is_views, sample_index
from unispectral._compat import CallbackSupportMixin, fit_context, fit_tasks
from unispectral._errors import Sentence, warn
from unispectral._parameters import Declared, count, non_negative, parameter
from unispectral._run import Run, whole_or_as_before
from unispectral._validation import (
    check_cluster_count,
    check_kernel_matrices,
    check_samples,
    recentre,
)
from unispectral.kernels import Abilities, KernelBank, as_kernel, as_kernels

if TYPE_CHECKING:
    from unispectral.kernels._features import Table

#: Iterations of k-means where ``max_iter`` is that of something else.
_KMEANS_ITER = 300
#: Kernels are kept as matrices up to this many bytes; above it they are evaluated on demand.
STACK_BYTES = 2**29

State = TypeVar("State")


class Partition(NamedTuple):
    """What a method found: labels, and what it minimises at these.

    The residual is how much the last iteration still changed, as a share of the labels or of the
    objective; the attributes are what else the estimator shows, without the underscore at the end.
    """

    labels: np.ndarray
    objective: float
    n_iter: int
    converged: bool
    residual: float = 0.0
    attributes: Mapping[str, Any] = MappingProxyType({})


class Stop(NamedTuple):
    """Where rounds ended."""

    n_iter: int
    converged: bool
    residual: float


def alternate(
    rounds: Iterable[tuple[State, float]], max_iter: int, tol: float, least: int = 1
) -> tuple[State, Stop]:
    """The state of the first round, from the ``least`` on, that changes no more than ``tol``."""
    for n_iter, found in enumerate(islice(rounds, max_iter), 1):
        state, residual = found
        stop = Stop(n_iter, n_iter >= least and residual <= tol, residual)
        if stop.converged:
            break
    return state, stop


class ClusteringMethod(Declared, CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """The one fit of all methods: check the input, cluster it, store the result.

    A method says in ``_prepare`` what is clustered (here the table), in ``_cluster`` how.

    Parameters
    ----------
    n_clusters : int
        The number of clusters.
    n_init : int
        Random starts of k-means.
    max_iter : int
        Iterations at most, of each start where there are several.
    tol : float
        The iterations end when one changes the result by less than this share.
    n_jobs : int or None
        Threads, as in :class:`unispectral.UnifiedSpectralClustering`.
    random_state : int, RandomState, Generator or None
        Whatever is drawn: random starts, and the trees of a forest.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    objective_ : float
        Of k-means: the sum of squared distances.
    n_iter_ : int
    converged_ : bool
        Whether the iterations ended before ``max_iter``.
    """

    n_clusters: Any = count(default=8, kw_only=False)
    max_iter: int = count(default=300)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: object, y: object = None) -> Self:
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
        jobs = getattr(self, "n_jobs", None)
        seed = getattr(self, "random_state", 0)
        run = Run.of(jobs, seed, tasks=fit_tasks(self, X))
        with whole_or_as_before(self), run.limit_threads() as run:
            self._keep(self._cluster(self._prepare(X, run), run))
            self._sample_index_ = sample_index(X)
        run.progress.close()
        return self

    def _prepare(self, X: Table, run: Run) -> Any:
        """What is clustered: the table, checked."""
        X = check_samples(self, X, reset=True)
        if self.n_clusters is not None:
            check_cluster_count(self.n_clusters, X.shape[0], [X])
        return X

    def _cluster(self, data: Any, run: Run) -> Partition:
        """Cluster what ``_prepare`` made."""
        raise NotImplementedError

    def _keep(self, found: Partition) -> None:
        self.labels_ = found.labels.astype(np.int32)
        self.objective_ = float(found.objective)
        self.n_iter_ = int(found.n_iter)
        self.converged_ = bool(found.converged)
        for name, value in found.attributes.items():
            setattr(self, f"{name}_", value)
        if not found.converged:
            text = (
                f"{type(self).__name__} stopped because the limit of {{max_iter}} iterations was "
                "reached; the residual, how much the last one still changed, is "
                f"{found.residual:.2g}. Raise it."
            )
            warn(Sentence(text, max_iter=self.max_iter), ConvergenceWarning)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class RestartedMethod(ClusteringMethod):
    """A method with random starts, in most cases those of k-means on an embedding."""

    n_init: int = count(default=10)
    random_state: Any = parameter("random_state", np.random.Generator, default=0)

    def _kmeans(
        self, embedding: np.ndarray, run: Run, stop: Stop | None = None, **attributes: Any
    ) -> Partition:
        """The clusters of an embedding, and where rounds before it ended, if there were any."""
        if stop is None:
            limit = self.max_iter
        else:
            limit = _KMEANS_ITER
        found = kmeans(embedding, self.n_clusters, run.rng, self.n_init, limit)
        found = found._replace(attributes={"embedding": embedding, **attributes})
        if stop is None:
            return found
        return found._replace(**stop._asdict())


class _OnKernels(RestartedMethod):
    """A method of one or several kernels, given or of the samples.

    Parameters
    ----------
    normalize : {"cosine", "center", "trace", "max", "none"} or tuple of them
        Applied to each kernel.
    """

    normalize: Any = parameter(default="cosine")  # the bank has the better sentence

    #: Whether a precomputed kernel must be positive semi-definite: not where it is an affinity.
    _definite = True
    _several = True

    def _bank(self, X: object, run: Run) -> KernelBank:
        """The precomputed kernels, or those of the samples in ``X``."""
        if self._is_precomputed():
            if self._several and isinstance(X, KernelBank):
                bank = X
            else:
                bank = self._read_kernels(X)
            self.n_features_in_ = bank.n_samples
            check_cluster_count(self.n_clusters, bank.n_samples)
            return bank
        spec = self._spec()
        if self._several:
            kernels = as_kernels(spec)
        else:
            kernels = (as_kernel(spec),)
        table = super()._prepare(X, run)
        # Distances keep more of their digits near the origin.
        if all(getattr(kernel, "abilities", Abilities()).movable for kernel in kernels):
            table = recentre(table)[0]
        return KernelBank(table, kernels, normalize=self.normalize, run=run)

    def _read_kernels(self, X: object) -> KernelBank:
        if self._several and is_views(X):
            given = align(X, pairwise=True)
        else:
            given = [X]
        if isinstance(given, Mapping):
            given = given.values()
        matrices = check_kernel_matrices(given, "X", definite=self._definite)
        return KernelBank.from_matrices(matrices, normalize=self.normalize)

    def _spec(self) -> Any:
        return getattr(self, "kernels" if self._several else "kernel")

    def _is_precomputed(self) -> bool:
        return isinstance(self._spec(), str) and self._spec() == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags


class KernelMethod(_OnKernels):
    """A method of one kernel, which gets the kernel matrix.

    Parameters
    ----------
    kernel : str, kernel object, callable or "precomputed"
        See :func:`unispectral.kernels.as_kernel`. If precomputed, ``fit`` takes the matrix.
    """

    kernel: Any = parameter(default="gaussian")
    _several = False

    def _prepare(self, X: object, run: Run) -> np.ndarray:
        return self._bank(X, run).matrix(0, run)


class Kernels:
    """Kernels, kept as one stack if they are small.

    Large ones are evaluated in blocks from the bank, so that twelve kernels never exist at once.
    """

    def __init__(self, bank: KernelBank, run: Run | None = None) -> None:
        self.bank = bank
        self.run = run
        self.n_samples = bank.n_samples
        keep = len(bank) * bank.n_samples**2 * bank.dtype.itemsize <= STACK_BYTES
        self._stack = None
        if keep:
            self._stack = np.stack([bank.matrix(r, run) for r in range(len(bank))])
        self.diagonals = np.stack([bank.diagonal(r) for r in range(len(bank))]).astype(np.float64)

    def __len__(self) -> int:
        return len(self.bank)

    def matrix(self, r: int) -> np.ndarray:
        """Kernel ``r``."""
        if self._stack is None:
            return self.bank.matrix(r, self.run)
        return self._stack[r]

    def combine(self, weights: np.ndarray) -> np.ndarray:
        """Σ w_r K_r."""
        if self._stack is None:
            return self.bank.combine(weights, self.run)
        flat = self._stack.reshape(len(self), -1)
        total = np.asarray(weights, dtype=flat.dtype) @ flat
        return total.reshape(self.n_samples, self.n_samples)

    def within(self, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Squared distances (r, n) of each sample to the centre of its cluster, in each kernel.

        Only kernel entries within clusters are looked at.
        """
        distances = np.empty((len(self), self.n_samples))
        for members in (np.flatnonzero(labels == j) for j in np.unique(labels)):
            own = weights[members]
            for r in range(len(self)):
                if self._stack is None:
                    block = self.bank.block(r, members, members)
                else:
                    block = self._stack[r][np.ix_(members, members)]
                products = block @ own
                squared = self.diagonals[r, members] - 2.0 * products + own @ products
                distances[r, members] = squared
        return np.maximum(distances, 0.0, out=distances)


class KernelsMethod(_OnKernels):
    """A method of several kernels, which gets :class:`Kernels`.

    Parameters
    ----------
    kernels : "paper", list of kernels, or "precomputed"
        See :func:`unispectral.kernels.as_kernels`; ``"paper"`` is the paper's twelve. If
        precomputed, ``fit`` takes a list or stack of matrices or a
        :class:`~unispectral.kernels.KernelBank`, which is used as it is.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
        Their sum is one.
    kernel_names_ : list of str
    """

    kernels: Any = parameter(default="paper")
    tol: float = non_negative(default=1e-5)

    def _prepare(self, X: object, run: Run) -> Kernels:
        bank = self._bank(X, run)
        self.kernel_names_ = list(bank.names)
        return Kernels(bank, run)


def kmeans(
    embedding: np.ndarray, n_clusters: int, rng: np.random.Generator, n_init: int, max_iter: int
) -> Partition:
    """Cluster the rows of an embedding."""
    model = KMeans(n_clusters, n_init=n_init, max_iter=max_iter, random_state=seed_from(rng))
    with warnings.catch_warnings():
        # Fewer distinct rows than clusters: the labels then simply use fewer of them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(embedding)
    labels = model.labels_.astype(np.int64)
    residual = _shift(embedding, labels, model.cluster_centers_)
    return Partition(labels, model.inertia_, model.n_iter_, model.n_iter_ < max_iter, residual)


def seed_from(rng: np.random.Generator) -> int:
    """A seed for a method of scikit-learn, which takes no Generator."""
    return int(rng.integers(2**31 - 1))


def _shift(embedding: np.ndarray, labels: np.ndarray, centres: np.ndarray) -> float:
    """How far the centres would still move, relative to the spread of the rows."""
    total = 0.0
    for j in np.unique(labels):
        total += float(((embedding[labels == j].mean(axis=0) - centres[j]) ** 2).sum())
    spread = float(embedding.var(axis=0).sum())
    if spread > 0.0:
        return total / spread
    return 0.0
