"""Affinity aggregation for spectral clustering."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg
from scipy.optimize import brentq

from unispectral._compat import Interval, StrOptions, fit_context
from unispectral.baselines._base import Kernels, KernelsMethod
from unispectral.baselines._draws import as_draws
from unispectral.baselines._kmeans import kmeans
from unispectral.baselines._root import dogleg_root
from unispectral.baselines._spectral import laplacian_eigenvectors, unit_rows

__all__ = ["AASC", "Aggregation", "aggregate", "best_coefficients", "coefficients_at"]

#: Rounds of embedding and coefficients in the record.
_ROUNDS = 20


class AASC(KernelsMethod):
    """Affinity aggregation spectral clustering (Huang, Chuang and Chen, CVPR 2012, 773–780).

    Spectral clustering of a sum of affinities Σ v_r² W_r. Coefficients v and embedding are found
    in turn: given the second eigenvector, v minimises the cut Σ v_r² β_r subject to Σ v_r = 1 and
    Σ α_r v_r² = 1. Then k-means on the unit rows of the eigenvectors.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernels : "paper", list of kernels, or "precomputed", default="paper"
        See :func:`unispectral.kernels.as_kernels`; ``"paper"`` is the paper's twelve. With
        ``"precomputed"``, ``fit`` takes a list or stack of matrices or a
        :class:`~unispectral.kernels.KernelBank`, which is used as it is.
    normalize : {"cosine", "center", "trace", "none"} or tuple of them, default="cosine"
        Applied to the kernels.
    root : "best" or float, default="best"
        Which stationary point of the problem in v to take. ``"best"`` is its global minimum. A
        number is the start of a search for the multiplier, whose root is taken whatever its
        objective, as the published code does; the record used -1 (YALE) and 1 (the texts). On the
        paper's data the search from 1 ends with positive coefficients for all kernels, while the
        global minimum gives everything to an affinity close to the identity: with such kernels
        (narrow Gaussians) take 1, or leave them out.
    n_init : int, default=10
        Random starts of k-means.
    max_iter : int, default=20
        Rounds of embedding and coefficients.
    tol : float, default=1e-5
        The rounds end when the squared change of the embedding is below this.
    random_state : int, RandomState, Generator or None, default=None
        The starts of k-means.
    recorded : bool, default=False
        Repeat the published record: its k-means and random numbers (``random_state=None`` begins
        its stream, a ``RandomState`` continues one), and negative similarities, which count as
        none otherwise.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    kernel_weights_ : ndarray of shape (n_kernels,)
        The coefficients v_r² of the sum.
    kernel_names_ : list of str
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows.
    objective_ : float
        Of k-means.
    n_iter_ : int
        Rounds.
    converged_ : bool
        Whether the rounds ended before ``max_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> model = AASC(2, kernels=["rbf", "laplacian"], random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3])
    True
    """

    _parameter_constraints = {
        **KernelsMethod._parameter_constraints,
        "root": [StrOptions({"best"}), Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    _definite = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: Any = "paper",
        normalize: Any = "cosine",
        root: str | float = "best",
        n_init: int = 10,
        max_iter: int = _ROUNDS,
        tol: float = 1e-5,
        random_state: Any = None,
        recorded: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.normalize = normalize
        self.root = root
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.recorded = recorded

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features), or the kernels
        y : ignored

        Returns
        -------
        self
        """
        found = aggregate(
            self._kernels(X),
            self.n_clusters,
            root=self.root,
            max_iter=self.max_iter,
            tol=self.tol,
            recorded=self.recorded,
        )
        self.kernel_weights_ = found.coefficients**2
        self.embedding_ = unit_rows(found.vectors)
        partition = kmeans(
            self.embedding_,
            self.n_clusters,
            as_draws(self.random_state, self.recorded),
            n_init=self.n_init,
            max_iter=1000,
            recorded=self.recorded,
        )
        self._keep(
            partition._replace(
                n_iter=found.n_iter, converged=found.converged, residual=found.residual
            )
        )
        return self


class Aggregation(NamedTuple):
    """Eigenvectors of the aggregated Laplacian and the coefficients v that belong to them."""

    vectors: np.ndarray
    coefficients: np.ndarray
    n_iter: int
    converged: bool
    residual: float


def aggregate(
    kernels: Kernels,
    n_clusters: int,
    *,
    root: str | float = "best",
    max_iter: int = _ROUNDS,
    tol: float = 1e-5,
    recorded: bool = False,
) -> Aggregation:
    """Find embedding and coefficients in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.kernels import KernelBank
    >>> W = np.kron(np.eye(2), np.ones((2, 2)))
    >>> kernels = Kernels(KernelBank.precomputed([W, np.ones((4, 4))]))
    >>> aggregate(kernels, 2).coefficients.sum().round(6)
    np.float64(1.0)
    """
    affinities = _Affinities(kernels, keep_negative=recorded)
    v = np.full(len(kernels), 1.0 / len(kernels))
    vectors, converged, n_iter = None, False, 0
    while True:
        last = vectors
        W = affinities.combine(v**2)
        _, found = laplacian_eigenvectors(W, max(n_clusters, 2), complete=recorded)
        vectors = found[:, :n_clusters]
        n_iter += 1
        residual = np.inf if last is None else _change(vectors, last, recorded)
        converged = residual < tol
        if converged or n_iter >= max_iter:
            return Aggregation(vectors, v, n_iter, converged, residual)
        alpha, beta = affinities.volumes_and_cuts(found[:, 1])
        if isinstance(root, str):
            v = best_coefficients(alpha, beta)
        else:
            v = coefficients_at(alpha, beta, float(root))


def _change(vectors: np.ndarray, last: np.ndarray, recorded: bool) -> float:
    if recorded:
        return float(((np.abs(vectors) - np.abs(last)) ** 2).sum())
    # Between the projections on the two subspaces: blind to signs and rotations.
    return 2.0 * (vectors.shape[1] - float(((vectors.T @ last) ** 2).sum()))


class _Affinities:
    """The kernels as affinities: without their negative entries, unless these are wanted."""

    def __init__(self, kernels: Kernels, keep_negative: bool) -> None:
        self.kernels = kernels
        self.keep_negative = keep_negative
        self.degrees = np.stack(
            [self._matrix(r).sum(axis=1, dtype=np.float64) for r in range(len(kernels))]
        )

    def _matrix(self, r: int) -> np.ndarray:
        K = self.kernels.matrix(r)
        return K if self.keep_negative else np.maximum(K, 0)

    def combine(self, weights: np.ndarray) -> np.ndarray:
        if self.keep_negative:
            return self.kernels.combine(weights)
        total = np.zeros((self.kernels.n_samples, self.kernels.n_samples))
        for r, weight in enumerate(weights):
            if weight:
                total += weight * self._matrix(r)
        return total

    def volumes_and_cuts(self, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """α_r = gᵀD_r g and β_r = gᵀL_r g."""
        alpha = self.degrees @ g**2
        inner = np.array([g @ (self._matrix(r) @ g) for r in range(len(self.kernels))])
        return alpha, alpha - inner


def coefficients_at(alpha: np.ndarray, beta: np.ndarray, start: float) -> np.ndarray:
    """The stationary point whose multiplier λ is found from ``start``.

    ``v_r = μ / ((γ_r − λ) α_r)``, γ = β/α, μ such that Σ v_r = 1, and λ a root of
    ``|(Σ 1/((γ−λ)α))² / Σ 1/((γ−λ)²α)| = 1``, which is Σ α_r v_r² = 1.

    Examples
    --------
    >>> import numpy as np
    >>> v = coefficients_at(np.array([1.0, 2.0, 1.5]), np.array([0.2, 0.1, 0.3]), 1.0)
    >>> bool(np.isclose(v.sum(), 1) and np.isclose(np.array([1.0, 2.0, 1.5]) @ v**2, 1))
    True
    """
    gamma = beta / alpha

    def excess(multiplier: float) -> float:
        terms = 1.0 / ((gamma - multiplier) * alpha)
        return float(abs(terms.sum() ** 2 / (alpha @ terms**2)) - 1.0)

    with np.errstate(divide="ignore", invalid="ignore"):
        terms = 1.0 / ((gamma - dogleg_root(excess, start)) * alpha)
        v = terms / terms.sum()
    if not np.isfinite(v).all():
        raise ValueError(
            f"root={start!r} leads to a multiplier without coefficients for these kernels; "
            "use root='best' or another start."
        )
    return v


def best_coefficients(alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The v with Σ v_r = 1 and Σ α_r v_r² = 1 for which Σ β_r v_r² is smallest.

    With u = √α v this is a quadratic form on the intersection of a sphere and a plane, that is on
    a smaller sphere, where the global minimum has its multiplier below the smallest eigenvalue.
    If no v satisfies both constraints, the one with the smallest Σ α_r v_r² is taken.

    Examples
    --------
    >>> import numpy as np
    >>> v = best_coefficients(np.array([1.0, 2.0, 1.5]), np.array([0.2, 0.1, 0.3]))
    >>> bool(np.isclose(v.sum(), 1) and np.isclose(np.array([1.0, 2.0, 1.5]) @ v**2, 1))
    True
    """
    # An affinity that g does not see at all has neither volume nor cut; keep it finite.
    alpha = np.maximum(alpha, np.finfo(np.float64).eps * max(alpha.max(), 1e-100))
    scale = np.sqrt(alpha)
    plane = 1.0 / scale
    centre = plane / (plane @ plane)
    radius = np.sqrt(max(1.0 - 1.0 / (plane @ plane), 0.0))
    if len(alpha) == 1 or radius == 0.0:
        return centre / scale
    basis = scipy.linalg.null_space(plane[None, :])
    gamma = beta / alpha
    values, rotation = np.linalg.eigh(basis.T @ (gamma[:, None] * basis))
    linear = rotation.T @ (basis.T @ (gamma * centre))
    w = _smallest_on_sphere(values, linear, radius)
    return (centre + basis @ (rotation @ w)) / scale


def _smallest_on_sphere(values: np.ndarray, linear: np.ndarray, radius: float) -> np.ndarray:
    """Minimise Σ values w² + 2 linear·w over ‖w‖ = radius; ``values`` ascend."""
    length = float(np.linalg.norm(linear))
    small = 1e-12 * max(float(np.abs(values).max()) * radius, length, 1e-300)
    gaps = values - values[0]
    rest = np.where(gaps > 1e-12 * max(gaps[-1], 1e-300), -linear / np.where(gaps, gaps, 1.0), 0.0)
    if abs(linear[0]) <= small:
        if (missing := radius**2 - rest @ rest) >= 0.0:
            rest[0] += np.sqrt(missing)
            return rest
        linear = linear.copy()
        linear[0] = 0.0

    def shortage(below: float) -> float:
        w = linear / (gaps + below)
        return 1.0 / max(float(np.linalg.norm(w)), 1e-300) - 1.0 / radius

    upper = length / radius
    lower = abs(linear[0]) / radius
    if shortage(upper) <= 0.0:
        below = upper
    elif lower > 0.0 and shortage(lower) >= 0.0:
        below = lower
    else:
        below = brentq(shortage, max(lower, 1e-300), upper, xtol=1e-300, rtol=1e-14)
    w = -linear / (gaps + below)
    return w * (radius / np.linalg.norm(w))
