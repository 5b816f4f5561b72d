"""The pictures of the README: ``python docs/make_readme_picture.py``.

docs/_static/readme.png shows what was learned from scikit-learn's wines, and beside it how many
samples of its four bundled tables are put in the right cluster. docs/_static/shapes.png is the
picture of examples/plot_05_shapes.py.
"""

from __future__ import annotations

import io
import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import scale

from unispectral import UnifiedSpectralClustering
from unispectral._files import atomic_path
from unispectral.metrics import clustering_accuracy
from unispectral.plotting import EmbeddingDisplay, GraphMatrixDisplay

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "docs" / "_static"
TABLES = {
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "iris": load_iris,
    "digits": load_digits,
}
COLOURS = {
    "unispectral": "#0072b2",
    "spectral clustering, neighbours": "#e69f00",
    "k-means, columns standardised": "#777777",
    "k-means": "#bbbbbb",
}


def accuracies(name: str) -> dict[str, float]:
    """The share of samples in the right cluster, of each method on one table as it comes."""
    X, y = TABLES[name](return_X_y=True)
    k = len(np.unique(y))
    found = {
        "unispectral": UnifiedSpectralClustering(k).fit(X),
        "spectral clustering, neighbours": SpectralClustering(
            k, affinity="nearest_neighbors", random_state=0
        ).fit(X),
        "k-means, columns standardised": KMeans(k, n_init=10, random_state=0).fit(scale(X)),
        "k-means": KMeans(k, n_init=10, random_state=0).fit(X),
    }
    return {method: clustering_accuracy(y, one.labels_) for method, one in found.items()}


def bars(ax: plt.Axes) -> None:
    """A group of bars for each table, a colour for each method."""
    places = np.arange(len(TABLES))
    values = [accuracies(name) for name in TABLES]
    for number, (method, colour) in enumerate(COLOURS.items()):
        heights = [one[method] for one in values]
        drawn = ax.barh(places + 0.2 * number, heights, 0.18, color=colour, label=method)
        ax.bar_label(drawn, fmt="{:.0%}", padding=2, fontsize=8)
    ax.set_yticks(places + 0.3, list(TABLES))
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.12), title="samples in the right cluster")
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.set_xticks([])
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncol=2, frameon=False, fontsize=8)


def hero(target: Path) -> None:
    """Graph and samples of the wines, and the bars."""
    model = UnifiedSpectralClustering(n_clusters=3).fit(load_wine().data)
    figure = plt.figure(figsize=(12, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1, 1, 1.25])
    GraphMatrixDisplay.from_estimator(model, ax=left)
    left.set_title("the learned graph of 178 wines")
    EmbeddingDisplay.from_estimator(model, ax=middle)
    for word in (middle.get_legend(), *middle.texts):  # the colours are those of the graph
        if word is not None:
            word.remove()
    middle.set_title("the wines as the graph places them")
    bars(right)
    save(figure, target)


def shapes(target: Path) -> None:
    """The picture of the example on shapes."""
    example = ROOT / "examples" / "plot_05_shapes.py"
    save(runpy.run_path(str(example))["figure"], target)


def save(figure: plt.Figure, target: Path) -> None:
    """Write a figure as a PNG of few colours, which is a third of the size."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=110, format="png")
    plt.close(figure)
    with atomic_path(target) as temporary, Image.open(drawn) as picture:
        picture.convert("RGB").quantize(96).save(temporary, format="png", optimize=True)


if __name__ == "__main__":
    hero(STATIC / "readme.png")
    shapes(STATIC / "shapes.png")
