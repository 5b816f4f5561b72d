"""Make docs/_static/cells.png: blood cells that come with scanpy, drawn by the learned graph.

``python docs/make_cells_picture.py`` prints the figures of the page, too. It needs scanpy.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import scanpy as sc
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from unispectral import scverse

RESOLUTIONS = (0.3, 0.6, 1.0)
PICTURE = Path(__file__).parent / "_static" / "cells.png"


def main() -> None:
    """Cluster, compare with Leiden, and draw both on a UMAP of the learned graph."""
    warnings.simplefilter("ignore")
    cells = sc.datasets.pbmc68k_reduced()
    scverse.cluster(cells, key_added="ours")
    scverse.cluster(cells, neighbors_key="neighbors", key_added="graph")
    sc.tl.umap(cells, neighbors_key="ours", random_state=0)
    columns = ["ours", "graph"]
    for resolution in RESOLUTIONS:
        columns.append(f"leiden {resolution:g}")
        sc.tl.leiden(
            cells,
            resolution=resolution,
            key_added=columns[-1],
            flavor="igraph",
            n_iterations=-1,
            directed=False,
            random_state=0,
        )
    truth = cells.obs["bulk_labels"]
    for column in columns:
        found = cells.obs[column]
        score = adjusted_rand_score(truth, found)
        information = normalized_mutual_info_score(truth, found)
        print(
            f"{column:12s} {found.nunique():3d} clusters  ARI {score:.2f}  NMI {information:.2f}"
        )
    titles = ["bulk_labels", *columns]
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.6), layout="constrained")
    for axis, title in zip(axes.ravel(), titles, strict=True):
        sc.pl.umap(cells, color=title, ax=axis, show=False, size=25, legend_fontsize=7)
        axis.set(title=title, xlabel="", ylabel="")
    figure.savefig(PICTURE, dpi=90)


if __name__ == "__main__":
    main()
