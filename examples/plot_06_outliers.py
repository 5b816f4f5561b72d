"""
Outliers
========

Digits, and among them images of pure noise. ``outlier_score_`` is high for samples that are far
from all others; ``membership_`` says how clearly a sample belongs to its cluster. Both come with
the fit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from unispectral import UnifiedSpectralClustering

X = load_digits().data
rng = np.random.default_rng(0)
noise = rng.uniform(0, 16, size=(len(X) // 20, X.shape[1]))
mixed = np.concatenate([X, noise])
strange = np.arange(len(mixed)) >= len(X)

model = UnifiedSpectralClustering(n_clusters=10).fit(mixed)
print(f"AUC of outlier_score_: {roc_auc_score(strange, model.outlier_score_):.3f}")

# %%

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
bins = np.linspace(0, model.outlier_score_.max(), 60)
ax.hist(model.outlier_score_[~strange], bins, label="digits", color="#0072b2")
ax.hist(model.outlier_score_[strange], bins, label="noise", color="#d55e00")
ax.set(xlabel="outlier score", ylabel="samples")
ax.legend()

# %%
# The strangest of the real digits, and the most doubtful: those whose largest membership is least.

real = np.arange(len(X))
strangest = real[np.argsort(-model.outlier_score_[: len(X)])[:10]]
doubtful = real[np.argsort(model.membership_[: len(X)].max(axis=1))[:10]]
figure, grid = plt.subplots(2, 10, figsize=(10, 2.4), layout="constrained")
for row, chosen, title in zip(grid, (strangest, doubtful), ("strange", "doubtful"), strict=True):
    for ax, sample in zip(row, chosen, strict=True):
        ax.imshow(X[sample].reshape(8, 8), cmap="Greys")
        ax.set_xticks([])
        ax.set_yticks([])
    row[0].set_ylabel(title)
plt.show()
