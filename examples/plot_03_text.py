"""
Documents
=========

414 news documents in nine topics (TR11), as tf-idf weights of 6,429 words. The matrix is sparse
and stays so. Topics differ in size by more than tenfold, which clusterers that prefer clusters of
equal size do not like.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from unispectral import SCMK
from unispectral.datasets import fetch_tr11
from unispectral.metrics import scores
from unispectral.plotting import ClusterSizesDisplay, GraphNetworkDisplay

news = fetch_tr11()
print(type(news.data).__name__, news.data.shape, "sizes of the topics:", np.bincount(news.target))

# %%

model = SCMK(n_clusters=9).fit(news.data)
means = KMeans(9, n_init=10, random_state=0).fit(news.data)
for name, labels in (("SCMK", model.labels_), ("k-means", means.labels_)):
    found = scores(news.target, labels)
    print(f"{name:8s} accuracy {found['accuracy']:.3f}   NMI {found['nmi']:.3f}")

# %%
# The learned graph drawn as a network: documents are joined to those that explain them.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
GraphNetworkDisplay.from_estimator(model, ax=left)
ClusterSizesDisplay.from_estimator(model, ax=right)
plt.show()
