"""Near-duplicates that crowd out all others: when a sample's candidates are copies of itself."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["crowding"]

#: A squared distance so many times the one before it is a step out of a mass of near-duplicates.
_STEP = 4.0
#: Squared distances below this share of their median are rounding in single precision.
_ROUNDING = 1e-6


def crowding(neighbourhoods: Any) -> float:
    """The share of samples more than half of whose candidates are their near-duplicates.

    The distances of a sample to its candidates grow evenly, unless the first are to copies of it:
    then there is a step. Where it comes late, only few candidates say what the sample is beside,
    and the graph of the masses hangs by threads. A mass that fills the list shows no step; it is
    a component of its own, which mending joins to others.

    Parameters
    ----------
    neighbourhoods : Neighbourhoods
        Or what stands for them on a cluster.

    Examples
    --------
    >>> from unispectral.labelfree._geometry import Neighbourhoods
    >>> far = np.array([[0.01, 0.01, 0.01, 0.9], [0.5, 0.6, 0.7, 0.8]])
    >>> crowding(Neighbourhoods("", np.zeros((2, 4), int), np.exp(-far), np.zeros((2, 4, 4)), -1))
    0.5
    """
    counts = neighbourhoods.map_rows(_crowded)
    return float(sum(counts) / max(len(neighbourhoods.neighbours), 1))


def _crowded(rows: slice, block: Any) -> int:
    """How many samples of a block are crowded."""
    half = block.near.shape[1] // 2
    with np.errstate(divide="ignore"):
        far = np.maximum(-np.log(block.near.astype(np.float64)), _ROUNDING)
    steps = (far[:, 1:] >= _STEP * far[:, :-1]) & block.valid[:, 1:]
    return int(steps[:, half:].any(axis=1).sum())
