"""
Several views of the same digits
================================

Five ways to describe an image: its pixels, the ink of each zone, the magnitudes of its Fourier
transform, which do not mind where the digit stands, its profiles seen from each side, and the
directions of its edges. SCMK gives each view a graph and a weight.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import scale

from unispectral import SCMK
from unispectral.datasets import load_multiview_digits
from unispectral.metrics import clustering_accuracy
from unispectral.plotting import KernelWeightsDisplay

digits = load_multiview_digits()
y = digits.target

# %%
# Each view alone, all columns side by side, and all views together:

accuracy = {
    name: clustering_accuracy(y, SCMK(n_clusters=10).fit(view).labels_)
    for name, view in digits.views.items()
}
together = np.concatenate([scale(view) for view in digits.views.values()], axis=1)
accuracy["one table"] = clustering_accuracy(y, SCMK(n_clusters=10).fit(together).labels_)
model = SCMK(n_clusters=10).fit(digits.views)
accuracy["five views"] = clustering_accuracy(y, model.labels_)
for name, value in accuracy.items():
    print(f"{name:12s} {value:.3f}")

# %%
# What each view contributed:

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.barh(list(accuracy), list(accuracy.values()), color="#0072b2")
left.invert_yaxis()
left.set(xlabel="accuracy", xlim=(0, 1))
KernelWeightsDisplay.from_estimator(model, ax=right)
plt.show()
