"""
Documents as embeddings
=======================

Texts are clustered by vectors that stand for them: of a language model, or, as here, of their
words. The documents are the descriptions of scikit-learn's classes, which are there without a
download. The columns of an embedding have no meaning, so the clusters are described by words.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.discovery import all_estimators

from unispectral import UnifiedSpectralClustering
from unispectral.plotting import EmbeddingDisplay
from unispectral.report import summarise

classes = dict(all_estimators())
names = [name for name, found in classes.items() if found.__doc__]
texts = [classes[name].__doc__.split("Parameters")[0] for name in names]
print(len(texts), "documents, such as", names[0])
print(" ".join(texts[0].split())[:150], "…")

# %%
# Vectors of length one in 20 dimensions. Any other embedding takes the place of these three steps:

embed = make_pipeline(
    TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=2),
    TruncatedSVD(20, random_state=0),
    Normalizer(),
)
vectors = embed.fit_transform(texts)
model = UnifiedSpectralClustering(n_clusters=10).fit(vectors)

# %%
# ``texts`` gives the words by which each cluster differs from the others, ``names`` the documents.
# Descriptions of methods shade into each other, and the summary does not hide it:

summary = summarise(model, vectors, texts=texts, names=names)
print(summary)

# %%
# The documents that each cluster is surest of:

for cluster in summary.clusters:
    members = np.flatnonzero(model.labels_ == cluster.number)
    surest = members[np.argsort(-model.membership_[members, cluster.number], kind="stable")[:4]]
    print(f"{cluster.proposal}: {', '.join(names[i] for i in surest)}")

# %%
# The map, with these words as names:

if all(cluster.proposal for cluster in summary.clusters):
    model.rename([cluster.proposal for cluster in summary.clusters])
EmbeddingDisplay.from_estimator(model)
plt.show()
