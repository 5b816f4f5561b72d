"""The paper's two models, SCSK and SCMK, and three ways to solve them."""

from unispectral._result import Solution
from unispectral.paper._alm import AlmState, alm
from unispectral.paper._curvilinear import search_embedding
from unispectral.paper._descent import DenseGraph, Objective, descend
from unispectral.paper._estimators import SCMK, SCSK

__all__ = [
    "SCMK",
    "SCSK",
    "AlmState",
    "DenseGraph",
    "Objective",
    "Solution",
    "alm",
    "descend",
    "search_embedding",
]
