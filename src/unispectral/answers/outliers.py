"""From outlier scores to outliers: a threshold that the scores themselves give.

The score of a sample grows with the distance to the neighbours that explain it. In samples of
Gaussian or heavier tails the logarithm of that distance falls off like an exponential, in bounded
ones faster. Samples that belong nowhere are too many for such a tail, in one of two ways: they lie
above all others, with a step between them and the rest that is larger than it can be by chance; or
they lie close together, and fade into the rest. Where there is neither, no sample is an outlier,
however high its score.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, ndtr
from scipy.stats import chi2

__all__ = ["find_thresholds"]

#: At most this share of the samples are outliers, and they are too many for chance at this level.
_MOST, _LEVEL = 0.1, 0.001
#: The usual step is told by samples down to this multiple of the rank of the step, at least so
#: many, and once more by all down to the median.
_BODY, _LEAST = 16, 20
#: Of the smallest score: what all samples have in common, because a code is never perfect.
_FLOOR = 0.995
#: Equal scores have no tail: one that is shorter than this is taken as so long.
_SHORTEST = 1e-6
#: Of outliers that fade into the rest: starts of the mixture, as shares of the upper half, its
#: iterations, its narrowest spread, and the share of outliers among those above the threshold.
_STARTS, _ITERATIONS, _NARROWEST, _PURE = (0.02, 0.07, 0.15), 60, 0.2, 0.6
#: The mixture has three numbers more than the tail; so many values tell them well enough.
_MORE_NUMBERS, _VALUES = 3, 2_000


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
    """Where outliers begin, by a step or by their number; infinite if there are none."""
    half = len(scores) // 2
    most = min(int(_MOST * len(scores)), (half - _LEAST) // 2)
    if most < 1:
        return np.inf
    floor = _FLOOR * scores.min()
    excess = np.maximum(scores - floor, np.finfo(float).tiny)
    falling = np.sort(np.log(excess))[::-1]
    found = _find_step(falling, half, most)
    if np.isinf(found):
        found = _find_crowd(falling[:half], falling[half])
    return float(floor + np.exp(found))


def _find_step(falling: np.ndarray, half: int, most: int) -> float:
    """The middle of the step between outliers and the rest; infinite if no step stands out.

    Of an exponential tail the differences between neighbours in sorted order, each multiplied by
    its rank from the top, are independent and exponential of one scale. One of them, or the sum of
    those from rank i to 2i − 1, as a share of itself and the sum over the next ranks, has then
    a beta distribution; in a lighter tail it is smaller.
    """
    steps = np.arange(1, half) * (falling[: half - 1] - falling[1:half])
    ranks = np.arange(1, most + 1)
    single = most * _chances(steps, ranks, ranks)
    # Ranks within half an octave see the same step.
    octave = max(1.0, 2.0 * np.log2(most)) * _chances(steps, ranks, 2 * ranks - 1)
    if min(single.min(), octave.min()) > _LEVEL / 2:
        return np.inf
    if single.min() <= octave.min():
        count = int(ranks[np.argmin(single)])
    else:
        first = int(ranks[np.argmin(octave)])
        tried = np.arange(first, 2 * first)
        count = int(tried[np.argmax(steps[tried - 1])])
    return float((falling[count - 1] + falling[count]) / 2)


def _chances(steps: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """How likely the steps of the ranks from first to last are in an exponential tail."""
    total = np.concatenate([[0.0], np.cumsum(steps)])
    step = total[last] - total[first - 1]
    near = np.minimum(len(steps), np.maximum(_BODY * first, last + _LEAST))
    chances = []
    for end in (near, np.full(len(last), len(steps))):
        body = total[end] - total[last]
        spread = body > 0  # where these scores are equal, no step can be judged
        share = np.where(spread, body / np.where(spread, step + body, 1.0), 1.0)
        chances.append(betainc(end - last, last - first + 1, share))
    return np.minimum(*chances)


def _find_crowd(upper: np.ndarray, median: float) -> float:
    """Where scores that crowd together begin to outnumber the tail of the rest; else infinite.

    The scores above the median are an exponential tail, or such a tail and a normal part of at
    most a tenth of all samples; the likelihoods of the two are compared.
    """
    every = -(-len(upper) // _VALUES)
    x = upper[::every] - median
    if np.count_nonzero(x) < _LEAST:
        return np.inf
    plain = -len(x) * (1.0 + np.log(x.mean()))
    fits = [_fit_crowd(x, share) for share in _STARTS]
    gain, share, centre, spread, scale = max(fits)
    if 2.0 * (gain - plain) < chi2.isf(_LEVEL, _MORE_NUMBERS) or share > 2.0 * _MOST:
        return np.inf
    grid = np.linspace(0.0, centre, 500)
    rest = (1.0 - share) / scale * np.exp(-grid / scale)
    fewer = share * _normal(grid, centre, spread) < rest
    start = grid[fewer][-1] if fewer.any() else 0.0
    crowd = share * ndtr((centre - start) / spread)
    rest_above = (1.0 - share) * np.exp(-start / scale)
    if crowd < _PURE * (crowd + rest_above):
        return np.inf
    return float(median + start)


def _fit_crowd(x: np.ndarray, share: float) -> tuple[float, float, float, float, float]:
    """Expectation and maximisation: log-likelihood, share, centre, spread, scale of the tail."""
    centre = float(np.quantile(x, 1.0 - share))
    spread = max(float(x.max() - centre) / 2.0, _NARROWEST)
    scale = max(float(np.minimum(x, centre).mean()), _SHORTEST)
    for _ in range(_ITERATIONS):
        rest = (1.0 - share) / scale * np.exp(-x / scale)
        crowd = share * _normal(x, centre, spread)
        part = crowd / (crowd + rest)
        weight = max(float(part.sum()), 1.0)
        share = weight / len(x)
        centre = float(part @ x) / weight
        spread = max(float(np.sqrt(part @ (x - centre) ** 2 / weight)), _NARROWEST)
        tail = float((1.0 - part) @ x) / max(len(x) - weight, 1.0)
        scale = max(tail, _SHORTEST)
    rest = (1.0 - share) / scale * np.exp(-x / scale)
    crowd = share * _normal(x, centre, spread)
    return float(np.log(rest + crowd).sum()), share, centre, spread, scale


def _normal(x: np.ndarray, centre: float, spread: float) -> np.ndarray:
    return np.exp(-0.5 * ((x - centre) / spread) ** 2) / (spread * np.sqrt(2.0 * np.pi))
