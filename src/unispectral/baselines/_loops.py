"""Compiled Lloyd iterations in kernel space: assignment, repair, centres.

A centre is a weighted mean of the members of its cluster, so a label and a weight per sample say
everything: ``centres[j] = Σ_{l in j} weights[l] φ(x_l)``. ``products`` holds ``K a_j`` as rows and
``norms`` holds ``a_jᵀ K a_j``.
"""

from __future__ import annotations

import numpy as np

from unispectral._compat import njit

__all__ = ["centre_products", "lloyd", "own_distances"]

#: Squared distances below this share of the mean self-similarity count as "on the centre".
_ON_CENTRE = 1e-10


@njit(cache=True, nogil=True)
def centre_products(K, labels, weights, products, norms):
    """Fill ``products`` and ``norms`` by adding rows of the symmetric kernel, cluster by cluster.

    Adding whole rows keeps the innermost loop contiguous, which the vector units need.
    """
    products[:] = 0.0
    norms[:] = 0.0
    n = K.shape[0]
    for sample in range(n):
        weight = weights[sample]
        if weight != 0.0:
            target, row = products[labels[sample]], K[sample]
            for i in range(n):
                target[i] += weight * row[i]
    for sample in range(n):
        norms[labels[sample]] += weights[sample] * products[labels[sample], sample]


@njit(cache=True, nogil=True)
def assign(products, norms, labels, nearest):
    """Give each sample to its nearest centre; ``nearest`` is the distance less ``K_ii``."""
    n_clusters, n = products.shape
    nearest[:] = np.inf
    for j in range(n_clusters):
        row, norm = products[j], norms[j]
        for i in range(n):
            value = norm - 2.0 * row[i]
            if value < nearest[i]:
                nearest[i] = value
                labels[i] = j


@njit(cache=True, nogil=True)
def own_distances(diagonal, products, norms, labels, own):
    """The squared distance of each sample to the centre of its own cluster."""
    for i in range(labels.shape[0]):
        j = labels[i]
        own[i] = max(diagonal[i] + norms[j] - 2.0 * products[j, i], 0.0)


@njit(cache=True, nogil=True)
def repair(labels, distances, n_clusters):
    """Fill empty clusters with the farthest samples of clusters that can spare one."""
    sizes = np.bincount(labels, minlength=n_clusters)
    left = distances.copy()
    for j in range(n_clusters):
        if sizes[j] > 0:
            continue
        farthest = -1
        for i in range(labels.shape[0]):
            if sizes[labels[i]] > 1 and (farthest < 0 or left[i] > left[farthest]):
                farthest = i
        sizes[labels[farthest]] -= 1
        sizes[j] = 1
        labels[farthest] = j
        left[farthest] = -np.inf


@njit(cache=True, nogil=True)
def mean_weights(labels, n_clusters, weights):
    """Centres that are plain means."""
    sizes = np.bincount(labels, minlength=n_clusters)
    weights[:] = 1.0 / sizes[labels]


@njit(cache=True, nogil=True)
def robust_weights(K, labels, squared, floor, n_clusters, weights):
    """Weights 1/d of a Weiszfeld step, with Vardi and Zhang's rule for samples on the centre.

    Where ``m`` samples of a cluster lie on its centre, the step moves from the centre towards the
    weighted mean T of the others by the share 1 − m/r, r the length of the sum of the unit vectors
    from the centre to the others, and not at all if r ≤ m. The sum of distances never rises.
    """
    n = labels.shape[0]
    on_centre = np.zeros(n_clusters)
    for i in range(n):
        if squared[i] <= floor:
            on_centre[labels[i]] += 1.0
            weights[i] = 0.0
        else:
            weights[i] = 1.0 / np.sqrt(squared[i])
    pull = np.bincount(labels, weights, n_clusters)
    for i in range(n):
        if pull[labels[i]] > 0.0:
            weights[i] /= pull[labels[i]]
    for j in range(n_clusters):
        if on_centre[j] == 0.0:
            continue
        stay = 1.0
        if pull[j] > 0.0:
            length = pull[j] * np.sqrt(_squared_shift(K, labels, squared, weights, floor, j))
            stay = min(1.0, on_centre[j] / length) if length > 0.0 else 1.0
        for i in range(n):
            if labels[i] == j:
                if squared[i] <= floor:
                    weights[i] = stay / on_centre[j]
                else:
                    weights[i] *= 1.0 - stay


@njit(cache=True, nogil=True)
def _squared_shift(K, labels, squared, weights, floor, j):
    """The squared distance between the weighted mean of cluster j and the sample on its centre."""
    members = np.flatnonzero(labels == j)
    centre = members[0]
    for i in members:
        if squared[i] <= floor:
            centre = i
            break
    total = K[centre, centre]
    for i in members:
        if weights[i] == 0.0:
            continue
        row = 0.0
        for l in members:
            row += weights[l] * K[i, l]
        total += weights[i] * (row - 2.0 * K[i, centre])
    return max(total, 0.0)


@njit(cache=True, nogil=True)
def _objective(squared, robust):
    return np.sqrt(squared).sum() if robust else squared.sum()


@njit(cache=True, nogil=True)
def lloyd(K, diagonal, starts, labels, weights, n_clusters, robust, max_iter, tol):
    """Iterate from samples as centres, or (no ``starts``) from the given labels and weights.

    Returns the objective, the number of iterations, whether they converged and what the last one
    still changed (a share of the labels, or else of the objective); ``labels`` and ``weights``
    hold the result. The objective is the sum of squared distances, or of distances if ``robust``.
    """
    n = K.shape[0]
    products = np.empty((n_clusters, n))
    norms = np.empty(n_clusters)
    nearest, own, last = np.empty(n), np.empty(n), np.empty_like(labels)
    if starts.shape[0] > 0:
        labels[:] = -1
        for j in range(n_clusters):
            products[j] = K[starts[j]]
            norms[j] = diagonal[starts[j]]
    else:
        centre_products(K, labels, weights, products, norms)
    floor = _ON_CENTRE * np.mean(diagonal)
    objective, iteration, converged, residual = np.inf, 0, False, 0.0
    while iteration < max_iter and not converged:
        last[:] = labels
        assign(products, norms, labels, nearest)
        nearest += diagonal
        repair(labels, nearest, n_clusters)
        own_distances(diagonal, products, norms, labels, own)
        before, objective = objective, _objective(own, robust)
        if robust:
            robust_weights(K, labels, own, floor, n_clusters, weights)
        else:
            mean_weights(labels, n_clusters, weights)
        centre_products(K, labels, weights, products, norms)
        iteration += 1
        residual = np.sum(labels != last) / n
        converged = residual == 0.0
        if robust and converged:
            converged = before - objective <= tol * objective
            residual = (before - objective) / objective if objective > 0.0 else 0.0
    own_distances(diagonal, products, norms, labels, own)
    objective = _objective(own, robust)
    return objective, iteration, converged, residual


@njit(cache=True, nogil=True)
def within_products(K, members, weights):
    """``K[members][:, members] @ weights`` without gathering the block."""
    products = np.zeros(members.shape[0])
    for i in range(members.shape[0]):
        row = K[members[i]]
        for l in range(members.shape[0]):
            products[i] += weights[l] * row[members[l]]
    return products
