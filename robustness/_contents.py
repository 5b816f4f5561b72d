"""What is in a hostile table or kernel: numbers that methods trip over.

Tables are made from a generator, a number of rows and one of columns, kernels from a generator and
a number of samples.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Make = Callable[[np.random.Generator, int, int], np.ndarray]


def _normal(rng, n, d):
    return rng.standard_normal((n, d))


def _blobs(rng, n, d):
    return rng.standard_normal((n, d)) + 8 * rng.integers(0, 4, (n, 1))


def _spoiled(value: float, how: str) -> Make:
    def make(rng, n, d):
        X = rng.standard_normal((n, d))
        if how == "one":
            X[rng.integers(n), rng.integers(d)] = value
        elif how == "row":
            X[rng.integers(n)] = value
        elif how == "column":
            X[:, rng.integers(d)] = value
        else:
            X[:] = value
        return X

    return make


def _scaled(scale: float, offset: float = 0.0) -> Make:
    return lambda rng, n, d: offset + scale * rng.standard_normal((n, d))


def _one_point(rng, n, d):
    return np.tile(rng.standard_normal(d), (n, 1))


def _few_points(rng, n, d):
    return rng.standard_normal((2, d))[rng.integers(0, 2, n)]


def _nearly_equal(rng, n, d):
    return 1.0 + np.finfo(float).eps * rng.integers(0, 3, (n, d))


def _zero_rows(rng, n, d):
    X = rng.standard_normal((n, d))
    X[rng.random(n) < 0.5] = 0.0
    return X


def _mixed_scales(rng, n, d):
    return rng.standard_normal((n, d)) * 10.0 ** rng.integers(-12, 12, d)


def _outlier(rng, n, d):
    X = rng.standard_normal((n, d))
    X[rng.integers(n)] *= 10.0 ** rng.integers(3, 15)
    return X


def _collinear(rng, n, d):
    return np.outer(np.arange(n), rng.standard_normal(d))


def _signs(rng, n, d):
    return rng.choice([-1.0, 1.0], (n, d))


def _wide_range(rng, n, d):
    return rng.choice([-1.0, 1.0], (n, d)) * 10.0 ** rng.uniform(-150, 150, (n, d))


def _counts(rng, n, d):
    return rng.poisson(0.5, (n, d)).astype(float)


def _negative_zero(rng, n, d):
    return rng.choice([0.0, -0.0, 1.0], (n, d))


def _one_feature(rng, n, d):
    return rng.standard_normal((n, 1))


def _many_features(rng, n, d):
    X = np.zeros((min(n, 7), 100_000))
    X[:, :50] = rng.standard_normal((len(X), 50))
    return X


def _tiny(rows: int) -> Make:
    return lambda rng, n, d: rng.standard_normal((rows, d))


def _no_feature(rng, n, d):
    return np.empty((n, 0))


def _simplex(rng, n, d):
    return np.eye(n)


CONTENTS: dict[str, Make] = {
    "normal": _normal,
    "blobs": _blobs,
    "one NaN": _spoiled(np.nan, "one"),
    "a row of NaN": _spoiled(np.nan, "row"),
    "a column of NaN": _spoiled(np.nan, "column"),
    "all NaN": _spoiled(np.nan, "all"),
    "one inf": _spoiled(np.inf, "one"),
    "a row of -inf": _spoiled(-np.inf, "row"),
    "subnormal": _scaled(5e-324 * 50),
    "1e300": _scaled(1e300),
    "1e-300": _scaled(1e-300),
    "1e160": _scaled(1e160),
    "1e150": _scaled(1e150),
    "1e-155": _scaled(1e-155),
    "1e38": _scaled(1e38),
    "1e-30": _scaled(1e-30),
    "one 1e308": _spoiled(1e308, "one"),
    "a column of 1e200": _spoiled(1e200, "column"),
    "large offset": _scaled(1.0, 1e8),
    "huge offset": _scaled(1.0, 1e15),
    "one point": _one_point,
    "two points": _few_points,
    "nearly one point": _nearly_equal,
    "all zero": _spoiled(0.0, "all"),
    "zero rows": _zero_rows,
    "a constant column": _spoiled(3.0, "column"),
    "mixed scales": _mixed_scales,
    "an outlier": _outlier,
    "collinear": _collinear,
    "signs": _signs,
    "300 orders": _wide_range,
    "counts": _counts,
    "negative zero": _negative_zero,
    "one feature": _one_feature,
    "100,000 features": _many_features,
    "no sample": _tiny(0),
    "one sample": _tiny(1),
    "two samples": _tiny(2),
    "three samples": _tiny(3),
    "no feature": _no_feature,
    "simplex": _simplex,
}


def _gram(rng, n):
    A = rng.standard_normal((n, n))
    return A @ A.T


def _rank_one(rng, n):
    v = rng.standard_normal(n)
    return np.outer(v, v)


def _indefinite(rng, n):
    A = rng.standard_normal((n, n))
    return A + A.T


def _asymmetric(size: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, n: _gram(rng, n) + size * rng.standard_normal((n, n))


def _with_value(value: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    def make(rng, n):
        K = _gram(rng, n)
        i, j = rng.integers(n, size=2)
        K[i, j] = K[j, i] = value
        return K

    return make


def _zero_diagonal(rng, n):
    K = np.abs(_indefinite(rng, n))
    np.fill_diagonal(K, 0.0)
    return K


def _zero_rows_kernel(rng, n):
    K = _gram(rng, n)
    gone = rng.random(n) < 0.4
    K[gone], K[:, gone] = 0.0, 0.0
    return K


def _blocks(rng, n):
    labels = rng.integers(0, 3, n)
    return (labels[:, None] == labels[None, :]).astype(float)


def _hilbert(rng, n):
    i = np.arange(n)
    return 1.0 / (1.0 + i[:, None] + i[None, :])


KERNELS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "gram": _gram,
    "rank one": _rank_one,
    "all zero": lambda rng, n: np.zeros((n, n)),
    "all one": lambda rng, n: np.ones((n, n)),
    "identity": lambda rng, n: np.eye(n),
    "minus identity": lambda rng, n: -np.eye(n),
    "blocks": _blocks,
    "indefinite": _indefinite,
    "asymmetric by 1e-6": _asymmetric(1e-6),
    "asymmetric by 1e-12": _asymmetric(1e-12),
    "asymmetric": _asymmetric(1.0),
    "with NaN": _with_value(np.nan),
    "with inf": _with_value(np.inf),
    "with -inf": _with_value(-np.inf),
    "with 1e300": _with_value(1e300),
    "1e300": lambda rng, n: 1e300 * _gram(rng, n),
    "1e-300": lambda rng, n: 1e-300 * _gram(rng, n),
    "1e-320": lambda rng, n: 1e-320 * np.ones((n, n)),
    "1e200 identity": lambda rng, n: 1e200 * np.eye(n),
    "zero diagonal": _zero_diagonal,
    "zero rows": _zero_rows_kernel,
    "nearly singular": _hilbert,
    "not square": lambda rng, n: rng.standard_normal((n, n + 1)),
    "a table": lambda rng, n: rng.standard_normal((n, 3)),
    "no sample": lambda rng, n: np.empty((0, 0)),
    "one sample": lambda rng, n: np.ones((1, 1)),
    "two samples": lambda rng, n: np.eye(2),
    "negative entries": lambda rng, n: np.eye(n) * n - 1.0,
}
