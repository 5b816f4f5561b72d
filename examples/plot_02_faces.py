"""
Faces
=====

165 photographs of 15 people (YALE), with changing light and expression. The differences between
two lights are larger than those between two people, which is what makes faces hard: directions in
which all images vary drown the ones that tell people apart. Whitened geometries shrink the former;
they compete with the plain distance, and the data decide.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans

from unispectral import SCMK
from unispectral.datasets import fetch_yale
from unispectral.metrics import clustering_accuracy
from unispectral.plotting import KernelWeightsDisplay, RepresentativesDisplay

faces = fetch_yale()
photographs = fetch_yale(raw=True).images
model = SCMK(n_clusters=15).fit(faces.data)

means = KMeans(15, n_init=10, random_state=0).fit(faces.data)
print(f"SCMK    accuracy {clustering_accuracy(faces.target, model.labels_):.3f}")
print(f"k-means accuracy {clustering_accuracy(faces.target, means.labels_):.3f}")

# %%
# Members of each cluster, the surest first, as the photographs show them.

RepresentativesDisplay.from_estimator(model, photographs, image_shape=(32, 32), n_members=8)

# %%
# How much each geometry counted:

KernelWeightsDisplay.from_estimator(model)
plt.show()
