"""The weighted sum of many kernels of one table, in one pass over its dot products.

Kernels that are functions of the same two numbers share their costly parts: powers of one dot
product add up to one polynomial, wide Gaussians to another in the distance, and a narrow Gaussian
is a power of a wider one where the squares of their widths are in an integer ratio.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unispectral.kernels._bound import BoundKernel
from unispectral.kernels._features import Features
from unispectral.kernels._specs import _gaussian, _polynomial, dot

#: Gaussians whose exponent is nowhere larger are summed up as a polynomial of the distance.
_WIDE = 4.0
#: Largest power by which one Gaussian is made from another; the error grows with it.
_POWER = 64


class SumRule(NamedTuple):
    """How to reckon Σ wᵣKᵣ from a dot product and two squared norms; polynomials from the top."""

    #: One over the middle of the squared distances d²: numbers of any scale come near one.
    unit: float
    #: The wide Gaussians as a polynomial of unit · d² − 1, or nothing.
    wide: np.ndarray
    #: Of narrow Gaussians: exponent per d², or power of the one before (0 for none), and weight.
    rates: np.ndarray
    powers: np.ndarray
    shares: np.ndarray
    #: Polynomials of (offset + slope · x·y) times a root for each of the two samples (m, n).
    offsets: np.ndarray
    slopes: np.ndarray
    roots: np.ndarray
    coefficients: np.ndarray


def sum_rule(kernels: Sequence[BoundKernel], weights: np.ndarray) -> SumRule | None:
    """How to reckon a weighted sum of kernels on one table, or None where each is taken by itself.

    It knows Gaussian, linear and polynomial kernels, as they are or divided by factors of the two
    samples; a centred kernel is not among them.
    """
    if len(kernels) < 2 or not kernels[0].features.has_gram:
        return None
    features = kernels[0].features
    gaussians: dict[float, float] = {}
    bases: dict[tuple[float, float, bool], dict[int, float]] = {}
    for kernel, weight in zip(kernels, weights, strict=True):
        steps = kernel.normalizer.steps
        if kernel.features is not features or "center" in steps:
            return None
        weight = float(weight) * math.prod(
            constant
            for step, constant in zip(steps, kernel.normalizer.constants, strict=True)
            if step in ("trace", "max")
        )
        rule = kernel.evaluate
        function = getattr(rule, "func", rule)
        numbers = getattr(rule, "keywords", {})
        if function is _gaussian:
            rate = numbers["rate"]
            gaussians[rate] = gaussians.get(rate, 0.0) + weight
        elif function in (dot, _polynomial):
            base = numbers.get("offset", 0.0), numbers.get("scale", 1.0), "cosine" in steps
            powers = bases.setdefault(base, {})
            degree = numbers.get("degree", 1)
            powers[degree] = powers.get(degree, 0.0) + weight
        else:
            return None
    if gaussians and features.nearby is not None:
        return None  # their distances are those of another table
    dots = _dot_products(bases, features)
    if dots is None:
        return None
    return SumRule(*_gaussians(gaussians, features), *dots)


def _gaussians(
    weights: dict[float, float], features: Features
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The wide ones as a Taylor polynomial around half the largest distance, the others listed."""
    largest = 4.0 * float(features.squared_norms.max(initial=0.0))  # ‖x − y‖² ≤ (‖x‖ + ‖y‖)²
    centre = largest / 2
    if centre > np.finfo(np.float64).tiny:
        unit = 1.0 / centre
    else:
        unit = 0.0
    ordered = sorted(weights, reverse=True)
    wide = [rate for rate in ordered if -rate * largest <= _WIDE]
    narrow = ordered[len(wide) :]
    terms = 1
    if wide:
        reach = -wide[-1] * centre
    else:
        reach = 0.0
    while reach**terms / math.factorial(terms) > 1e-18:
        terms += 1
    polynomial = [
        sum(weights[rate] * math.exp(rate * centre) * (rate * centre) ** power for rate in wide)
        / math.factorial(power)
        for power in reversed(range(terms))
    ]
    powers = [0]
    for before, rate in itertools.pairwise(narrow):
        ratio = rate / before
        whole = round(ratio)
        powers.append(whole if whole <= _POWER and abs(ratio - whole) <= 1e-12 * ratio else 0)
    return (
        unit,
        np.array(polynomial if wide else [], dtype=np.float64),
        np.array(narrow, dtype=np.float64),
        np.array(powers[: len(narrow)], dtype=np.int64),
        np.array([weights[rate] for rate in narrow], dtype=np.float64),
    )


def _dot_products(
    bases: dict[tuple[float, float, bool], dict[int, float]], features: Features
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """One polynomial for each base, or None where the norms are beyond what powers can hold."""
    norms = features.squared_norms.astype(np.float64)
    degree = max((power for powers in bases.values() for power in powers), default=0)
    roots = np.ones((len(bases), len(norms)))
    coefficients = np.zeros((len(bases), degree + 1))
    tiny = float(np.finfo(features.dtype).tiny)
    for place, ((offset, scale, cosine), powers) in enumerate(bases.items()):
        if cosine:
            own = offset + norms / scale
            if len(own) and min(own.min(), own.min() ** max(powers)) <= tiny:
                return None
            roots[place] = 1.0 / np.sqrt(own)
        for power, weight in powers.items():
            coefficients[place, degree - power] = weight
    offsets = np.array([offset for offset, _, _ in bases], dtype=np.float64)
    slopes = np.array([1.0 / scale for _, scale, _ in bases], dtype=np.float64)
    return offsets, slopes, roots, coefficients
