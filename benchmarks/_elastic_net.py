"""Elastic-net subspace clustering, written from its paper as a peer for the benchmark.

C. You, C.-G. Li, D. P. Robinson and R. Vidal, Oracle based active set algorithm for scalable
elastic net subspace clustering, CVPR 2016. The small problems are scikit-learn's compiled
coordinate descent; no package with this method is published on the Python index.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path
from sklearn.preprocessing import normalize


def elastic_net_codes(
    X: np.ndarray,
    *,
    balance: float = 0.95,
    strength: float = 50.0,
    gamma: float | None = None,
    positive: bool = False,
    first: int = 100,
    max_rounds: int = 40,
    tol: float = 1e-4,
) -> sp.csr_array:
    """Codes of all samples over the others, by the oracle-guided active set.

    Sample j minimises λ‖c‖₁ + (1 − λ)/2 ‖c‖² + γ/2 ‖x_j − Xᵀc‖² with c_j = 0, λ = `balance` and
    γ = `strength` times the smallest value that gives a code other than zero. Only samples that
    correlate with the oracle point γ(x_j − Xᵀc) by more than λ can be in the code, so the problem
    is solved on a small set that is replaced by those samples until it holds no new one.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows are scaled to unit length here.
    balance, strength : float
        λ and the multiple that gives γ; the values of the paper's experiments.
    gamma : float, optional
        One γ for all samples, instead of the multiple.
    positive : bool
        Ask for c ≥ 0. With `balance` 1 and `gamma` 2/α this is the unispectral Z-step without its
        spectral term, on the cosine kernel: the same problem for both.
    first : int
        Size of the first set: the samples with the largest |x_iᵀx_j|.
    max_rounds : int
        Limit on the number of sets.
    tol : float
        Relative duality gap of the small problems.

    Returns
    -------
    CSR array of shape (n, n)
        Row j is the code of sample j.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    >>> abs(elastic_net_codes(X)).argmax(axis=1).tolist()
    [1, 0, 3, 2]
    """
    X = np.asfortranarray(normalize(X).T)  # samples are columns, as the small solver wants them
    gram = X.T @ X
    rows = []
    for j in range(X.shape[1]):
        towards = _strength(gram[j], j, positive)
        largest = towards.max()
        if largest <= 0.0:
            rows.append((np.empty(0, dtype=np.int64), np.empty(0)))
            continue
        own = _Problem(j, balance, gamma or strength * balance / largest, positive, tol)
        rows.append(_one_code(X, gram, towards, own, min(first, len(gram) - 1), max_rounds))
    counts = [len(support) for support, _ in rows]
    return sp.csr_array(
        (
            np.concatenate([values for _, values in rows]),
            np.concatenate([support for support, _ in rows]),
            np.concatenate([[0], np.cumsum(counts)]),
        ),
        shape=gram.shape,
    )


class _Problem(NamedTuple):
    sample: int
    balance: float
    gamma: float
    positive: bool
    tol: float


def _strength(correlation: np.ndarray, sample: int, positive: bool) -> np.ndarray:
    """How strongly every other sample asks to be used; its own place is zero."""
    strength = correlation.copy() if positive else np.abs(correlation)
    strength[sample] = 0.0
    return strength


def _one_code(
    X: np.ndarray,
    gram: np.ndarray,
    towards: np.ndarray,
    problem: _Problem,
    first: int,
    max_rounds: int,
) -> tuple[np.ndarray, np.ndarray]:
    j, balance, gamma, positive, _ = problem
    towards[j] = -np.inf
    support = np.argpartition(towards, -first)[-first:]
    for _ in range(max_rounds):
        values = _small_problem(X, gram, support, problem)
        used = values != 0
        oracle = gamma * (gram[j] - values[used] @ gram[support[used]])
        wanted = np.flatnonzero(_strength(oracle, j, positive) > balance * (1.0 + 1e-3))
        if not np.setdiff1d(wanted, support, assume_unique=True).size:
            break
        support = np.union1d(wanted, support[used])
    return support[used], values[used]


def _small_problem(
    X: np.ndarray, gram: np.ndarray, support: np.ndarray, problem: _Problem
) -> np.ndarray:
    # scikit-learn divides the squared error by the number of rows of its X, here the features.
    penalty = 1.0 / (problem.gamma * X.shape[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, coefficients, _ = enet_path(
            X[:, support],
            X[:, problem.sample],
            l1_ratio=problem.balance,
            alphas=[penalty],
            precompute=np.ascontiguousarray(gram[np.ix_(support, support)]),
            Xy=gram[support, problem.sample],
            positive=problem.positive,
            check_input=False,
            tol=problem.tol,
        )
    return coefficients[:, 0]


class ElasticNetSubspaceClustering(ClusterMixin, BaseEstimator):
    """Spectral clustering on the graph of elastic-net codes.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    balance, strength : float
        See :func:`elastic_net_codes`.
    random_state : int, RandomState instance or None
        Seed of the k-means step.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.8, 0.1], [0.0, 1.0], [0.1, 0.9], [0.1, 0.8]])
    >>> labels = ElasticNetSubspaceClustering(2, random_state=0).fit_predict(X)
    >>> len(set(labels[:3])), len(set(labels[3:]))
    (1, 1)
    """

    def __init__(self, n_clusters=8, *, balance=0.95, strength=50.0, random_state=None):
        self.n_clusters = n_clusters
        self.balance = balance
        self.strength = strength
        self.random_state = random_state

    def fit(self, X, y=None):
        """Learn the codes, then cut their graph."""
        codes = elastic_net_codes(
            np.asarray(X, dtype=np.float64), balance=self.balance, strength=self.strength
        )
        magnitudes = normalize(abs(codes), norm="l2")
        self.representation_matrix_ = codes
        self.affinity_matrix_ = sp.csr_matrix(0.5 * (magnitudes + magnitudes.T))
        with warnings.catch_warnings():
            # The learned graph may have several components, which is what the method hopes for.
            warnings.filterwarnings("ignore", message="Graph is not fully connected")
            self.labels_ = SpectralClustering(
                self.n_clusters, affinity="precomputed", random_state=self.random_state
            ).fit_predict(self.affinity_matrix_)
        return self
