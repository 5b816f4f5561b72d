"""
Samples that come later
=======================

Six kinds of digits in five batches: fours and fives are absent at first. New images are taken into
the model; where some fit nowhere and make a clear cluster, it is born.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering

X, y = load_digits(n_class=6, return_X_y=True)
rng = np.random.default_rng(0)
when = rng.uniform(0.0, 1.0, len(y))
for digit, start in ((4, 0.3), (5, 0.5)):
    when[y == digit] = rng.uniform(start, 1.0, (y == digit).sum())
batches = np.array_split(np.argsort(when), 5)

model = UnifiedSpectralClustering(committee=False).fit(X[batches[0]])
sizes = [dict(zip(model.cluster_ids_, np.bincount(model.labels_), strict=True))]
for batch in batches[1:]:
    model.update(X[batch])
    sizes.append(dict(zip(model.cluster_ids_, np.bincount(model.labels_), strict=True)))

# %%
# What has happened, growth apart:

changes = model.changes_
print(changes[changes["change"] != "grew"].to_string(index=False))

# %%
# Clusters keep their numbers while all samples are clustered anew. Each band is one of them.

numbers = sorted({number for one in sizes for number in one})
counts = np.array([[one.get(number, 0) for one in sizes] for number in numbers])
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.stackplot(np.arange(1, len(sizes) + 1), counts, labels=numbers, colors=plt.cm.tab20.colors)
axes.set(xlabel="batches", ylabel="images", title="Clusters by their lasting numbers")
axes.legend(loc="upper left", ncols=2, fontsize="small")
plt.show()

# %%
# The end beside a fit on everything:

whole = UnifiedSpectralClustering(committee=False).fit(X)
order = np.concatenate(batches)
print(f"in batches      ARI {adjusted_rand_score(y[order], model.labels_):.3f}")
print(f"all at once     ARI {adjusted_rand_score(y, whole.labels_):.3f}")
