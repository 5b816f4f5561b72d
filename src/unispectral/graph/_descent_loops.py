"""Compiled loops of the search for neighbours in many columns: trees, pairs, lists."""

from __future__ import annotations

import numpy as np

from unispectral._compat import njit


@njit(cache=True, nogil=True)
def _scramble(value):
    """A number that looks random, of 64 bits (splitmix64)."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _side(row, normal):
    total = np.float32(0.0)
    for c in range(len(normal)):
        total += row[c] * normal[c]
    return total


@njit(cache=True, nogil=True)
def grow_tree(shadow, seed, most, order, starts):
    """Sort rows by the leaves of a tree; leaf l is ``starts[l] … starts[l + 1]``. Their number.

    A plane stands half-way between two rows drawn by chance, unless it leaves next to nothing on
    one side three times: then the rows are halved as they stand.
    """
    n, width = shadow.shape
    lows = np.empty(256, dtype=np.int64)
    highs = np.empty(256, dtype=np.int64)
    normal = np.empty(width, dtype=np.float32)
    lows[0] = 0
    highs[0] = n
    depth = 1
    leaves = 0
    draw = seed
    while depth > 0:
        depth -= 1
        low = lows[depth]
        high = highs[depth]
        size = high - low
        if size <= most:
            starts[leaves] = low
            leaves += 1
            continue
        cut = low
        for _ in range(3):
            draw = _scramble(draw)
            one = shadow[order[low + np.int64(draw % np.uint64(size))]]
            draw = _scramble(draw)
            other = shadow[order[low + np.int64(draw % np.uint64(size))]]
            for c in range(width):
                normal[c] = one[c] - other[c]
            limit = np.float32(0.5) * (_side(one, normal) + _side(other, normal))
            cut = low
            end = high
            while cut < end:
                if _side(shadow[order[cut]], normal) < limit:
                    cut += 1
                else:
                    end -= 1
                    order[cut], order[end] = order[end], order[cut]
            if 20 * (cut - low) >= size and 20 * (high - cut) >= size:
                break
            cut = low
        if cut == low:
            cut = low + size // 2
        lows[depth] = cut
        highs[depth] = high
        lows[depth + 1] = low
        highs[depth + 1] = cut
        depth += 2
    starts[leaves] = n
    return leaves


@njit(cache=True, nogil=True)
def _put(near, keys, fresh, number, key):
    """Take a row among the neighbours of another, if it is near enough and not there already."""
    last = len(near) - 1
    if key > keys[last] or (key == keys[last] and number >= near[last]):
        return 0
    for a in range(last + 1):
        if near[a] == number:
            return 0
    place = last
    while place > 0 and (
        keys[place - 1] > key or (keys[place - 1] == key and near[place - 1] > number)
    ):
        keys[place] = keys[place - 1]
        near[place] = near[place - 1]
        fresh[place] = fresh[place - 1]
        place -= 1
    keys[place] = key
    near[place] = number
    fresh[place] = True
    return 1


@njit(cache=True, nogil=True)
def _place(points, origin, rows, count, space):
    """Rows of a table beside each other, as they lie from its mean."""
    for a in range(count):
        row = points[rows[a]]
        for c in range(len(origin)):
            space[a, c] = row[c] - origin[c]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _multiply(space, a, b, products):
    """Products of two rows with four: few enough for registers, where BLAS would start anew."""
    one = space[a]
    two = space[a + 1]
    w = space[b]
    x = space[b + 1]
    y = space[b + 2]
    z = space[b + 3]
    one_w = one_x = one_y = one_z = np.float32(0.0)
    two_w = two_x = two_y = two_z = np.float32(0.0)
    for c in range(space.shape[1]):
        one_w += one[c] * w[c]
        one_x += one[c] * x[c]
        one_y += one[c] * y[c]
        one_z += one[c] * z[c]
        two_w += two[c] * w[c]
        two_x += two[c] * x[c]
        two_y += two[c] * y[c]
        two_z += two[c] * z[c]
    products[a, b] = one_w
    products[a, b + 1] = one_x
    products[a, b + 2] = one_y
    products[a, b + 3] = one_z
    products[a + 1, b] = two_w
    products[a + 1, b + 1] = two_x
    products[a + 1, b + 2] = two_y
    products[a + 1, b + 3] = two_z


@njit(cache=True, nogil=True)
def _multiply_pairs(space, first, count, products):
    """Products of each of the first rows with those before it, and with all behind the first.

    ``space`` has three rows more than are meant, since blocks may reach beyond them.
    """
    for a in range(0, first, 2):
        for b in range(0, min(a + 2, first), 4):
            _multiply(space, a, b, products)
        for b in range(first, count, 4):
            _multiply(space, a, b, products)


@njit(cache=True, nogil=True)
def join_leaves(points, origin, norms, order, starts, first, last, near, keys, fresh):
    """Compare all pairs in some leaves of a tree, which share no row with others."""
    most = 0
    for leaf in range(first, last):
        most = max(most, starts[leaf + 1] - starts[leaf])
    space = np.zeros((most + 3, points.shape[1]), dtype=np.float32)
    products = np.empty((most + 1, most + 3), dtype=np.float32)
    for leaf in range(first, last):
        rows = order[starts[leaf] : starts[leaf + 1]]
        m = len(rows)
        _place(points, origin, rows, m, space)
        _multiply_pairs(space, m, m, products)
        for a in range(m):
            i = rows[a]
            for b in range(a):
                j = rows[b]
                key = norms[i] + norms[j] - np.float32(2.0) * products[a, b]
                _put(near[i], keys[i], fresh[i], j, key)
                _put(near[j], keys[j], fresh[j], i, key)


@njit(cache=True, nogil=True)
def turn_around(near, fresh):
    """Who has each row as a neighbour, and whether it is a new one."""
    n, k = near.shape
    back = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        for a in range(k):
            if near[i, a] >= 0:
                back[near[i, a] + 1] += 1
    for i in range(n):
        back[i + 1] += back[i]
    sources = np.empty(back[n], dtype=np.int32)
    lately = np.empty(back[n], dtype=np.bool_)
    place = back[:-1].copy()
    for i in range(n):
        for a in range(k):
            j = near[i, a]
            if j >= 0:
                sources[place[j]] = i
                lately[place[j]] = fresh[i, a]
                place[j] += 1
    return back, sources, lately


@njit(cache=True, nogil=True)
def _draw_in(chosen, ranks, size, number, rank):
    """Keep the numbers of smallest rank, each once; how many there are."""
    most = len(chosen)
    if size == most and rank >= ranks[most - 1]:
        return size
    for a in range(size):
        if chosen[a] == number:
            return size
    place = size
    if size == most:
        place = most - 1
    else:
        size += 1
    while place > 0 and ranks[place - 1] > rank:
        chosen[place] = chosen[place - 1]
        ranks[place] = ranks[place - 1]
        place -= 1
    chosen[place] = number
    ranks[place] = rank
    return size


@njit(cache=True, nogil=True)
def choose_neighbours(near, fresh, back, sources, lately, salt, start, stop, new, old):
    """Of the neighbours of rows, and those whose neighbour they are, some by chance."""
    k = near.shape[1]
    most = new.shape[1]
    new_ranks = np.empty(most, dtype=np.uint64)
    old_ranks = np.empty(most, dtype=np.uint64)
    for i in range(start, stop):
        n_new = 0
        n_old = 0
        base = _scramble(salt ^ (np.uint64(i) << np.uint64(20)))
        for p in range(k + back[i + 1] - back[i]):
            if p < k:
                j = near[i, p]
                is_new = fresh[i, p]
            else:
                j = sources[back[i] + p - k]
                is_new = lately[back[i] + p - k]
            if j < 0:
                continue
            rank = _scramble(base ^ np.uint64(j))
            if is_new:
                n_new = _draw_in(new[i], new_ranks, n_new, j, rank)
            else:
                n_old = _draw_in(old[i], old_ranks, n_old, j, rank)


@njit(cache=True, nogil=True)
def settle(near, fresh, new, start, stop):
    """Neighbours that are about to be compared are new no longer."""
    for i in range(start, stop):
        for a in range(near.shape[1]):
            if fresh[i, a]:
                for b in range(new.shape[1]):
                    if new[i, b] == near[i, a]:
                        fresh[i, a] = False
                        break


@njit(cache=True, nogil=True)
def join_neighbours(points, origin, norms, keys, new, old, order):
    """Pairs of neighbours of the same row, at least one new, that are near enough to matter."""
    most = new.shape[1]
    last = keys.shape[1] - 1
    room = len(order) * (most * (most - 1) // 2 + most * most)
    pairs = np.empty((room, 2), dtype=np.int32)
    found = np.empty(room, dtype=np.float32)
    rows = np.empty(2 * most, dtype=np.int32)
    space = np.zeros((2 * most + 3, points.shape[1]), dtype=np.float32)
    products = np.empty((most + 1, 2 * most + 3), dtype=np.float32)
    size = 0
    for v in order:
        n_new = 0
        for a in range(most):
            if new[v, a] >= 0:
                rows[n_new] = new[v, a]
                n_new += 1
        if n_new == 0:
            continue
        m = n_new
        for a in range(most):
            if old[v, a] >= 0:
                rows[m] = old[v, a]
                m += 1
        _place(points, origin, rows, m, space)
        _multiply_pairs(space, n_new, m, products)
        for a in range(n_new):
            i = rows[a]
            for b in range(m):
                j = rows[b]
                if i == j or (b < n_new and b >= a):
                    continue
                key = norms[i] + norms[j] - np.float32(2.0) * products[a, b]
                if key <= keys[i, last] or key <= keys[j, last]:
                    pairs[size, 0] = i
                    pairs[size, 1] = j
                    found[size] = key
                    size += 1
    return pairs[:size].copy(), found[:size].copy()


@njit(cache=True, nogil=True)
def take_pairs(pairs, found, start, stop, near, keys, fresh):
    """Take up the pairs of some rows, in their order; how many neighbours are new."""
    changed = 0
    for p in range(len(found)):
        i = pairs[p, 0]
        j = pairs[p, 1]
        if start <= i < stop:
            changed += _put(near[i], keys[i], fresh[i], j, found[p])
        if start <= j < stop:
            changed += _put(near[j], keys[j], fresh[j], i, found[p])
    return changed
