"""Compiled loops of the Z-step: one non-negative quadratic problem per sample.

Sample i asks for the code z that minimises

    zᵀ K z + ridge zᵀ diag(K) z − 2 K_iᵀ z + B_iᵀ z,    z ≥ 0, z_i = 0,

with B_ij the penalty of using sample j. Halved, the gradient is H z − g with H = K + ridge diag(K)
and g = K_i − B_i / 2; that is what the loops below carry. K may be float32: the small problems
are always solved in float64.

Written to be compiled quickly as well, since the first fit waits for that: a counter starts as
``np.int64(0)``, as for a plain 0 that is handed on numba compiles everything behind it twice, and
arrays are copied by loops, as a copy of slices brings along all that its error message needs.
What is called from one place is inlined: numba optimises a function anew within every caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral._compat import njit

#: Sweeps of the first round, rounds at most, exact solves for each coordinate, and the share of
#: the steepest gradient with which a coordinate enters beside it.
_SWEEPS = 12
_ROUNDS = 50
_ENTRIES = 4
_COMPANY = 0.5
_JITTER = 1e-11
#: Candidates up to which a block is solved by pivoting, the share of the tolerance it keeps to
#: (the next pivot costs little), pivots at most, and how many of them in a row may leave as many
#: coordinates failing.
_PIVOTED = 40
_EXACTLY = 1e-4
_PIVOTS = 40
_PATIENCE = 4


@njit(cache=True, nogil=True)
def _descend(H, g, z, gradient, sweeps):
    """Cyclic coordinate descent; keeps ``gradient`` equal to H z − g."""
    m = g.shape[0]
    for _ in range(sweeps):
        largest = 0.0
        for j in range(m):
            curvature = H[j, j]
            if curvature <= 0.0:
                continue
            value = z[j] - gradient[j] / curvature
            if value < 0.0:
                value = 0.0
            step = value - z[j]
            if step != 0.0:
                z[j] = value
                row = H[j]
                for k in range(m):
                    gradient[k] += step * row[k]
                size = abs(step) * curvature
                if size > largest:
                    largest = size
        if largest == 0.0:
            break


@njit(cache=True, nogil=True)
def _violation(z, gradient):
    """The largest failure of the optimality conditions z ≥ 0, ∇ ≥ 0, z ∇ = 0."""
    worst = 0.0
    for j in range(z.shape[0]):
        failure = abs(gradient[j]) if z[j] > 0.0 else -gradient[j]
        if failure > worst:
            worst = failure
    return worst


@njit(cache=True, nogil=True)
def _refresh(H, g, z, gradient):
    m = g.shape[0]
    for j in range(m):
        gradient[j] = -g[j]
    for j in range(m):
        if z[j] != 0.0:
            row = H[j]
            for k in range(m):
                gradient[k] += z[j] * row[k]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _append(H, j, support, size, factor):
    """Let coordinate j into the support: one more row of R, where RRᵀ = H on the support.

    False where the block would not be positive semi-definite, or where j is there already: a
    value on the support may round to zero. A jitter far below any tolerance makes blocks with
    repeated samples regular.
    """
    for a in range(size):
        if support[a] == j:
            return False
    row, mine = H[j], factor[size]
    pivot = (1.0 + _JITTER) * row[j]
    for a in range(size):
        other = factor[a]
        value = row[support[a]]
        for b in range(a):
            value -= other[b] * mine[b]
        value /= other[a]
        mine[a] = value
        pivot -= value * value
    if pivot <= 0.0:
        return False
    mine[size] = np.sqrt(pivot)
    support[size] = j
    return True


@njit(cache=True, nogil=True, inline="always")
def _remove(place, support, size, factor, cosines, sines):
    """Take the coordinate at ``place`` out of the support; rotations restore the triangle."""
    for r in range(place, size - 1):
        support[r] = support[r + 1]
        row, below = factor[r], factor[r + 1]
        for a in range(place):
            row[a] = below[a]
        last = below[place]
        for a in range(place, r):
            value = below[a + 1]
            row[a] = cosines[a] * last + sines[a] * value
            last = cosines[a] * value - sines[a] * last
        length = np.hypot(last, below[r + 1])
        cosines[r], sines[r] = last / length, below[r + 1] / length
        row[r] = length


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _solve_on_support(g, support, size, factor, solution):
    """Solve RRᵀ y = g on the support."""
    for a in range(size):
        row = factor[a]
        value = g[support[a]]
        for b in range(a):
            value -= row[b] * solution[b]
        solution[a] = value / row[a]
    for a in range(size - 1, -1, -1):
        row = factor[a]
        solution[a] /= row[a]
        value = solution[a]
        for b in range(a):
            solution[b] -= value * row[b]


@njit(cache=True, nogil=True, inline="always")
def _polish(g, z, support, size, factor, solution, cosines, sines):
    """Exact minimum over the support; coordinates that would turn negative leave it.

    Returns the new size of the support; z stays feasible and no worse.
    """
    while size > 0:
        _solve_on_support(g, support, size, factor, solution)
        reach = 1.0
        blocking: Any = np.int64(-1)  # of one type from the start: compiled once
        for a in range(size):
            if solution[a] <= 0.0:
                now = z[support[a]]
                fraction = now / (now - solution[a]) if now > 0.0 else 0.0
                if fraction < reach or blocking < 0:
                    reach, blocking = fraction, a
        for a in range(size):
            j = support[a]
            z[j] = max(z[j] + reach * (solution[a] - z[j]), 0.0)
        if blocking < 0:
            break
        z[support[blocking]] = 0.0
        _remove(blocking, support, size, factor, cosines, sines)
        size -= 1
    return size


@njit(cache=True, nogil=True)
def _neediest(z, gradient, refused, tolerance):
    """The coordinate at zero that would lower the objective most quickly, or −1."""
    found = -1
    steepest = -tolerance
    for j in range(z.shape[0]):
        if gradient[j] < steepest and z[j] == 0.0 and not refused[j]:
            found, steepest = j, gradient[j]
    return found


@njit(cache=True, nogil=True)
def _enter(H, g, z, gradient, tolerance, space, support):
    """The active-set method: exact values on the support, then the neediest coordinates enter.

    Starts from the support of z and keeps ``gradient`` equal to H z − g. Stops where the
    optimality conditions hold to ``tolerance``, or where rounding or an indefinite block leaves
    no coordinate that can enter; z is feasible and no worse than before either way.
    """
    m = g.shape[0]
    solution, cosines, sines, refused, factor = space[0], space[1], space[2], space[3], space[4:]
    for j in range(m):
        refused[j] = 0.0
    size = np.int64(0)
    for j in range(m):
        if z[j] > 0.0:
            if not _append(H, j, support, size, factor):
                return
            size += 1
    for _ in range(_ENTRIES * m):
        size = _polish(g, z, support, size, factor, solution, cosines, sines)
        _refresh(H, g, z, gradient)
        first = _neediest(z, gradient, refused, tolerance)
        if first < 0:
            return
        # Those in nearly as much need come along; polishing throws out who came for nothing.
        enough = _COMPANY * gradient[first]
        for j in range(m):
            if z[j] == 0.0 and not refused[j] and gradient[j] <= enough:
                # One attempt each: rounding could let a coordinate in and out for ever.
                refused[j] = 1.0
                if _append(H, j, support, size, factor):
                    size += 1


@njit(cache=True, nogil=True)
def solve_small(H, g, z, tolerance):
    """Minimise ½ zᵀ H z − gᵀ z over z ≥ 0, in place, from the z given.

    Coordinate descent finds most of the support, unless z brings one; an active-set method with
    an updated Cholesky factor finds the rest of it and the exact values. Repeated until the
    optimality conditions hold to ``tolerance``. Returns the largest failure.
    """
    m = g.shape[0]
    gradient, space, support = np.empty(m), np.empty((m + 4, m)), np.empty(m, np.int64)
    _refresh(H, g, z, gradient)
    failure = _violation(z, gradient)
    sweeps: Any = np.int64(_SWEEPS)
    started = False
    for j in range(z.shape[0]):
        started |= z[j] > 0.0
    if failure > tolerance and started:  # a support to start from: descent may be spared
        _enter(H, g, z, gradient, tolerance, space, support)
        failure = _violation(z, gradient)
    for _ in range(_ROUNDS):
        if failure <= tolerance:
            break
        _descend(H, g, z, gradient, sweeps)
        failure = _violation(z, gradient)
        if failure > tolerance:
            _enter(H, g, z, gradient, tolerance, space, support)
            failure = _violation(z, gradient)
        sweeps = min(2 * sweeps, 200)
    return failure


@njit(cache=True, nogil=True)
def _largest(keys, count, floor, wanted, chosen):
    """Positions of the ``wanted`` largest keys above ``floor``; returns how many there are."""
    size = 0
    for j in range(count):
        key = keys[j]
        if key <= floor:
            continue
        if size < wanted:
            place = size
            size += 1
        elif key > keys[chosen[size - 1]]:
            place = size - 1
        else:
            continue
        while place > 0 and keys[chosen[place - 1]] < key:
            chosen[place] = chosen[place - 1]
            place -= 1
        chosen[place] = j
    return size


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _squared_distance(P, i, j):
    total = 0.0
    for c in range(P.shape[1]):
        difference = P[i, c] - P[j, c]
        total += difference * difference
    return total


@njit(cache=True, nogil=True, inline="always")
def _linear_term(K, alpha, beta, P, i, nonnegative, candidates, g):
    """g_j = K_ij − B_ij / 2 of the samples that can be in the code; returns their number.

    The penalty B_ij = α_i + (β/2) ‖p_i − p_j‖² is reckoned where it matters only. Where K ≥ 0,
    (K z)_j ≥ 0, so that a sample with g_j ≤ 0 is never used: it is screened out.
    """
    half = 0.5 * alpha[i]
    quarter = 0.25 * beta
    count = np.int64(0)
    for j in range(K.shape[0]):
        value = K[i, j] - half
        if j == i or (nonnegative and value <= 0.0):
            continue
        if quarter > 0.0:
            value -= quarter * _squared_distance(P, i, j)
            if nonnegative and value <= 0.0:
                continue
        candidates[count] = j
        g[count] = value
        count += 1
    return count


@njit(cache=True, nogil=True, inline="always")
def _negative_gradient(K, code, values, size, candidates, g, count, spread, keys):
    """keys_j = g_j − (K z)_j over the candidates: positive where sample j would help."""
    n = K.shape[0]
    if 2 * count < n:
        for c in range(count):
            keys[c] = g[c]
        for s in range(size):
            row = K[code[s]]
            value = values[s]
            for c in range(count):
                keys[c] -= value * row[candidates[c]]
    else:
        for j in range(n):
            spread[j] = 0.0
        for s in range(size):
            row = K[code[s]]
            value = values[s]
            for j in range(n):
                spread[j] += value * row[j]
        for c in range(count):
            keys[c] = g[c] - spread[candidates[c]]


@njit(cache=True, nogil=True, inline="always")
def _solve_working(K, ridge, working, size, g, candidates, z, tolerance):
    """Solve the problem of the working set, given by positions among the candidates."""
    H = np.empty((size, size))
    linear = np.empty(size)
    for a in range(size):
        row = K[candidates[working[a]]]
        for b in range(size):
            H[a, b] = row[candidates[working[b]]]
        H[a, a] *= 1.0 + ridge
        linear[a] = g[working[a]]
    return solve_small(H, linear, z, tolerance)


@njit(cache=True, nogil=True, inline="always")
def _resume(i, indptr, indices, data, candidates, count, position, working, z):
    """The working set of a code to start from, as positions among the candidates; its size."""
    size = np.int64(0)
    if indices.shape[0] > 0:
        for c in range(count):
            position[candidates[c]] = c
        for p in range(indptr[i], indptr[i + 1]):
            if position[indices[p]] >= 0:
                working[size] = position[indices[p]]
                z[size] = data[p]
                size += 1
        for c in range(count):
            position[candidates[c]] = -1
    return size


@njit(cache=True, nogil=True, inline="always")
def _grow(
    K, i, ridge, allowed, first, candidates, g, count, size,
    working, z, code, keys, spread, entering,
):  # fmt: skip
    """Solve, look at all candidates, let in those that would help, and again.

    Returns the size of the code, what it leaves of the sample, the largest failure of the
    optimality conditions and the number of looks.
    """
    kept, looks, worst, rest = np.int64(0), 0, 0.0, 0.0
    for turn in range(_ROUNDS):
        inner = 0.0
        if size > 0:
            inner = _solve_working(
                K, ridge, working[:size], size, g, candidates, z[:size], 0.5 * allowed
            )
        kept = np.int64(0)
        for a in range(size):
            if z[a] > 0.0:
                working[kept] = working[a]
                z[kept] = z[a]
                code[kept] = candidates[working[kept]]
                kept += 1
        size = kept
        _negative_gradient(K, code, z, size, candidates, g, count, spread, keys)
        looks += 1
        rest = float(K[i, i])
        for a in range(size):
            explained = g[working[a]] - keys[working[a]]
            rest += z[a] * (explained - 2.0 * K[i, code[a]])
            keys[working[a]] = 0.0
        more = _largest(keys, count, allowed, max(first, size), entering)
        worst = max(inner, keys[entering[0]] if more > 0 else 0.0)
        if more == 0 or (inner > allowed and turn > 20):
            break
        for a in range(more):
            working[size] = entering[a]
            z[size] = 0.0
            size += 1
    return kept, rest, worst, looks  # what the last round let in has not been solved for


@njit(cache=True, nogil=True)
def solve_columns(
    K, start, stop, alpha, beta, P, ridge, nonnegative, indptr, indices, data, tolerance, first
):
    """Codes of the samples ``start … stop − 1`` over all samples, by growing working sets.

    ``alpha`` is what each sample pays for a coefficient before (β/2) ‖p_i − p_j‖² raises it; P is
    not looked at where β is zero. ``nonnegative`` says that no entry of K is below zero, which
    allows screening. Codes to start from come in CSR form; an empty ``indices`` is a cold start.
    Optimality is asked for to ``tolerance`` times the sample's own K_ii, and ``first`` is the size
    of the first working set.

    Returns the codes in CSR form (counts, indices, data), in no promised order; what they leave of
    each sample, K_ii − 2 K_iᵀz + zᵀKz; the largest failure of the optimality conditions over *all*
    samples, relative; and the number of checks over all samples.
    """
    n = K.shape[0]
    candidates = np.empty(n, dtype=np.int64)
    position = np.empty(n, dtype=np.int64)
    position[:] = -1
    g = np.empty(n)
    keys = np.empty(n)
    spread = np.empty(n)
    working = np.empty(n, dtype=np.int64)
    entering = np.empty(n, dtype=np.int64)
    code = np.empty(n, dtype=np.int64)
    z = np.empty(n)
    counts = np.zeros(stop - start, dtype=np.int64)
    left = np.empty(stop - start)
    capacity = 32 * (stop - start)
    out_indices = np.empty(capacity, dtype=np.int32)
    out_data = np.empty(capacity)
    filled = 0
    residual = 0.0
    passes = 0
    for i in range(start, stop):
        count = _linear_term(K, alpha, beta, P, i, nonnegative, candidates, g)
        scale = max(K[i, i], 1e-300)
        size = _resume(i, indptr, indices, data, candidates, count, position, working, z)
        if size == 0:
            size = _largest(g, count, 0.0, first, working)
            z[:size] = 0.0
        size, rest, worst, looks = _grow(
            K, i, ridge, tolerance * scale, first, candidates, g, count, size,
            working, z, code, keys, spread, entering,
        )  # fmt: skip
        passes += looks
        residual = max(residual, worst / scale)
        counts[i - start] = size
        left[i - start] = max(rest, 0.0)
        while filled + size > capacity:
            capacity *= 2
            grown_indices, grown_data = np.empty(capacity, dtype=np.int32), np.empty(capacity)
            for a in range(filled):
                grown_indices[a], grown_data[a] = out_indices[a], out_data[a]
            out_indices, out_data = grown_indices, grown_data
        for a in range(size):
            out_indices[filled + a], out_data[filled + a] = code[a], z[a]
        filled += size
    return counts, out_indices[:filled], out_data[:filled], left, residual, passes


@njit(cache=True, nogil=True)
def _pivot_blocks(among, near, own, penalties, valid, ridge, z, tolerance, failures):
    """The problems of :func:`solve_blocks` by block principal pivoting.

    The minimum over a support has closed form; all coordinates that fail there, negative inside
    or wanted outside, change sides at once, and where that does not lead on, one at a time.
    ``failures`` gets how far each solution fails the optimality conditions at most.
    """
    b, k = near.shape
    g, y, factor = np.empty(k), np.empty(k), np.empty((k, k))
    support, failing = np.empty(k, np.int64), np.empty(k, np.int64)
    inside = np.empty(k, np.bool_)
    for i in range(b):
        for j in range(k):
            g[j] = near[i, j] - 0.5 * penalties[i, j]
            inside[j] = valid[i, j] and g[j] > 0.0
        fewest, patience = k + 1, _PATIENCE
        failures[i] = np.inf
        for _ in range(_PIVOTS):
            size = 0
            for j in range(k):
                z[i, j] = 0.0
                if not inside[j]:
                    continue
                row, value, pivot = factor[size], g[j], (1.0 + _JITTER + ridge) * among[i, j, j]
                for a in range(size):
                    other, entry = factor[a], np.float64(among[i, j, support[a]])
                    for c in range(a):
                        entry -= row[c] * other[c]
                    entry /= other[a]
                    row[a] = entry
                    pivot -= entry * entry
                    value -= entry * y[a]
                if pivot <= 0.0:
                    size = -1
                    break
                row[size] = np.sqrt(pivot)
                y[size] = value / row[size]
                support[size] = j
                size += 1
            if size < 0:  # no closed form
                break
            for a in range(size - 1, -1, -1):
                y[a] /= factor[a, a]
                for c in range(a):
                    y[c] -= y[a] * factor[a, c]
                z[i, support[a]] = y[a]
            count, worst = 0, 0.0
            for j in range(k):
                slope = ridge * among[i, j, j] * z[i, j] - g[j]
                for a in range(size):
                    slope += among[i, j, support[a]] * y[a]
                if inside[j]:
                    fails, slope = z[i, j] < 0.0, -abs(slope)
                else:
                    fails = valid[i, j] and slope < -_EXACTLY * tolerance * own[i]
                if fails:
                    failing[count] = j
                    count += 1
                elif valid[i, j]:
                    worst = max(worst, -slope)
            if count == 0:
                failures[i] = worst
                break
            patience = _PATIENCE if count < fewest else patience - 1
            fewest = min(fewest, count)
            for a in range(0 if patience > 0 else count - 1, count):
                inside[failing[a]] = not inside[failing[a]]


def solve_blocks(
    among: np.ndarray,
    near: np.ndarray,
    own: np.ndarray,
    penalties: np.ndarray,
    valid: np.ndarray,
    ridge: float,
    z: np.ndarray,
    tolerance: float,
) -> float:
    """Codes of b samples, each over its own k candidates, into ``z``.

    The kernel is given ``among`` the candidates, (b, k, k), between each sample and those ``near``
    it, (b, k), and of its ``own``, (b,). A candidate that is not ``valid`` is padding, and never
    used. Pivoting solves nearly all small problems, and is soon compiled; the others, singular for
    the most part, are solved like those over all samples. Returns the largest failure of the
    optimality conditions over the candidates, relative.
    """
    failures = np.full(len(near), np.inf)
    if near.shape[1] <= _PIVOTED:
        _pivot_blocks(among, near, own, penalties, valid, ridge, z, tolerance, failures)
    for i in np.flatnonzero(~(failures <= tolerance * own)):
        use = np.flatnonzero(valid[i])
        H = among[i][np.ix_(use, use)].astype(np.float64)
        H.ravel()[:: len(use) + 1] *= 1.0 + ridge
        code = np.zeros(len(use))
        failures[i] = solve_small(
            H, near[i, use] - 0.5 * penalties[i, use], code, tolerance * own[i]
        )
        z[i] = 0.0
        z[i, use] = code
    return float((failures / np.maximum(own, 1e-300)).max(initial=0.0))


@njit(cache=True, nogil=True)
def add_up(indptr, indices, data, labels, inside, volumes):
    """Add to each cluster the weight of the edges inside it, and of all that touch it."""
    for i in range(len(indptr) - 1):
        own, within, degree = labels[i], 0.0, 0.0
        for p in range(indptr[i], indptr[i + 1]):
            degree += data[p]
            if labels[indices[p]] == own:
                within += data[p]
        inside[own] += within
        volumes[own] += degree
