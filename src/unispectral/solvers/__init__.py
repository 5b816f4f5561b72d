"""Ways to minimise the model's objective, each with a named result."""

from unispectral.solvers._alm import AlmState, alm

__all__ = ["AlmState", "alm"]
