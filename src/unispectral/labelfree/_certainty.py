"""How surely samples belong to their clusters: memberships that mean what they say.

The shares of clusters among the neighbours of a sample know where the border is, but not how far
clusters overlap there: labels change at the border at once, the clusters do not. That is told by
the null model. Two Gaussians of equal size whose centres are Δ standard deviations apart have a
density in the middle that is √(1 + Δ²/4) exp(−Δ²/8) of the density of one Gaussian as wide as
both, and the eigenvalues of a graph, as a share of those of such samples, follow the root of
that. So ``structure_`` tells Δ, by which Φ(−Δ/2) of the samples are on the wrong side of a
border. Samples are ranked by the shares among their neighbours, and the memberships that such
clusters have are given to them by their ranks.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, ndtr

from unispectral.labels import agree_with, smooth_shares

#: Separations that are told apart; two Gaussians closer than the first look like one.
_SEPARATIONS = np.linspace(1.3, 12.0, 400)
#: Distances from the border, in standard deviations, at which ranks are compared.
_DISTANCES = np.linspace(0.0, 12.0, 481)
#: Borders that a cluster has at most: in any direction there is one to each side.
_BORDERS = 2


def tell_separation(structure: float) -> float:
    """How many standard deviations apart clusters of this structure are.

    Examples
    --------
    >>> [round(tell_separation(structure), 1) for structure in (1.0, 0.86, 0.55, 0.0)]
    [1.3, 2.5, 4.0, 12.0]
    """
    half = 0.5 * _SEPARATIONS
    expected = np.sqrt(np.sqrt(1.0 + half**2) * np.exp(-0.5 * half**2))
    return float(np.interp(-structure, -expected, _SEPARATIONS))


def calibrate_memberships(W: sp.csr_array, labels: np.ndarray, structure: float) -> np.ndarray:
    """Memberships that are right as often as they say, by the structure of the clusters.

    ``W`` is the affinity before it was coupled with the labels, whose clusters are 0 … c − 1. No
    other cluster has more of a sample than that of its label.

    Examples
    --------
    Two chains that one edge joins; the ends are less sure:

    >>> path = sp.diags_array([np.ones(9)], offsets=[1], shape=(10, 10))
    >>> found = calibrate_memberships(sp.csr_array(path + path.T), np.repeat([0, 1], 5), 0.9)
    >>> bool(found[4, 0] < found[0, 0]), found.sum(axis=1).round(6).tolist() == [1.0] * 10
    (True, True)
    """
    count = int(labels.max()) + 1
    shares = smooth_shares(W, labels, count)
    if count < 2:
        return shares
    n = len(labels)
    own = shares[np.arange(n), labels]
    others = shares.copy()
    others[np.arange(n), labels] = 0.0
    # Equal margins have the same rank.
    margin = (own - others.max(axis=1)).round(12)
    _, level, members = np.unique(margin, return_inverse=True, return_counts=True)
    rank = (np.cumsum(members) - 0.5 * members)[level] / n
    separation = tell_separation(structure)
    half = 0.5 * separation
    nearer = ndtr(_DISTANCES - half) - ndtr(-_DISTANCES - half)
    distance = np.interp(rank / min(count - 1, _BORDERS), nearer, _DISTANCES)
    certainty = expit(separation * distance)
    # However far apart clusters are, a sample between two of them belongs to neither surely.
    certainty = np.minimum(certainty, own**2 / np.maximum(own**2 + (1.0 - own) ** 2, 1e-300))
    rest = others.sum(axis=1)
    others[rest <= 0] = 1.0
    others[np.arange(n), labels] = 0.0
    found = others * ((1.0 - certainty) / others.sum(axis=1))[:, None]
    found[np.arange(n), labels] = certainty
    return agree_with(found, labels)
