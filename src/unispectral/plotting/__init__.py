"""Pictures of clusterings as Display objects: data plus ``plot(ax)``.

Every display is made of plain data or, by ``from_estimator``, of a fitted estimator. Matplotlib
(extra ``plot``) is imported when something is drawn. Colours can be told apart with every kind of
colour vision, up to twenty clusters are named, and large data are thinned or aggregated rather
than drawn point by point.
"""

from typing import Any

from unispectral._compat import optional
from unispectral.plotting._base import Display, read_fitted
from unispectral.plotting.charts import (
    ClusterCountDisplay,
    KernelWeightsDisplay,
    SpectrumDisplay,
)
from unispectral.plotting.graph import GraphMatrixDisplay
from unispectral.plotting.samples import EmbeddingDisplay, RepresentativesDisplay
from unispectral.plotting.tree import TreeDisplay

__all__ = [
    "ClusterCountDisplay",
    "EmbeddingDisplay",
    "GraphMatrixDisplay",
    "KernelWeightsDisplay",
    "RepresentativesDisplay",
    "SpectrumDisplay",
    "TreeDisplay",
    "overview",
]


def overview(estimator: object, *, figsize: tuple[float, float] | None = None) -> Any:
    """One figure with the pictures that say most about a fitted estimator.

    The map of the samples, the graph as a matrix, the spectrum, and the weights of kernels or
    distances where there are several. What the estimator has no data for, such as the spectrum of
    a baseline, is left out.

    Parameters
    ----------
    estimator : fitted clusterer
    figsize : tuple of float, optional
        Inches.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral import UnifiedSpectralClustering
    >>> from unispectral.plotting import overview
    >>> X = np.concatenate([np.arange(6.0), 50 + np.arange(6.0)])[:, None]
    >>> len(overview(UnifiedSpectralClustering(2, whiten=None).fit(X)).axes)
    3
    """
    pyplot = optional("matplotlib.pyplot", extra="plot")
    wanted: list[type[Display]] = [EmbeddingDisplay, GraphMatrixDisplay, SpectrumDisplay]
    weights = ("kernel_weights_", "geometry_weights_")
    if any(len(getattr(estimator, name, ())) > 1 for name in weights):
        wanted.append(KernelWeightsDisplay)
    able = [d for d in wanted if all(hasattr(estimator, name) for name in d.needs)]
    if not able:
        read_fitted(estimator, *EmbeddingDisplay.needs)  # says what is missing
    lines, columns = (2, 2) if len(able) == 4 else (1, len(able))
    size = figsize or (5.2 * columns, 4.5 * lines)
    figure, grid = pyplot.subplots(
        lines, columns, figsize=size, squeeze=False, layout="constrained"
    )
    for ax, display in zip(grid.flat, able, strict=True):
        display.from_estimator(estimator, ax=ax)
    return figure
