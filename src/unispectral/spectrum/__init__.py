"""Laplacians of a graph, their smallest eigenvectors, and embeddings on the Stiefel manifold."""

from unispectral.spectrum._eigen import (
    Eigenpairs,
    affinity,
    laplacian,
    smallest_eigenvectors,
)
from unispectral.spectrum._stiefel import Embedding, diagonal_descent, polar, stiefel_descent

__all__ = [
    "Eigenpairs",
    "Embedding",
    "affinity",
    "diagonal_descent",
    "laplacian",
    "polar",
    "smallest_eigenvectors",
    "stiefel_descent",
]
