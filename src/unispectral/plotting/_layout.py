"""Where to put points and names on paper."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from unispectral.plotting._base import Clusters

#: By how much a disc is wider where nothing is sure.
_WIDER = 1.5
#: Samples that fit nowhere lie so far from the middle of their disc, in its radii.
_OUTSIDE = 1.35
#: Steps in which springs come to rest.
_LAYOUT_STEPS = 300


def sunflower(n: int) -> np.ndarray:
    """Points spread evenly over the unit disc, from the middle outwards."""
    angle = np.arange(n) * np.pi * (3.0 - np.sqrt(5.0))
    radius = np.sqrt((np.arange(n) + 0.5) / max(n, 1))
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def spring_layout(weights: np.ndarray) -> np.ndarray:
    """Positions at which springs, repulsion of all pairs and a pull to the middle are in balance.

    Fruchterman and Reingold's forces in matrix form, for a symmetric matrix of weights. The result
    is centred and lies within the unit square around the origin.
    """
    n = len(weights)
    position = sunflower(n)
    if n < 3:
        return position
    springs = sp.csr_array(weights)
    strength = springs / max(float(springs.sum(axis=1).mean()), 1e-300)
    degrees = np.asarray(strength.sum(axis=1)).ravel()
    ideal = 1.0 / n  # the square of the distance at which two nodes feel at ease
    for step in range(_LAYOUT_STEPS):
        squares = np.einsum("ij,ij->i", position, position)
        distances = squares[:, None] + squares[None, :] - 2.0 * (position @ position.T)
        repulsion = ideal / np.maximum(distances, 1e-3 * ideal)
        np.fill_diagonal(repulsion, 0.0)
        force = position * repulsion.sum(axis=1)[:, None] - repulsion @ position
        force -= 0.05 * np.sqrt(n) * (degrees[:, None] * position - strength @ position)
        force -= 2.0 * position
        length = np.linalg.norm(force, axis=1)
        limit = 0.15 * (1.0 - step / _LAYOUT_STEPS) ** 2 + 1e-4
        position += force * (np.minimum(length, limit) / np.maximum(length, 1e-12))[:, None]
    position -= position.mean(axis=0)
    return position / max(float(np.abs(position).max()), 1e-12)


def cluster_map(
    rows: np.ndarray,
    clusters: Clusters,
    membership: np.ndarray | None,
    doubt: float = 0.0,
    outlier: np.ndarray | None = None,
) -> np.ndarray:
    """Clusters side by side, samples between them as their memberships say.

    A sample goes towards other clusters by as much as it is in doubt more than half of its own
    cluster's members are: where all memberships are low, as in large noisy data, clusters would
    otherwise lie on top of each other. But a disc is the wider, the less sure its members are, or
    the more doubtful all clusters: discs of doubtful clusters run into each other. Samples that
    fit nowhere lie around the disc of their cluster.
    """
    count, groups = len(clusters.names), clusters.members()
    if membership is None or membership.shape[1] != count:
        means = np.stack([rows[group].mean(axis=0) for group in groups])
        membership = np.maximum(rows @ means.T, 0.0) ** 4
        membership = membership / np.maximum(membership.sum(axis=1, keepdims=True), 1e-300)
    overlap = np.stack([membership[group].mean(axis=0) for group in groups])
    np.fill_diagonal(overlap, 0.0)
    centres = spring_layout((overlap + overlap.T) / 2)
    gaps = np.linalg.norm(centres[:, None] - centres[None, :], axis=2)
    np.fill_diagonal(gaps, np.inf)
    gaps = gaps.min(axis=1) if count > 1 else np.ones(1)
    sizes = clusters.sizes
    radius = np.minimum(0.38 * np.median(gaps) * np.sqrt(sizes / sizes.max()), 0.45 * gaps)
    own = [membership[group, code].mean() for code, group in enumerate(groups)]
    radius = radius * (1.0 + _WIDER * np.maximum(1.0 - np.array(own), np.clip(doubt, 0.0, 1.0)))
    points = np.empty((len(membership), 2))
    for code, group in enumerate(groups):
        shares = membership[group]
        unsure = 1.0 - shares[:, code]
        usual = float(np.median(unsure))
        step = np.clip((unsure - usual) / max(1.0 - usual, 1e-12), 0.0, 1.0)
        towards = shares @ centres - centres[code]  # all the way it would be 1 / unsure as long
        points[group] = centres[code] + (step / np.maximum(unsure, 1e-12))[:, None] * towards
        strays = np.zeros(len(group), dtype=bool) if outlier is None else outlier[group]
        surest_first = group[np.lexsort((unsure, strays))]
        places = sunflower(len(group))
        outside = places[len(group) - int(strays.sum()) :]
        outside *= _OUTSIDE / np.linalg.norm(outside, axis=1, keepdims=True)
        points[surest_first] += places * radius[code]
    return points


def spacing(points: np.ndarray) -> float:
    """How far the nearest other point usually is."""
    gaps = cKDTree(points).query(points, k=min(2, len(points)))[0]
    return float(np.median(gaps.reshape(len(points), -1)[:, -1]))


def free_places(points: np.ndarray, codes: np.ndarray, box: tuple[float, float]) -> np.ndarray:
    """Where each cluster's name fits: in its middle, or beside it if that would hide members.

    Names are boxes of the given width and height, in the units of the points. The middle will do
    where the box hides few of the cluster's members and no other name; else the nearest place
    around it that hides least. No name leaves the picture. Small clusters choose last.
    """
    half = np.array(box) / 2
    low = points.min(axis=0) - half[1]
    high = points.max(axis=0) + half[1]
    turns = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    ring = np.column_stack([np.cos(turns), np.sin(turns)])
    sizes = np.bincount(codes)
    places = np.full((len(sizes), 2), np.inf)
    for code in np.argsort(-sizes, kind="stable"):
        members = points[codes == code]
        middle = np.median(members, axis=0)
        reach = np.quantile(np.abs(members - middle), 0.9, axis=0) + 1.2 * half
        rings = [middle + ring * (reach + step * half) for step in np.arange(0.0, 5.0, 0.5)]
        tried = np.concatenate([[middle], *rings])
        hidden = np.array([(np.abs(points - t) < half).all(axis=1).sum() for t in tried])
        names = np.array([(np.abs(places - t) < 2 * half).all(axis=1).sum() for t in tried])
        leaving = ((tried - half < low) | (tried + half > high)).any(axis=1)
        cost = hidden + 1e6 * names + np.r_[0, np.repeat(2 * np.arange(10), 16)]
        cost += 1e4 * leaving
        cost[0] = cost[0] if hidden[0] > 0.08 * len(members) else 1e6 * names[0] - 1
        places[code] = tried[np.argmin(cost)]
    return places


def middle_places(points: np.ndarray, codes: np.ndarray, box: tuple[float, float]) -> np.ndarray:
    """The middle of each cluster, for its name; infinite where a larger one's name is there."""
    sizes = np.bincount(codes)
    places = np.full((len(sizes), 2), np.inf)
    for code in np.argsort(-sizes, kind="stable"):
        middle = np.median(points[codes == code], axis=0)
        if not (np.abs(places - middle) < box).all(axis=1).any():
            places[code] = middle
    return places
