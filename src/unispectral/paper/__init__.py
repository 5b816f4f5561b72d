"""Ways to minimise the model's objective, each with a named result."""

from unispectral._result import Solution
from unispectral.paper._alm import AlmState, alm
from unispectral.paper._alm_solution import solve_alm
from unispectral.paper._descent import DenseGraph, Objective, descend

__all__ = ["AlmState", "DenseGraph", "Objective", "Solution", "alm", "descend", "solve_alm"]
