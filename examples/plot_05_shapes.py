"""
Shapes that are not round
=========================

Two crescents, two rings, three stretched groups and a spiral pair, beside scikit-learn's
clusterers. All methods are told the number of clusters, except HDBSCAN, which finds its own and
calls what it leaves out noise (grey).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import make_blobs, make_circles, make_moons

from unispectral import UnifiedSpectralClustering


def spirals(n, rng):
    """Two arms that wind around each other."""
    angle = 3.5 * np.pi * np.sqrt(rng.uniform(0.05, 1, n // 2))
    arm = np.c_[np.cos(angle), np.sin(angle)] * angle[:, None]
    return np.r_[arm, -arm] + rng.normal(scale=0.25, size=(2 * (n // 2), 2))


n = 400
stretched = make_blobs(n, random_state=170)[0] @ np.array([[0.6, -0.6], [-0.4, 0.8]])
shapes = {
    "crescents": (make_moons(n, noise=0.06, random_state=0)[0], 2),
    "rings": (make_circles(n, noise=0.04, factor=0.5, random_state=0)[0], 2),
    "stretched": (stretched, 3),
    "spirals": (spirals(n, np.random.default_rng(0)), 2),
}


def methods(k):
    """One clusterer of each kind for k clusters."""
    return {
        "unispectral": UnifiedSpectralClustering(n_clusters=k),
        "k-means": KMeans(k, n_init=10, random_state=0),
        "Ward": AgglomerativeClustering(k),
        "spectral (rbf)": SpectralClustering(k, random_state=0),
        "HDBSCAN": HDBSCAN(copy=True),
    }


# %%

names = list(methods(2))
figure, grid = plt.subplots(len(shapes), len(names), figsize=(11, 9), layout="constrained")
palette = np.array(["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"])
for row, (shape, (X, k)) in zip(grid, shapes.items(), strict=True):
    for ax, method in zip(row, methods(k).values(), strict=True):
        labels = method.fit_predict((X - X.mean(axis=0)) / X.std(axis=0))
        colours = np.where(labels < 0, "#bbbbbb", palette[labels % len(palette)])
        ax.scatter(*X.T, s=6, c=colours)
        ax.set_xticks([])
        ax.set_yticks([])
    row[0].set_ylabel(shape)
for ax, name in zip(grid[0], names, strict=True):
    ax.set_title(name)
plt.show()
