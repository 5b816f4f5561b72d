"""Several views or kernels: which of them show something, and their sum as one geometry."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from unispectral._run import Run
from unispectral.graph.quality import modularity
from unispectral.labelfree._coding import code_graph
from unispectral.labelfree._geometry import KernelDistance, median_distance
from unispectral.labelfree._neighbourhoods import Neighbourhoods
from unispectral.labelfree._recipe import Recipe
from unispectral.spectrum import affinity

__all__ = ["agreement", "fused", "informative", "shared_neighbours"]

#: A view is used if it shares neighbours with another by so many standard deviations of chance.
#: Views of pure noise stay below 5; the weakest informative ones were above 10.
LEAST_SHARED = 6.0
#: Up to this many samples all pairs may be looked at where no table stands for a sum.
_ALL_PAIRS_SAMPLES = 20_000


def shared_neighbours(views: Sequence[Neighbourhoods]) -> np.ndarray:
    """How far each two views share neighbours beyond chance, in standard deviations of chance.

    Two unrelated lists of neighbours share as many pairs as chance lets them; noise shares no
    more with any other view.

    Returns
    -------
    ndarray of shape (n_views, n_views)
        Zero on the diagonal.
    """
    n = len(views[0].neighbours)
    lists, everyone = [], np.ones(n, dtype=bool)
    for view in views:
        rows, columns = np.nonzero(view.neighbours >= 0)
        ones = np.ones(len(rows), dtype=np.float32)
        lists.append(sp.csr_array((ones, (rows, view.neighbours[rows, columns])), shape=(n, n)))
    here = [everyone if view.present is None else view.present for view in views]
    found = np.zeros((len(views), len(views)))
    for i in range(len(views)):
        for j in range(i):
            both = (here[i] & here[j]).astype(np.float32)
            size = float(both.sum())
            mask = sp.diags_array(both)
            left, right = (lists[i], lists[j]) if both.all() else (
                mask @ lists[i] @ mask, mask @ lists[j] @ mask
            )  # fmt: skip
            chance = left.sum() * right.sum() / max(size * (size - 1.0), 1.0)
            shared = float(left.multiply(right).sum())
            found[i, j] = found[j, i] = (shared - chance) / np.sqrt(max(chance, 1e-12))
    return found


def informative(views: Sequence[Neighbourhoods]) -> np.ndarray:
    """Which views show something that another shows, too."""
    return shared_neighbours(views).max(axis=1) > LEAST_SHARED


def fused(views: Sequence[KernelDistance]) -> KernelDistance | None:
    """The sum of the distances of views of all samples, each in its own median.

    None if it would cost too much.
    """
    parts = [view.parts[0]._replace(scale=1.0 / median_distance(view)) for view in views]
    together = KernelDistance(parts, "all views")
    if together.n_samples > _ALL_PAIRS_SAMPLES and together.search_table() is None:
        return None
    return together


def agreement(
    views: Sequence[Neighbourhoods], labels: np.ndarray, recipe: Recipe, run: Run
) -> np.ndarray:
    """The modularity of the clusters on each view's own graph: how well they show in it."""
    graphs = (affinity(code_graph(view, recipe, None, run)[0]) for view in views)
    return np.array([modularity(graph, labels) for graph in graphs])
