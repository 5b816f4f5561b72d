"""Four pictures of one clustering."""

from __future__ import annotations

from typing import Any

from unispectral._compat import optional
from unispectral.plotting._base import fitted
from unispectral.plotting.charts import ClusterSizesDisplay, KernelWeightsDisplay, SpectrumDisplay
from unispectral.plotting.graph import GraphMatrixDisplay
from unispectral.plotting.samples import EmbeddingDisplay, MembershipDisplay

__all__ = ["overview"]


def overview(estimator: Any, *, figsize: tuple[float, float] = (12.0, 9.0)) -> Any:
    """One figure with the four pictures that say most about a fitted estimator.

    The map of the samples, the graph as a matrix, the spectrum, and the kernel weights (the
    memberships where there is only one kernel). What the estimator has no data for, such as the
    graph of a baseline, is replaced by the cluster sizes or left out.

    Parameters
    ----------
    estimator : fitted clusterer
    figsize : tuple of float
        Inches.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from unispectral.plotting import overview
    >>> X = np.concatenate([np.arange(6.0), 50 + np.arange(6.0)])[:, None]
    >>> len(overview(KMeans(2, n_init=1).fit(X)).axes)
    1
    """
    pyplot = optional("matplotlib.pyplot", extra="plot")
    fitted(estimator, "labels_")
    several = len(getattr(estimator, "kernel_weights_", ())) > 1
    last = KernelWeightsDisplay if several else MembershipDisplay
    wanted = (EmbeddingDisplay, GraphMatrixDisplay, SpectrumDisplay, last, ClusterSizesDisplay)
    able = [d for d in wanted if all(hasattr(estimator, name) for name in d.needs)][:4]
    shape = {1: (1, 1), 2: (1, 2), 3: (1, 3), 4: (2, 2)}[len(able)]
    figure, grid = pyplot.subplots(*shape, figsize=figsize, squeeze=False, layout="constrained")
    for ax, display in zip(grid.flat, able, strict=True):
        display.from_estimator(estimator, ax=ax)
    return figure
