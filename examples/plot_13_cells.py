"""
Cells
=====

700 blood cells, the expression of 765 genes each, which come with scanpy. A count of genes is no
column to take a plain distance in; as usual the cells are described by their principal components.
The types of the cells were known to those who published the data; here they serve to look at the
answer.
"""

import matplotlib.pyplot as plt
import pandas as pd
import scanpy as sc
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering
from unispectral.plotting import ClusterCountDisplay, EmbeddingDisplay, TreeDisplay

cells = sc.datasets.pbmc68k_reduced()
components = cells.obsm["X_pca"][:, :20]
types = cells.obs["bulk_labels"]
print(cells.n_obs, "cells,", cells.n_vars, "genes,", types.nunique(), "published types")

# %%
# The number of clusters is left to the data. Some of the published types are hardly apart in these
# genes; the evidence says for which numbers something speaks.

model = UnifiedSpectralClustering().fit(components)
print(model.summary())
ClusterCountDisplay.from_estimator(model)

# %%
# What the published types are among the clusters:

print(pd.crosstab(types, model.labels_, colnames=["cluster"]))
print(f"adjusted Rand index: {adjusted_rand_score(types, model.labels_):.2f}")

# %%
# A cluster gets the name of the type that most of its cells have, with its number where two share
# one. The map of the clusters by name, and beside it the published types:

most = pd.crosstab(model.labels_, types).idxmax(axis=1)
shared = most.duplicated(keep=False)
model.rename([f"{name} {i}" if shared[i] else name for i, name in most.items()])
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.2), layout="constrained")
EmbeddingDisplay.from_estimator(model, ax=left)
EmbeddingDisplay.from_estimator(model, ax=right, color=types)

# %%
# Finer and coarser clusters are branches of one tree:

TreeDisplay.from_estimator(model)

# %%
# In a project with scanpy, :doc:`/scverse` does this in one line and keeps the labels with the
# cells.

plt.show()
