"""From outlier scores to outliers: a threshold that the scores themselves give.

The score of a sample grows with the distance to the neighbours that explain it. In samples of
Gaussian or heavier tails the logarithm of that distance falls off like an exponential, in bounded
ones faster; so that in sorted order each further doubling of the number of samples costs the same
step in the logarithm, or a larger one. Samples that belong nowhere lie above all others, and the
step between them and the rest is larger than it can be by chance. Where there is no such step, no
sample is an outlier, however high its score.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc

__all__ = ["find_thresholds"]

#: At most this share of the samples are outliers, and a step is larger than chance at this level.
_MOST, _LEVEL = 0.1, 0.001
#: Samples between the step and the median that tell how large a step is usual.
_LEAST = 20
#: Of the smallest score: what all samples have in common, because a code is never perfect.
_FLOOR = 0.99


def find_thresholds(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The score above which a sample of each cluster belongs to none; infinite without one.

    One threshold for all, unless most members of a cluster lie above it: such a cluster is sparse,
    and has a threshold of its own.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Larger is odder.
    labels : ndarray of shape (n,)
        Clusters as numbers from 0.

    Returns
    -------
    ndarray of shape (c,)

    Examples
    --------
    >>> scores = np.random.default_rng(0).lognormal(size=300)
    >>> find_thresholds(scores, np.zeros(300, dtype=int))
    array([inf])
    >>> scores[:5] += 1000
    >>> bool(5.0 < find_thresholds(scores, np.zeros(300, dtype=int))[0] < 1000)
    True
    """
    sizes = np.bincount(labels)
    common = _threshold(scores)
    above = np.bincount(labels, weights=scores > common, minlength=len(sizes))
    sparse = (sizes >= _LEAST) & (2 * above > sizes)
    if not sparse.any():
        return np.full(len(sizes), common)
    usual = ~sparse[labels]
    thresholds = np.full(len(sizes), _threshold(scores[usual]))
    for cluster in np.flatnonzero(sparse):
        thresholds[cluster] = _threshold(scores[labels == cluster])
    return thresholds


def _threshold(scores: np.ndarray) -> float:
    """The middle of the step between outliers and the rest; infinite if no step stands out.

    Of an exponential tail of scale s, exp((x₂ᵢ − xᵢ)/s) between the ranks i and 2i from the top
    has the distribution Beta(i, i). The scale is that of the ranks from 2i to the median, of which
    the higher ones count as censored.
    """
    n = len(scores)
    half = n // 2
    most = min(int(_MOST * n), (half - _LEAST) // 2)
    if most < 1:
        return np.inf
    floor = _FLOOR * scores.min()
    excess = np.maximum(scores - floor, np.finfo(float).tiny)
    falling = np.sort(np.log(excess))[::-1]
    ranks = np.arange(1, most + 1)
    doubled = 2 * ranks
    above_median = np.cumsum(falling[:half] - falling[half])
    between = above_median[half - 1] - above_median[doubled - 1]
    censored = doubled * (falling[doubled - 1] - falling[half])
    scale = (between + censored) / (half - doubled)
    step = falling[ranks - 1] - falling[doubled - 1]
    spread = scale > 0  # where half of the scores are equal, no step can be judged
    share = np.exp(-step / np.where(spread, scale, 1.0))
    chance = np.where(spread, betainc(ranks, ranks, share), 1.0)
    best = int(np.argmin(chance))
    # Ranks within an octave see the same step.
    if chance[best] * max(1.0, np.log2(most)) > _LEVEL:
        return np.inf
    tried = np.arange(ranks[best], doubled[best])
    count = tried[np.argmax(tried * (falling[tried - 1] - falling[tried]))]
    return float(floor + np.exp((falling[count - 1] + falling[count]) / 2))
