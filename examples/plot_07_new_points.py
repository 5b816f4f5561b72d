"""
New points
==========

A model fitted on a part of the digits places the rest. Each new image is written as a sparse
combination of training images; the mean of their places, weighted by the combination, is its own.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from unispectral import UnifiedSpectralClustering
from unispectral.metrics import clustering_accuracy
from unispectral.plotting import EmbeddingDisplay

X, y = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

model = UnifiedSpectralClustering(n_clusters=10).fit(train)
labels = model.predict(test)
everything = UnifiedSpectralClustering(n_clusters=10).fit(X)

print(f"half that was fitted   {clustering_accuracy(y_train, model.labels_):.3f}")
print(f"half that is new       {clustering_accuracy(y_test, labels):.3f}")
print(f"all fitted at once     {clustering_accuracy(y, everything.labels_):.3f}")

# %%
# Training samples keep their labels:

print(f"same labels on the training half: {(model.predict(train) == model.labels_).mean():.3f}")

# %%
# ``transform`` gives the coordinates. New images, outlined, fall where training images of their
# cluster are.

EmbeddingDisplay.from_estimator(model, new=test)
plt.show()
