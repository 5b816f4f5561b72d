"""
Several views of the same digits
================================

Five ways to describe an image: its pixels, the ink of each zone, the magnitudes of its Fourier
transform, which do not depend on where the digit stands, its profiles seen from each side, and the
directions of its edges. Given together, the views share one graph: samples are neighbours if they
are near in all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from unispectral import UnifiedSpectralClustering
from unispectral.datasets import load_multiview_digits
from unispectral.metrics import clustering_accuracy

digits = load_multiview_digits()
y = digits.target

# %%
# Each view alone, all columns side by side, and the views together:

accuracy = {}
tables = {**digits.views, "side by side": np.hstack(list(digits.views.values()))}
for name, table in tables.items():
    alone = UnifiedSpectralClustering(n_clusters=10).fit(table)
    accuracy[name] = clustering_accuracy(y, alone.labels_)
model = UnifiedSpectralClustering(n_clusters=10).fit(digits.views)
accuracy["five views"] = clustering_accuracy(y, model.labels_)
for name, value in accuracy.items():
    print(f"{name:12s} {value:.3f}")

# %%
# Five views are not always better than the best of them, but without labels nobody knows which one
# that is. What can be known is how clearly the clusters show in each view's own graph:

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.barh(list(accuracy), list(accuracy.values()), color="#0072b2")
left.set(title="accuracy, by the known digits", xlim=(0, 1))
right.barh(list(digits.views), model.kernel_agreement_, color="#e69f00")
right.set(title="kernel_agreement_, without them", xlim=(0, 1))
for ax in (left, right):
    ax.invert_yaxis()

# %%
# Views that show nothing are left out. Here are three more, of random numbers:

rng = np.random.default_rng(0)
noise = {f"noise {i}": rng.normal(size=(len(y), 64)) for i in range(3)}
noisy = UnifiedSpectralClustering(n_clusters=10).fit({**digits.views, **noise})
for name, weight in noisy.view_weights_.items():
    print(f"{name:12s} {weight:.2f}")
print("same labels as without them:", bool((noisy.labels_ == model.labels_).all()))
plt.show()
