"""Compiled codes on the simplex: the nearest point of the hull of the other samples.

For sample i the problem is min ‖Σ_j a_j (x_j − x_i)‖² over a ≥ 0, Σ a = 1, a_i = 0: the point of
smallest norm in the convex hull of the differences p_j = x_j − x_i. Wolfe's method (Mathematical
Programming 11, 1976) solves it exactly in finitely many steps. It keeps a set of affinely
independent points whose affine hull has its point of smallest norm inside their convex hull. Only
dot products enter, and all samples are looked at only between solutions on a working set.

Entries are added one by one: expressions of whole arrays take twice as long to compile.
"""

from __future__ import annotations

import numpy as np

from unispectral._compat import njit

#: A point is taken to depend on the others when its pivot is below this share of its size.
_PIVOT = 1e-12
#: First samples, and samples added at least, per look at all of them.
_FIRST = 8


@njit(cache=True, nogil=True)
def simplex_code(G, i, tol):
    """The code of sample ``i``, from the matrix of dot products: support, weights and gap.

    The gap is ``max_j (‖y‖² − p_j·y)`` relative to the mean squared distance to the others; twice
    the gap bounds the distance of the objective ‖y‖² to its minimum.
    """
    n = G.shape[0]
    total = 0.0
    nearest = np.inf
    closest = 0
    for j in range(n):
        squared = max(G[j, j] - 2.0 * G[i, j] + G[i, i], 0.0)
        total += squared
        if j != i and squared < nearest:
            nearest = squared
            closest = j
    scale = total / max(n - 1, 1)
    pool = np.full(1, closest)
    weights = np.ones(1)
    gap = np.inf
    gains = np.empty(n)
    for _ in range(200):
        last = gap
        gap = _gains(G, i, pool, weights, gains)
        if gap <= tol * scale:
            break
        if gap >= last and gap <= 1e-6 * scale:  # rounding has the last word
            break
        pool = _with_worst(gains, pool, tol * scale)
        pool, weights = _solve_on(G, i, pool, weights, scale, tol)
    return pool, weights, gap / scale if scale > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _gains(G, i, pool, weights, gains):
    """``gains[j] = ‖y‖² − p_j·y`` for all j; returns the largest."""
    n = gains.shape[0]
    for j in range(n):
        gains[j] = 0.0
    own = norm = 0.0
    for k in range(pool.shape[0]):
        for j in range(n):
            gains[j] -= weights[k] * G[pool[k], j]
        own += weights[k] * G[pool[k], i]
    for j in range(n):  # p_j·y = (Ga)_j − G_ij − Σ a_l G_il + G_ii
        gains[j] += G[i, j] + own - G[i, i]
    for k in range(pool.shape[0]):
        norm -= weights[k] * gains[pool[k]]
    largest = -np.inf
    for j in range(n):
        if j != i:
            gains[j] = gains[j] + norm
        else:
            gains[j] = -np.inf
        largest = max(largest, gains[j])
    return largest


@njit(cache=True, nogil=True)
def _with_worst(gains, pool, threshold):
    """The support and the samples that promise most: as many again, and at least a few."""
    size = pool.shape[0]
    longer = np.empty(size + max(_FIRST, size), dtype=np.int64)
    for k in range(size):
        longer[k] = pool[k]
        gains[pool[k]] = -np.inf
    while size < longer.shape[0]:
        best = 0
        for j in range(gains.shape[0]):
            if gains[j] > gains[best]:
                best = j
        if gains[best] <= threshold:
            break
        longer[size] = best
        gains[best] = -np.inf
        size += 1
    return longer[:size]


@njit(cache=True, nogil=True)
def _solve_on(G, i, pool, weights, scale, tol):
    """Wolfe's method on a working set that begins with the present support."""
    size = pool.shape[0]
    H = np.empty((size, size))
    for j in range(size):
        for k in range(j + 1):
            H[j, k] = G[pool[j], pool[k]] - G[i, pool[j]] - G[i, pool[k]] + G[i, i]
            H[k, j] = H[j, k]
    if scale > 0.0:
        shift = scale
    else:
        shift = 1.0
    L = np.zeros((size, size))
    corral = np.empty(size, dtype=np.int64)
    a = np.zeros(size)
    products = np.empty(size)
    count = 0
    blocked = np.zeros(size, dtype=np.bool_)
    for k in range(weights.shape[0]):
        if _append(L, H, corral, count, k, shift):
            corral[count] = k
            a[count] = weights[k]
            count += 1
        else:
            blocked[k] = True
    _scale_to_one(a, count)
    count = _inner(L, corral, a, count)
    for _ in range(20 * size + 50):
        norm = 0.0
        best = -1
        least = np.inf
        for j in range(size):
            products[j] = 0.0
        for k in range(count):
            for j in range(size):
                products[j] += a[k] * H[corral[k], j]
        for k in range(count):
            norm += a[k] * products[corral[k]]
        for j in range(size):
            if not blocked[j] and products[j] < least:
                least = products[j]
                best = j
        if best < 0 or norm - least <= 0.5 * tol * scale:
            break
        known = False
        for k in range(count):
            known |= corral[k] == best
        if known or not _append(L, H, corral, count, best, shift):
            blocked[best] = True
            continue
        corral[count] = best
        a[count] = 0.0
        count = _inner(L, corral, a, count + 1)
    for k in range(count):
        corral[k] = pool[corral[k]]
    return corral[:count], a[:count]


@njit(cache=True, nogil=True)
def _append(L, H, corral, count, new, shift):
    """Extend the factor of H + shift by one row, unless the point depends on the others."""
    pivot = shift + H[new, new]
    for k in range(count):
        value = shift + H[new, corral[k]]
        for l in range(k):
            value -= L[count, l] * L[k, l]
        L[count, k] = value / L[k, k]
        pivot -= L[count, k] ** 2
    if pivot <= _PIVOT * (shift + H[new, new]):
        return False
    L[count, count] = np.sqrt(pivot)
    return True


@njit(cache=True, nogil=True)
def _remove(L, count, gone):
    """Take one row out of the factor, and restore its triangle by rotations."""
    for k in range(gone, count - 1):
        for l in range(k + 2):
            L[k, l] = L[k + 1, l]
    for k in range(gone, count - 1):
        length = np.hypot(L[k, k], L[k, k + 1])
        cosine = L[k, k] / length
        sine = L[k, k + 1] / length
        L[k, k] = length
        L[k, k + 1] = 0.0
        for r in range(k + 1, count - 1):
            left = L[r, k]
            right = L[r, k + 1]
            L[r, k] = cosine * left + sine * right
            L[r, k + 1] = cosine * right - sine * left


@njit(cache=True, nogil=True)
def _affine(L, count):
    """Weights, of sum one, of the point of smallest norm in the affine hull."""
    u = np.ones(count)
    for k in range(count):
        for l in range(k):
            u[k] -= L[k, l] * u[l]
        u[k] /= L[k, k]
    for k in range(count - 1, -1, -1):
        for l in range(k + 1, count):
            u[k] -= L[l, k] * u[l]
        u[k] /= L[k, k]
    _scale_to_one(u, count)
    return u


@njit(cache=True, nogil=True)
def _scale_to_one(a, count):
    """Divide the first entries by their sum."""
    total = 0.0
    for k in range(count):
        total += a[k]
    for k in range(count):
        a[k] /= total


@njit(cache=True, nogil=True)
def _inner(L, corral, a, count):
    """Move to the affine minimum, dropping points until it lies in the convex hull."""
    while True:
        u = _affine(L, count)
        step = 1.0
        first = -1
        for k in range(count):
            if u[k] <= 0.0:
                if a[k] > u[k]:
                    share = a[k] / (a[k] - u[k])
                else:
                    share = 0.0
                if first < 0 or share < step:
                    step = share
                    first = k
        for k in range(count):
            if first < 0:
                a[k] = u[k]
            else:
                a[k] = max(a[k] + step * (u[k] - a[k]), 0.0)
        if first < 0:
            return count
        a[first] = 0.0
        for k in range(count - 1, -1, -1):
            if a[k] <= 0.0 and count > 1:
                _remove(L, count, k)
                for l in range(k, count - 1):
                    corral[l] = corral[l + 1]
                    a[l] = a[l + 1]
                count -= 1
        _scale_to_one(a, count)
