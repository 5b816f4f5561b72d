"""Kernels: small specifications, and the bank that binds them to data on demand."""

from unispectral.kernels._bank import KernelBank
from unispectral.kernels._bound import NORMALIZATIONS
from unispectral.kernels._specs import (
    Abilities,
    Gaussian,
    Kernel,
    Linear,
    Metric,
    Polynomial,
    as_kernel,
    as_kernels,
    paper_kernels,
)  # fmt: skip

__all__ = [
    "NORMALIZATIONS", "Abilities", "Gaussian", "Kernel", "KernelBank", "Linear", "Metric",
    "Polynomial", "as_kernel", "as_kernels", "paper_kernels",
]  # fmt: skip
