"""The Z-step: the graph as sparse non-negative codes of each sample over the others."""

from unispectral.graph._dense import Codes, codes

__all__ = ["Codes", "codes"]
