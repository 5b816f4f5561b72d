"""Pictures of clusterings as Display objects: data plus ``plot(ax)``.

Every display is made of plain data or, by ``from_estimator``, of a fitted estimator. Matplotlib
(extra ``plot``) is imported when something is drawn. Colours can be told apart with every kind of
colour vision, up to twenty clusters are named, and large data are thinned or aggregated rather
than drawn point by point.
"""

from unispectral.plotting._overview import overview
from unispectral.plotting.charts import (
    ClusterCountDisplay,
    ClusterSizesDisplay,
    KernelWeightsDisplay,
    ObjectiveDisplay,
    SpectrumDisplay,
)
from unispectral.plotting.graph import GraphMatrixDisplay, GraphNetworkDisplay
from unispectral.plotting.representatives import RepresentativesDisplay
from unispectral.plotting.samples import EmbeddingDisplay, MembershipDisplay
from unispectral.plotting.surface import ParameterSurfaceDisplay

__all__ = [
    "ClusterCountDisplay",
    "ClusterSizesDisplay",
    "EmbeddingDisplay",
    "GraphMatrixDisplay",
    "GraphNetworkDisplay",
    "KernelWeightsDisplay",
    "MembershipDisplay",
    "ObjectiveDisplay",
    "ParameterSurfaceDisplay",
    "RepresentativesDisplay",
    "SpectrumDisplay",
    "overview",
]
