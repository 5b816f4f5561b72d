"""
Documents
=========

Five hundred short texts on five subjects, as tf-idf weights of their words. The texts are drawn
here from lists of words, so that the example needs no download: most words of a text say nothing
of its subject, some are borrowed from another subject, and one subject has eight times as many
texts as another. The matrix is sparse and stays so.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer

from unispectral import UnifiedSpectralClustering
from unispectral.metrics import scores
from unispectral.plotting import GraphMatrixDisplay

SUBJECTS = {
    "cooking": "bake boil butter dough flour garlic grill knife onion oven pan pepper recipe salt "
    "sauce simmer soup spice sugar taste",
    "football": "ball coach corner cup defence fans final forward foul goal keeper kick league "
    "match pass penalty pitch referee score team",
    "astronomy": "asteroid comet crater dark eclipse galaxy gravity infrared lunar mass moon "
    "nebula orbit planet probe radio star sun telescope universe",
    "gardening": "bed bloom bulb compost cutting dig flower frost fruit hedge herb lawn leaf "
    "mulch plant prune root seed soil water",
    "music": "album band bass chord concert drum guitar harmony jazz key melody note opera piano "
    "rhythm sing solo song tempo violin",
}
COMMON = (
    "about also because before even every first from good great have into last like little long "
    "made many more most much never next often only other over people same some still such take "
    "than that their them then there these they thing this time under very well what when where "
    "which while with without work year"
)


def texts(sizes, rng):
    """Texts of each subject, and the number of the subject."""
    words = [np.array(listed.split()) for listed in SUBJECTS.values()]
    found = []
    for own, size in zip(words, sizes, strict=True):
        for length in rng.integers(30, 90, size=size):
            borrowed = words[rng.integers(len(words))]
            n_own, n_borrowed, n_common = rng.multinomial(length, [0.2, 0.08, 0.72])
            drawn = [rng.choice(own, n_own), rng.choice(borrowed, n_borrowed)]
            found.append(" ".join([*np.concatenate(drawn), *rng.choice(COMMON.split(), n_common)]))
    return found, np.repeat(np.arange(len(words)), sizes)


documents, subject = texts([200, 120, 100, 55, 25], np.random.default_rng(0))
print(documents[0])

# %%

vectorizer = TfidfVectorizer(sublinear_tf=True)
X = vectorizer.fit_transform(documents)
print(type(X).__name__, X.shape, f"{X.nnz / np.prod(X.shape):.0%} of the entries are not zero")

model = UnifiedSpectralClustering(n_clusters=5).fit(X)
means = KMeans(5, n_init=10, random_state=0).fit(X)
for name, labels in (("unispectral", model.labels_), ("k-means", means.labels_)):
    found = scores(subject, labels)
    print(f"{name:12s} accuracy {found['accuracy']:.3f}   NMI {found['nmi']:.3f}")

# %%
# The words that set each cluster apart from the others:

words = vectorizer.get_feature_names_out()
for cluster in range(5):
    own = X[model.labels_ == cluster].mean(axis=0) - X[model.labels_ != cluster].mean(axis=0)
    print(f"cluster {cluster}:", ", ".join(words[np.argsort(-np.asarray(own).ravel())[:6]]))

# %%
# The learned graph as a matrix: documents are joined to those that explain them.

GraphMatrixDisplay.from_estimator(model)
plt.show()
