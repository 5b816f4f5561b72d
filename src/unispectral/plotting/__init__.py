"""Pictures of clusterings as Display objects: data plus ``plot(ax)``.

Every display has ``from_estimator`` and, where it makes sense, a way to be made from plain data.
Matplotlib (extra ``plot``) is imported when something is drawn. Colours can be told apart with
every kind of colour vision, up to twenty clusters are named, and large data are thinned or
aggregated rather than drawn point by point.
"""

from unispectral.plotting._overview import overview
from unispectral.plotting.count import ClusterCountDisplay
from unispectral.plotting.embedding import EmbeddingDisplay
from unispectral.plotting.kernels import KernelWeightsDisplay
from unispectral.plotting.matrix import GraphMatrixDisplay
from unispectral.plotting.membership import MembershipDisplay
from unispectral.plotting.network import GraphNetworkDisplay
from unispectral.plotting.objective import ObjectiveDisplay
from unispectral.plotting.representatives import RepresentativesDisplay, typical_members
from unispectral.plotting.sizes import ClusterSizesDisplay
from unispectral.plotting.spectrum import SpectrumDisplay
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
    "typical_members",
]
