"""What solvers and models hand on: one record for each stage of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from unispectral.predict import Predictor


class Solution(NamedTuple):
    """Where a solver stopped, and why.

    Attributes
    ----------
    Z : CSR array of shape (n, n)
        The graph; column i is the code of sample i.
    W : CSR array of shape (n, n)
        Its affinity, (Z + Zᵀ)/2.
    P : ndarray of shape (n, c)
        The continuous labels.
    Q : ndarray of shape (c, c)
        The rotation.
    labels : ndarray of shape (n,)
        The discrete labels, F as numbers.
    weights : ndarray of shape (r,)
        The kernel weights.
    objective : list of float
        One value per iteration.
    n_iter : int
    converged : bool
    reason : str
        Why the solver stopped, in words.
    kkt : float
        The largest failure of the optimality conditions of the codes, relative to K_ii.
    eigenvalues : ndarray
        The smallest eigenvalues of the Laplacian of the graph.
    work : mapping
        Machine-independent counts of the work done.
    """

    Z: sp.csr_array
    W: sp.csr_array
    P: np.ndarray
    Q: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    objective: list[float]
    n_iter: int
    converged: bool
    reason: str
    kkt: float
    eigenvalues: np.ndarray
    work: Mapping[str, int] = MappingProxyType({})


class Fitted(NamedTuple):
    """What a model hands to its estimator; those with defaults are of the label-free one.

    Attributes
    ----------
    solution : Solution
    predictor : Predictor
        How new samples are described; all that is kept of the training samples.
    kernel_names : tuple of str
        In the order of the weights.
    kernel_views : tuple of int
        The view of each kernel.
    geometry_weights : dict
        The weight of each geometry, by name.
    outlier_score : ndarray of shape (n,)
    kernel_agreement : ndarray of shape (r,) or None
        The modularity of the clusters on each kernel's own graph.
    agreement : float or None
        How much candidates of other kinds agree with the labels.
    structure : float or None
        How clear the clusters are beside those of samples without clusters.
    cluster_count : ClusterCount or None
        Why there are so many clusters, where their number was sought.
    diagnostics : tuple of str
        What speaks against the clusters, in sentences.
    cluster_names : list of str or None
        Where samples of known classes name the clusters, which are then in their order.
    copies : int array of shape (n,) or None
        The first sample with the same rows, of each; the predictor has these alone. None where it
        has all.
    membership : ndarray of shape (n, c) or None
        How surely samples belong to the clusters, in the order of the labels; None leaves it to
        the graph or to the embedding.
    """

    solution: Solution
    predictor: Predictor
    kernel_names: tuple[str, ...]
    kernel_views: tuple[int, ...]
    geometry_weights: dict[str, float]
    outlier_score: np.ndarray
    kernel_agreement: np.ndarray | None = None
    agreement: float | None = None
    structure: float | None = None
    cluster_count: Any = None
    diagnostics: tuple[str, ...] = ()
    cluster_names: list[str] | None = None
    copies: np.ndarray | None = None
    membership: np.ndarray | None = None
