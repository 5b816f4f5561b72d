"""
How many clusters
=================

``n_clusters="auto"`` reads the number off the graph of the samples: a graph of *c* parts has *c*
small eigenvalues, and the next one is large in proportion. Where no eigenvalue stands out, the
number counts whose clusters exceed most what samples without clusters would show. Both are kept in
``cluster_evidence_``, to be looked at: they say how sure the answer is, and what the runner-up is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs

from unispectral import UnifiedSpectralClustering
from unispectral.plotting import ClusterCountDisplay, SpectrumDisplay

wine = load_wine().data
model = UnifiedSpectralClustering(n_clusters="auto").fit(wine)
print(f"wines: {model.n_clusters_} clusters (there are 3 growers)")

# %%
# The evidence for each number, and the spectrum of the graph that was learned for the chosen one.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
ClusterCountDisplay.from_estimator(model, ax=left)
SpectrumDisplay.from_estimator(model, ax=right)

# %%
# Well-separated groups are easy. Real data need not fall into as many clusters as they have names:
# two kinds of iris overlap, and some digits are written in two ways. Where the bars are of similar
# height, no number is *the* right one.

angle = 2 * np.pi * np.arange(7) / 7
circle = 6 * np.c_[np.cos(angle), np.sin(angle)]
tables = {
    "seven groups": make_blobs(400, centers=circle, cluster_std=0.5, random_state=0)[0],
    "iris": load_iris().data,
    "digits": load_digits().data,
}
figure, grid = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for ax, (name, X) in zip(grid, tables.items(), strict=True):
    found = UnifiedSpectralClustering(n_clusters="auto").fit(X)
    ClusterCountDisplay.from_estimator(found, ax=ax)
    ax.set_title(f"{name}: {found.n_clusters_}")
plt.show()
