"""New points: their codes over the training points, and where that puts them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unispectral.kernels import KernelBank

__all__ = ["Placement", "place"]

#: Training points that a new point may use: those nearest to it in kernel space.
CANDIDATES = 64


class Placement(NamedTuple):
    """Where new points are.

    Attributes
    ----------
    neighbours : ndarray of shape (m, k)
        Training points that each new point may use.
    codes : ndarray of shape (m, k)
        How much it uses each.
    twin : ndarray of shape (m,)
        The training point that coincides with it, or −1.
    """

    neighbours: np.ndarray
    codes: np.ndarray
    twin: np.ndarray

    def average(self, values: np.ndarray) -> np.ndarray:
        """The mean of a training quantity over each new point's code; a twin's own value."""
        total = self.codes.sum(axis=1, keepdims=True)
        # A point that no code explains is placed at its nearest training point.
        lonely = total[:, 0] <= 0
        shares = self.codes / np.where(total > 0, total, 1)
        shares[lonely, 0] = 1.0
        mean = np.einsum("mk,mkc->mc", shares, values[self.neighbours])
        known = self.twin >= 0
        mean[known] = values[self.twin[known]]
        return mean


def place(
    bank: KernelBank,
    weights: np.ndarray,
    near: np.ndarray,
    own: np.ndarray,
    *,
    alpha: float,
    ridge: float,
    tol: float = 1e-6,
) -> Placement:
    """Solve each new point's lasso over the training points nearest to it in kernel space.

    Parameters
    ----------
    bank : KernelBank
        The kernels of the training points.
    weights : ndarray of shape (r,)
        The learned kernel weights.
    near : ndarray of shape (m, n)
        The weighted kernel between new and training points.
    own : ndarray of shape (m,)
        The weighted kernel of each new point with itself.
    alpha, ridge : float
        As in the Z-step; a new point has no embedding yet, so that there is no spectral price.
    """
    from unispectral.graph import _loops

    m, n = near.shape
    k = min(CANDIDATES, n)
    # The nearest first: k(x,x) − 2k(x,j) + k(j,j) in order, ties to the earlier sample.
    distance = bank.combine_diagonal(weights)[None, :] - 2.0 * near
    part = (
        np.argpartition(distance, k - 1, axis=1)[:, :k] if k < n else np.tile(np.arange(n), (m, 1))
    )
    part.sort(axis=1)
    order = np.argsort(np.take_along_axis(distance, part, axis=1), axis=1, kind="stable")
    neighbours = np.take_along_axis(part, order, axis=1)
    _, among = bank.combine_neighbourhoods(weights, neighbours[:, 0], neighbours)
    to = np.take_along_axis(near, neighbours, axis=1).astype(np.float64)
    codes = np.zeros((m, k))
    prices = np.full((m, k), float(alpha))
    valid = np.ones((m, k), dtype=bool)
    _loops.solve_blocks(
        among.astype(np.float64),
        to,
        own.astype(np.float64),
        prices,
        valid,
        float(ridge),
        codes,
        float(tol),
    )
    gap = own + np.take_along_axis(distance, neighbours[:, :1], axis=1)[:, 0]
    close = (1e-10 if near.dtype == np.float64 else 1e-5) * np.maximum(np.abs(own), 1e-300)
    return Placement(neighbours, codes, np.where(gap <= close, neighbours[:, 0], -1))
