"""One result for every solver."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

__all__ = ["Solution"]


@dataclass
class Solution:
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
    work : dict
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
    work: dict[str, int] = field(default_factory=dict)
