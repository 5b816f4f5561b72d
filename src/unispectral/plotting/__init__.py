"""Pictures of clusterings as Display objects: data plus ``plot(ax)``.

Every display is made of plain data or, by ``from_estimator``, of a fitted estimator. Matplotlib
(extra ``plot``) is imported when something is drawn. Colours can be told apart with every kind of
colour vision, up to twenty clusters are named, and large data are thinned or aggregated rather
than drawn point by point.
"""

from typing import Any

from unispectral._compat import optional
from unispectral.plotting._base import fitted
from unispectral.plotting.charts import (
    ClusterCountDisplay,
    ClusterSizesDisplay,
    KernelWeightsDisplay,
    ObjectiveDisplay,
    SpectrumDisplay,
)
from unispectral.plotting.graph import GraphMatrixDisplay, GraphNetworkDisplay
from unispectral.plotting.samples import EmbeddingDisplay, RepresentativesDisplay
from unispectral.plotting.surface import ParameterSurfaceDisplay

__all__ = [
    "ClusterCountDisplay",
    "ClusterSizesDisplay",
    "EmbeddingDisplay",
    "GraphMatrixDisplay",
    "GraphNetworkDisplay",
    "KernelWeightsDisplay",
    "ObjectiveDisplay",
    "ParameterSurfaceDisplay",
    "RepresentativesDisplay",
    "SpectrumDisplay",
    "overview",
]


def overview(estimator: Any, *, figsize: tuple[float, float] = (12.0, 9.0)) -> Any:
    """One figure with the four pictures that say most about a fitted estimator.

    The map of the samples, the graph as a matrix, the spectrum, and the kernel weights (the
    cluster sizes where there is only one kernel). What the estimator has no data for, such as the
    graph of a baseline, is left out.

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
    last = KernelWeightsDisplay if several else ClusterSizesDisplay
    wanted = (EmbeddingDisplay, GraphMatrixDisplay, SpectrumDisplay, last)
    able = [d for d in wanted if all(hasattr(estimator, name) for name in d.needs)]
    shape = {1: (1, 1), 2: (1, 2), 3: (1, 3), 4: (2, 2)}[len(able)]
    figure, grid = pyplot.subplots(*shape, figsize=figsize, squeeze=False, layout="constrained")
    for ax, display in zip(grid.flat, able, strict=True):
        display.from_estimator(estimator, ax=ax)
    return figure
