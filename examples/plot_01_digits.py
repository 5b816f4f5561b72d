"""
Handwritten digits
==================

1,797 images of 8 × 8 pixels that come with scikit-learn. The clusterers see the pixels only; the
known digits are used afterwards, to score what was found.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits

from unispectral import UnifiedSpectralClustering
from unispectral.metrics import clustering_accuracy, normalized_mutual_info
from unispectral.plotting import EmbeddingDisplay, GraphMatrixDisplay, RepresentativesDisplay

X, y = load_digits(return_X_y=True)
model = UnifiedSpectralClustering(n_clusters=10).fit(X)

# %%
# Beside two of scikit-learn's clusterers, all of them told only that there are ten clusters:

peers = {
    "unispectral": model,
    "k-means": KMeans(10, n_init=10, random_state=0).fit(X),
    "spectral, 10 neighbours": SpectralClustering(
        10, affinity="nearest_neighbors", random_state=0
    ).fit(X),
}
for name, peer in peers.items():
    accuracy = clustering_accuracy(y, peer.labels_)
    nmi = normalized_mutual_info(y, peer.labels_)
    print(f"{name:24s} accuracy {accuracy:.3f}   NMI {nmi:.3f}")

# %%
# The images that each cluster is surest of. The learned graph knows nothing of digits, yet most
# clusters are one digit. Ten clusters need not be the ten digits, though: some digits are written
# in two ways, and others look alike. The sizes show where that happened.

print("sizes of the clusters:", np.bincount(model.labels_))
RepresentativesDisplay.from_estimator(model, X, image_shape=(8, 8), n_members=10)

# %%
# The learned graph, its rows and columns ordered by cluster: nearly all of its weight lies in
# blocks on the diagonal. On the right the samples as the embedding places them.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
GraphMatrixDisplay.from_estimator(model, ax=left)
EmbeddingDisplay.from_estimator(model, ax=right)
plt.show()
