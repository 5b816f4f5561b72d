"""Ways to minimise the model's objective, each with a named result."""

from unispectral.solvers._alm import AlmState, alm
from unispectral.solvers._alm_solution import solve_alm
from unispectral.solvers._descent import DenseGraph, Objective, descend
from unispectral.solvers._result import Solution

__all__ = ["AlmState", "DenseGraph", "Objective", "Solution", "alm", "descend", "solve_alm"]
