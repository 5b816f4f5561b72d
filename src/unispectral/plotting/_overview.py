"""Four pictures of one clustering."""

from __future__ import annotations

from typing import Any

from unispectral._compat import optional
from unispectral.plotting._base import fitted
from unispectral.plotting.embedding import EmbeddingDisplay
from unispectral.plotting.kernels import KernelWeightsDisplay
from unispectral.plotting.matrix import GraphMatrixDisplay
from unispectral.plotting.membership import MembershipDisplay
from unispectral.plotting.sizes import ClusterSizesDisplay
from unispectral.plotting.spectrum import SpectrumDisplay

__all__ = ["overview"]


def overview(estimator: Any, *, figsize: tuple[float, float] = (12.0, 9.0)) -> Any:
    """One figure with the four pictures that say most about a fitted estimator.

    The map of the samples, the graph as a matrix, the spectrum, and the kernel weights (the
    memberships where there is only one kernel). What the estimator has no data for, such as the
    graph of a baseline, is replaced by the cluster sizes or left out.

    Parameters
    ----------
    estimator : fitted
    figsize : tuple of float
        Inches.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral import SCSK
    >>> from unispectral.plotting import overview
    >>> X = np.concatenate([np.arange(6.0), 50 + np.arange(6.0)])[:, None]
    >>> len(overview(SCSK(2).fit(X)).axes)
    4
    """
    pyplot = optional("matplotlib.pyplot", extra="plot")
    fitted(estimator, "labels_")
    several = len(getattr(estimator, "kernel_weights_", ())) > 1
    last = KernelWeightsDisplay if several else MembershipDisplay
    needs = {
        EmbeddingDisplay: ("embedding_",),
        GraphMatrixDisplay: ("affinity_matrix_",),
        SpectrumDisplay: ("affinity_matrix_",),
        last: ("kernel_weights_", "kernel_names_") if several else ("membership_",),
        ClusterSizesDisplay: ("labels_",),
    }
    able = [
        display
        for display, names in needs.items()
        if all(hasattr(estimator, name) for name in names)
    ][:4]
    shape = {1: (1, 1), 2: (1, 2), 3: (1, 3), 4: (2, 2)}[len(able)]
    figure, grid = pyplot.subplots(*shape, figsize=figsize, squeeze=False, layout="constrained")
    for ax, display in zip(grid.flat, able, strict=False):
        display.from_estimator(estimator, ax=ax)  # type: ignore[attr-defined]
    return figure
