"""
Customers of a shop
===================

A table as a shop keeps it: age, visits, the usual basket, days since the last order. Which kinds
of customers are there, how sure is that, and who fits nowhere? The table is made up here, of four
kinds and of some customers that are of none; the model is not told so.
"""

import numpy as np
import pandas as pd

from unispectral import UnifiedSpectralClustering
from unispectral.plotting import ClusterCountDisplay, EmbeddingDisplay, TreeDisplay

rng = np.random.default_rng(0)
kinds = pd.DataFrame(
    {
        "age": [24, 38, 47, 66],
        "visits": [3, 26, 9, 15],
        "basket": [22, 31, 95, 48],
        "days_since_order": [90, 9, 40, 20],
    }
)
kind = np.repeat([0, 1, 2, 3], [150, 120, 90, 60])
customers = kinds.iloc[kind] + [2.0, 0.8, 3.0, 2.0] * rng.normal(size=(len(kind), 4))
low, high = customers.min(), customers.max()
strays = low + (high - low) * pd.DataFrame(rng.uniform(size=(20, 4)), columns=kinds.columns)
customers = pd.concat([customers, strays], ignore_index=True).round(1)
customers.head()

# %%
# Nothing is set. The summary says how many kinds there are and why, how sure that is, what sets
# each apart, and which rows fit nowhere:

model = UnifiedSpectralClustering().fit(customers)
summary = model.summary(customers)
print(summary)

# %%
# The evidence for each number of clusters:

ClusterCountDisplay.from_estimator(model)

# %%
# Names are proposals until somebody gives better ones. They appear in pictures and pages, and are
# saved with the model:

for cluster in summary.clusters:
    print(f"{cluster.number}: {cluster.size} customers, {cluster.proposal}")
names = {}
for cluster, row in customers.groupby(model.labels_).median().iterrows():
    nearest = (np.log(kinds) - np.log(row)).abs().sum(axis=1).idxmin()
    names[cluster] = ["young and rare", "regulars", "large baskets", "pensioners"][nearest]
if len(set(names.values())) == len(names):
    model.rename(names)
EmbeddingDisplay.from_estimator(model)

# %%
# One fit has every number of clusters. ``cut`` gives the labels of another number without a new
# fit, and the tree shows how clusters merge and split:

print(pd.crosstab(model.labels_, model.cut(3), rownames=["fitted"], colnames=["cut(3)"]))
TreeDisplay.from_estimator(model)

# %%
# Customers who fit nowhere, the oddest first; the last twenty rows were made so:

odd = customers.assign(score=model.outlier_score_)[model.outlier_]
odd.sort_values("score", ascending=False).head(8)
