"""
Many points
===========

The fit never holds an array of all pairs: its time and memory grow little faster than the number
of samples. Here digits are drawn again and again, each time with a little noise. ``N`` is 20,000,
so that this page builds quickly; set it to 1,000,000 and be patient for some minutes.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from unispectral import UnifiedSpectralClustering
from unispectral.metrics import clustering_accuracy
from unispectral.plotting import EmbeddingDisplay

N = 20_000

digits, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
drawn = rng.integers(len(digits), size=N)
X = (digits[drawn] + rng.normal(scale=1.5, size=(N, 64))).astype(np.float32)

# %%
# In large tables neighbours are found by an index rather than by comparing all pairs.

begun = time.perf_counter()
model = UnifiedSpectralClustering(n_clusters=10).fit(X)
print(f"{N:,} samples: {time.perf_counter() - begun:.1f} s")
print(f"accuracy {clustering_accuracy(y[drawn], model.labels_):.3f}")
print(f"{model.graph_.nnz:,} edges, {model.graph_.nnz / N:.1f} for each sample")

# %%
# Pictures draw a part of so many samples:

EmbeddingDisplay.from_estimator(model, max_points=3000)
plt.show()
