"""Synthetic problems: shapes, mixtures, subspaces, topics, faces under changing light."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons

__all__ = [
    "animals",
    "anisotropic",
    "blurred_views",
    "circles",
    "illumination",
    "mixture",
    "moons",
    "separated_blobs",
    "spirals",
    "subspaces",
    "topics",
    "varied",
]

Labelled = tuple[np.ndarray, np.ndarray]


def moons(seed: int, *, n: int = 400, noise: float = 0.06) -> Labelled:
    """Two half moons."""
    return make_moons(n, noise=noise, random_state=seed)


def circles(seed: int, *, n: int = 400, noise: float = 0.06, factor: float = 0.5) -> Labelled:
    """A circle inside another."""
    return make_circles(n, noise=noise, factor=factor, random_state=seed)


def anisotropic(seed: int, *, n: int = 500) -> Labelled:
    """Three blobs, stretched and leaning."""
    X, y = make_blobs(n, centers=3, random_state=170 + seed)
    return X @ np.array([[0.6, -0.6], [-0.4, 0.8]]), y


def varied(seed: int, *, n: int = 500) -> Labelled:
    """Three blobs of different spread."""
    return make_blobs(n, centers=3, cluster_std=[1.0, 2.5, 0.5], random_state=170 + seed)


def spirals(seed: int, *, arms: int = 2, n: int = 600, noise: float = 0.02) -> Labelled:
    """Arms that wind around each other one and a half times."""
    rng = np.random.default_rng(seed)
    each = n // arms
    turn = 3.0 * np.pi
    points = []
    for arm in range(arms):
        radius = np.sqrt(rng.uniform(0.05, 1.0, each))
        angle = radius * turn + 2.0 * np.pi * arm / arms
        points.append(radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))
    X = np.vstack(points)
    return X + noise * rng.normal(size=X.shape), np.repeat(np.arange(arms), each)


def separated_blobs(
    seed: int, sizes: list[int], *, n_features: int = 2, spread: float = 1.0, gap: float = 8.0
) -> Labelled:
    """Round blobs whose centres are at least ``gap`` apart."""
    rng = np.random.default_rng(seed)
    side = gap * len(sizes) ** (1.0 / n_features)
    centres: list[np.ndarray] = []
    while len(centres) < len(sizes):
        centre = rng.uniform(-side, side, n_features)
        if all(np.linalg.norm(centre - other) > gap for other in centres):
            centres.append(centre)
    y = np.repeat(np.arange(len(sizes)), sizes)
    return np.array(centres)[y] + spread * rng.normal(size=(len(y), n_features)), y


def subspaces(
    seed: int,
    *,
    n_clusters: int = 5,
    dimension: int = 3,
    n_features: int = 30,
    each: int = 60,
    noise: float = 0.05,
) -> Labelled:
    """Points of random linear subspaces, all through the origin."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(n_clusters):
        basis = np.linalg.qr(rng.normal(size=(n_features, dimension)))[0]
        parts.append(rng.normal(size=(each, dimension)) @ basis.T)
    X = np.vstack(parts)
    return X + noise * rng.normal(size=X.shape), np.repeat(np.arange(n_clusters), each)


def mixture(
    seed: int,
    *,
    n_clusters: int = 3,
    n_features: int = 4,
    n: int = 150,
    separation: float = 1.3,
    balanced: bool = True,
) -> Labelled:
    """Gaussians of random shape that overlap a little, like measured quantities do."""
    rng = np.random.default_rng(seed)
    root = np.sqrt(n_features)
    centres = rng.normal(size=(n_clusters, n_features)) * separation * np.sqrt(2.0) / root
    shares = np.ones(n_clusters) / n_clusters
    if not balanced:
        shares = rng.dirichlet(np.full(n_clusters, 3.0))
    sizes = np.maximum((n * shares).astype(int), 15)
    parts = []
    for centre, size in zip(centres, sizes, strict=True):
        axes = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
        axes *= 1.6 / root * np.exp(rng.uniform(-1, 1, n_features) * np.log(2.0))
        parts.append(centre + rng.uniform(0.6, 1.2) * rng.normal(size=(size, n_features)) @ axes)
    X = np.vstack(parts)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.repeat(np.arange(n_clusters), sizes)


def animals(seed: int, *, n_kinds: int = 3, n_features: int = 5, each: int = 50) -> Labelled:
    """Measurements that all grow with the size of an animal; kinds differ in proportions."""
    rng = np.random.default_rng(seed)
    kinds = np.repeat(np.arange(n_kinds), each)
    size = np.exp(rng.normal(0, 0.25, len(kinds)))[:, None]
    proportions = np.exp(rng.normal(0, 0.06, (n_kinds, n_features)))
    usual = rng.uniform(5, 40, n_features)
    noise = np.exp(rng.normal(0, 0.01, (len(kinds), n_features)))
    return size * usual * proportions[kinds] * noise, kinds


def illumination(
    seed: int,
    *,
    n_people: int = 60,
    each: int = 7,
    n_pixels: int = 600,
    identity: float = 0.06,
    noise: float = 0.1,
    n_lights: int = 4,
) -> Labelled:
    """Faces: the light, common to all, moves the pixels far more than the person does."""
    rng = np.random.default_rng(seed)
    walks = np.cumsum(rng.normal(size=(n_lights, n_pixels)), axis=1) / np.sqrt(n_pixels)
    lights = np.abs(3.0 * walks + 1.0)
    face = np.abs(1.0 + 0.3 * np.cumsum(rng.normal(size=n_pixels)) / np.sqrt(n_pixels))
    settings = rng.dirichlet(np.full(n_lights, 0.5), size=each)
    rows = []
    for _ in range(n_people):
        skin = face * (1.0 + identity * rng.normal(size=n_pixels))
        mixed = settings + 0.1 * rng.normal(size=settings.shape)
        rows.append(skin * (mixed @ lights))
    X = np.vstack(rows)
    X += noise * X.std() * rng.normal(size=X.shape)
    return _unit(X), np.repeat(np.arange(n_people), each)


def topics(
    seed: int,
    *,
    n_clusters: int = 8,
    n: int = 500,
    n_words: int = 3000,
    evenness: float = 2.0,
    repeated: float = 0.0,
    background: float = 0.55,
) -> Labelled:
    """Documents as tf-idf rows: a topic, one of its three sub-topics, and words of no topic."""
    rng = np.random.default_rng(seed)
    main = rng.dirichlet(np.full(n_words, 0.05), size=n_clusters)
    common = rng.dirichlet(np.full(n_words, 0.3))
    shares = (rng.dirichlet(np.full(n_clusters, evenness)) + 0.3 / n_clusters) / 1.3
    y = rng.choice(n_clusters, size=n, p=shares)
    finer = rng.dirichlet(np.full(n_words, 0.05), size=(n_clusters, 3))
    counts = np.zeros((n, n_words))
    for i in range(n):
        words = 0.5 * main[y[i]] + 0.5 * finer[y[i], rng.integers(3)]
        words = (1.0 - background) * words + background * common
        if rng.random() < 0.3:  # a passing mention of something else
            words = 0.7 * words + 0.3 * main[rng.integers(n_clusters)]
        length = max(10, int(rng.lognormal(np.log(80.0), 0.5)))
        counts[i] = rng.multinomial(length, words / words.sum())
    for i in np.flatnonzero(rng.random(n) < repeated).tolist():  # agencies print each other's news
        other = int(rng.integers(n))
        counts[i], y[i] = counts[other], y[other]
        counts[i, rng.integers(n_words)] += 1
    used = np.maximum((counts > 0).sum(axis=0), 1)
    weights = np.where(counts > 0, 1.0 + np.log(np.maximum(counts, 1.0)), 0.0)
    return _unit(weights * np.log(n / used)), np.unique(y, return_inverse=True)[1]


def blurred_views(
    seed: int,
    *,
    n: int = 400,
    n_clusters: int = 4,
    separations: tuple[float, ...] = (2.0, 1.5, 1.5, 0.7, 0.5),
    merged: int = 0,
    n_features: int = 8,
    other: bool = False,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Views of the same clusters: bent, each as clear as its separation, 0 for pure noise.

    In each view ``2 * merged`` of the clusters coincide in pairs. With ``other``, one view more
    shows clear clusters of something else.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(n_clusters, size=n)
    views = {}
    for number, separation in enumerate(separations):
        seen = np.arange(n_clusters)
        order = rng.permutation(n_clusters)
        seen[order[:merged]] = seen[order[merged : 2 * merged]]
        views[f"view {number}"] = _bent(rng, seen[y], n_clusters, separation, n_features)
    if other:
        strange = rng.integers(n_clusters, size=n)
        views["other"] = _bent(rng, strange, n_clusters, 1.2 * max(separations), n_features)
    return views, y


def _bent(
    rng: np.random.Generator, y: np.ndarray, n_clusters: int, separation: float, d: int
) -> np.ndarray:
    centres = rng.normal(size=(n_clusters, d)) * separation / np.sqrt(d)
    points = centres[y] + rng.normal(size=(len(y), d)) / np.sqrt(d)
    return np.tanh(points @ rng.normal(size=(d, 2 * d)))


def _unit(X: np.ndarray) -> np.ndarray:
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
