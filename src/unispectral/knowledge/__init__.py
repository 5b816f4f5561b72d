"""What users know of the samples: labels, links, weights and sizes; and what to ask them next."""

from unispectral.knowledge._ask import uncertain_pairs
from unispectral.knowledge._read import Knowledge, Sizes, read_knowledge

__all__ = ["Knowledge", "Sizes", "read_knowledge", "uncertain_pairs"]
