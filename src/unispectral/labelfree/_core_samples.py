"""Core samples first: clusters that thin samples between them would blur.

In a table of few columns, samples where the density is low beside that of their surroundings
(noise, the margins of clusters) form bridges in a graph. Clusters are then sought without them,
and they are labelled last, through the graph of all. Two judges must agree: the clusters have a
lower mean conductance than the first ones both without the thin samples and with them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.spatial import KDTree

from unispectral.graph.candidates import TREE_COLUMNS
from unispectral.graph.quality import normalized_cut
from unispectral.labelfree._geometry import KernelDistance

__all__ = ["by_core_samples", "core_samples"]

#: A sample is thin if the distance to this neighbour ...
_NEIGHBOR = 8
#: ... is so many times the lower quartile of the same of so many samples around it.
_THIN, _AROUND, _QUARTILE = 1.5, 50, 0.25
#: At most this share of the samples is thin: the thinnest.
_MOST_THIN = 0.2
#: More samples than this would take long; fewer say little about densities.
_MOST_SAMPLES, _LEAST_SAMPLES = 20_000, 4 * _AROUND
#: Clusters whose mean conductance is lower than this are clear without help.
_CLEAR = 2e-3
#: The mean conductance of the new clusters without the thin samples is at most this share of that
#: of the first; with them it is lower, too.
_CLEARER = 0.8
#: Steps by which labels spread to thin samples.
_STEPS = 50


def core_samples(distance: KernelDistance) -> np.ndarray | None:
    """Which samples are not thin; None where densities say nothing.

    Examples
    --------
    Noise between two dense groups:

    >>> from unispectral.kernels import KernelBank
    >>> from unispectral.labelfree._geometry import KernelPart
    >>> rng = np.random.default_rng(0)
    >>> table = np.vstack([rng.normal(0, 0.1, (200, 2)), rng.normal(3, 0.1, (200, 2)),
    ...                    rng.uniform(-1, 4, (40, 2))])
    >>> bank = KernelBank(table, ["linear"], normalize=None, gram=False)
    >>> core = core_samples(KernelDistance([KernelPart(bank, 0, 0)]))
    >>> bool(core[:400].mean() > 0.8), bool(core[400:].mean() < 0.2)
    (True, True)
    """
    columns, n = distance.n_columns, distance.n_samples
    if columns is None or columns > TREE_COLUMNS or not _LEAST_SAMPLES <= n <= _MOST_SAMPLES:
        return None
    table = distance.features()
    if table is None:
        return None
    table = table - table.mean(axis=0)
    # The first is the sample itself, or a copy of it; ties change nothing that counts here.
    distances, around = KDTree(table).query(table, _AROUND + 1)
    reach = distances[:, _NEIGHBOR]
    usual = np.quantile(reach[around[:, 1:]], _QUARTILE, axis=1)
    ratio = reach / np.maximum(usual, 1e-300)
    return ratio <= max(_THIN, float(np.quantile(ratio, 1.0 - _MOST_THIN)))


def by_core_samples(
    distance: KernelDistance,
    W: sp.csr_array,
    labels: np.ndarray,
    cluster: Callable[[KernelDistance], tuple[sp.csr_array, np.ndarray]],
) -> np.ndarray:
    """Labels found without thin samples, where both judges prefer them; else those given.

    ``W`` is the affinity of all samples before it was coupled with an embedding; ``cluster`` gives
    the affinity and the labels of some samples from their distance.
    """
    first = normalized_cut(W, labels)
    core = core_samples(distance) if first >= _CLEAR else None
    if core is None or core.all():
        return labels
    inside, found = cluster(distance.subset(np.flatnonzero(core)))
    if len(np.unique(found)) < len(np.unique(labels)):
        return labels
    if normalized_cut(inside, found) > _CLEARER * normalized_cut(inside, labels[core]):
        return labels
    trial = _spread(W, core, found)
    return labels if trial is None or normalized_cut(W, trial) >= first else trial


def _spread(W: sp.csr_array, core: np.ndarray, found: np.ndarray) -> np.ndarray | None:
    """The labels of core samples, spread to all along the graph; None if some are not reached."""
    n, thin = len(core), np.flatnonzero(~core)
    shares = np.zeros((n, int(found.max()) + 1))
    shares[np.flatnonzero(core), found] = 1.0
    edges = sp.csr_array(W[thin])
    edges = sp.csr_array(sp.diags_array(1.0 / np.maximum(edges.sum(axis=1), 1e-300)) @ edges)
    for _ in range(_STEPS):
        moved = edges @ shares
        change = float(np.abs(moved - shares[thin]).max())
        shares[thin] = moved
        if change < 1e-3:
            break
    return shares.argmax(axis=1) if shares.any(axis=1).all() else None
