"""
Faces under changing light
==========================

Twenty faces, each lit from sixteen directions. They are drawn here, so that the example needs no
download: an ellipsoid with bumps, eyes, brows, a mouth and a complexion of its own for every
person, and a lamp that moves. Two pictures of one person under different light differ more than
those of two persons under the same light, as with photographs.

Directions in which *all* pictures vary drown the ones that tell persons apart. Whitening shrinks
the former. It competes with the plain distance, on few samples and without labels.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.cluster import KMeans, SpectralClustering

from unispectral import UnifiedSpectralClustering
from unispectral.metrics import clustering_accuracy
from unispectral.plotting import RepresentativesDisplay

SIZE = 24
down, across = np.mgrid[-1 : 1 : SIZE * 1j, -1 : 1 : SIZE * 1j]
depth = 1 - across**2 / 0.62 - down**2 / 0.9


def person(rng):
    """The normals of a surface and the reflectance of a skin."""
    apart, level, brow = rng.uniform([0.2, -0.37, 0.1], [0.4, -0.13, 0.6])
    mouth, width = rng.uniform([0.33, 0.15], [0.57, 0.35])
    skin = 0.8 + 0.25 * gaussian_filter(rng.normal(size=(SIZE, SIZE)), 1.5)
    for side in (-1, 1):
        beside = across - side * apart
        skin -= 0.6 * np.exp(-((beside / 0.12) ** 2) - ((down - level) / 0.08) ** 2)
        skin -= brow * np.exp(-((beside / 0.2) ** 2) - ((down - level + 0.2) / 0.06) ** 2)
    skin -= 0.5 * np.exp(-((across / width) ** 2) - ((down - mouth) / 0.07) ** 2)
    surface = np.sqrt(np.clip(depth, 0.02, None))
    surface += 0.05 * gaussian_filter(rng.normal(size=(SIZE, SIZE)), 2.5)
    slopes = np.gradient(-surface, 2 / (SIZE - 1))
    normals = np.stack([slopes[1], slopes[0], np.ones_like(surface)], axis=-1)
    return normals / np.linalg.norm(normals, axis=-1, keepdims=True), np.clip(skin, 0.05, 1.2)


def pictures(n_people, n_lights, rng):
    """Every person under as many lights, and who it is."""
    rows = []
    for _ in range(n_people):
        normals, skin = person(rng)
        for _ in range(n_lights):
            turn, tilt = rng.uniform([-0.7, -0.4], [0.7, 0.4])
            lamp = np.array([np.sin(turn), np.sin(tilt), np.cos(turn)])
            picture = (depth > 0) * skin * (0.3 + np.clip(normals @ lamp, 0, None))
            rows.append((picture + rng.normal(scale=0.02, size=picture.shape)).ravel())
    return np.array(rows), np.repeat(np.arange(n_people), n_lights)


X, who = pictures(20, 16, np.random.default_rng(0))

# %%
# Four persons, a row for each:

figure, grid = plt.subplots(4, 10, figsize=(9, 3.8), layout="constrained")
for row, number in zip(grid, range(4), strict=True):
    for ax, picture in zip(row, X[who == number], strict=False):
        ax.imshow(picture.reshape(SIZE, SIZE), cmap="gray", vmin=0, vmax=1.2)
        ax.set_axis_off()

# %%
# How many pictures are put to the right person, with whitening, without, and by others:

model = UnifiedSpectralClustering(n_clusters=20).fit(X)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    plain = UnifiedSpectralClustering(20, whiten=None).fit(X)
found = {
    "unispectral": model,
    "unispectral, whiten=None": plain,
    "k-means": KMeans(20, n_init=10, random_state=0).fit(X),
    "spectral, 10 neighbours": SpectralClustering(
        20, affinity="nearest_neighbors", random_state=0
    ).fit(X),
}
for name, one in found.items():
    print(f"{name:26s} {clustering_accuracy(who, one.labels_):.3f}")

# %%
# Which distance was taken, and what the fit without whitening had to say of its own answer:

print(model.geometry_weights_)
for one in caught:
    print(one.message)

# %%
# Members of each cluster, the surest first.

RepresentativesDisplay.from_estimator(model, X, image_shape=(SIZE, SIZE), n_members=8)
plt.show()
