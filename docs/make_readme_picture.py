"""The picture of the README, docs/_static/readme.png: ``python docs/make_readme_picture.py``.

Scikit-learn's digits. Above, what SCMK learned: its graph, where the graph places the samples, and
typical members of its clusters. Below, its accuracy beside two of scikit-learn's clusterers; all
three are told that there are ten clusters.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits

from unispectral import SCMK
from unispectral._files import atomic_path
from unispectral.metrics import clustering_accuracy
from unispectral.plotting import EmbeddingDisplay, GraphMatrixDisplay, RepresentativesDisplay

TARGET = Path(__file__).parent / "_static" / "readme.png"


def main(target: Path = TARGET, n_samples: int | None = None) -> None:
    """Fit, draw and write."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:n_samples], y[:n_samples]
    model = SCMK(n_clusters=10).fit(X)
    peers = {
        "k-means": KMeans(10, n_init=10, random_state=0).fit(X),
        "scikit-learn's spectral clustering": SpectralClustering(
            10, affinity="nearest_neighbors", random_state=0
        ).fit(X),
        "unispectral": model,
    }
    figure = plt.figure(figsize=(11, 5.2), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=[3.4, 1], width_ratios=[1, 1, 0.85])
    left, middle, right = (figure.add_subplot(grid[0, column]) for column in range(3))
    GraphMatrixDisplay.from_estimator(model, ax=left)
    left.set_title("the learned graph, ordered by cluster")
    EmbeddingDisplay.from_estimator(model, ax=middle, s=4)
    middle.set_title("the samples, by cluster")
    if middle.get_legend() is not None:  # the clusters are named where they stand
        middle.get_legend().remove()
    RepresentativesDisplay.from_estimator(model, X, image_shape=(8, 8), n_members=8, ax=right)
    right.set_title("typical members")
    below = figure.add_subplot(grid[1, :])
    accuracy = {name: clustering_accuracy(y, peer.labels_) for name, peer in peers.items()}
    bars = below.barh(list(accuracy), list(accuracy.values()), color=["#999999"] * 2 + ["#0072b2"])
    below.bar_label(bars, fmt="{:.1%}", padding=4)
    below.set(xlim=(0, 1), title="digits that were put in the right cluster")
    below.spines[["top", "right", "bottom"]].set_visible(False)
    below.set_xticks([])
    with atomic_path(target) as temporary:
        figure.savefig(temporary, dpi=76, format="png")
    plt.close(figure)


if __name__ == "__main__":
    main()
