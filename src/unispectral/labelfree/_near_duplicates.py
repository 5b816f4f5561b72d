"""Near-duplicates that leave no room: samples most of whose candidates are copies of them."""

from __future__ import annotations

import numpy as np

from unispectral._run import Run
from unispectral.labelfree._neighbourhoods import LocalNeighbourhoods, Neighbourhoods

__all__ = ["near_duplicate_share"]

#: A squared distance so many times the one before it is a step out of a mass of near-duplicates.
_STEP = 4.0
#: Squared distances below this share of their median are rounding in single precision.
_ROUNDING = 1e-6


def near_duplicate_share(neighbourhoods: Neighbourhoods, run: Run | None = None) -> float:
    """The share of samples more than half of whose candidates are their near-duplicates.

    The distances of a sample to its candidates grow evenly, unless the first are to copies of it:
    then there is a step. Where it comes late, only few candidates say what the sample is beside,
    and the graph of the groups of copies hangs by threads. A group that fills the list shows no
    step; it is a component of its own, which component repair joins to others.

    Examples
    --------
    >>> far = np.array([[0.01, 0.01, 0.01, 0.9], [0.5, 0.6, 0.7, 0.8]])
    >>> near_duplicate_share(
    ...     LocalNeighbourhoods(np.zeros((2, 4), int), np.exp(-far), np.zeros((2, 4, 4)), -1)
    ... )
    0.5
    """
    counts = neighbourhoods.map_rows(_count, run=run)
    return float(sum(counts) / max(len(neighbourhoods.neighbours), 1))


def _count(rows: slice, block: LocalNeighbourhoods) -> int:
    """How many samples of a block have mostly near-duplicates."""
    half = block.near.shape[1] // 2
    with np.errstate(divide="ignore"):
        far = np.maximum(-np.log(block.near[:, half:].astype(np.float64)), _ROUNDING)
    steps = (far[:, 1:] >= _STEP * far[:, :-1]) & (block.neighbours[:, half + 1 :] >= 0)
    return int(steps.any(axis=1).sum())
