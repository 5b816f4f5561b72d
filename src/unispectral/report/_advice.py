"""What a reader should know before trusting a clustering, in plain words."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

__all__ = ["advice"]

_SMALL = 2
_LARGE = 0.8
_UNSURE = 0.1


def advice(
    estimator: Any,
    labels: np.ndarray,
    certainty: np.ndarray,
    *,
    warnings: list[str] | None = None,
) -> list[str]:
    """Sentences about what is odd; none if nothing is.

    Examples
    --------
    >>> labels = np.array([0, 0, 0, 0, 1])
    >>> advice(None, labels, np.ones(5))
    ['Cluster 1 has 1 member.']
    """
    told = []
    if getattr(estimator, "converged_", True) is False or (
        isinstance(getattr(estimator, "converged_", None), np.bool_) and not estimator.converged_
    ):
        reason = str(getattr(estimator, "stop_reason_", "")).rstrip(".")
        why = f" because {reason}" if reason else ""
        told.append(
            f"The fit did not converge: it stopped{why}. The clusters may change with more "
            "iterations (max_iter) or time (max_time)."
        )
    told += _graph(estimator, labels)
    told += _sizes(labels)
    unsure = int((certainty < _UNSURE).sum())
    if unsure:
        points = "1 point lies" if unsure == 1 else f"{unsure:,} points lie"
        told.append(f"{points} between two clusters: either would do nearly as well.")
    # The fit's own warnings say the same about convergence, with more figures.
    told += [text for text in warnings or [] if not text.startswith("The fit stopped")]
    return told


def _graph(estimator: Any, labels: np.ndarray) -> list[str]:
    affinity = getattr(estimator, "affinity_matrix_", None)
    if affinity is None or affinity.shape[0] != len(labels):
        return []
    graph = sp.csr_array(affinity)
    told = []
    lonely = np.asarray(abs(graph).sum(axis=1)).ravel() <= 0
    if lonely.any():
        count = int(lonely.sum())
        points = "1 point has" if count == 1 else f"{count:,} points have"
        told.append(
            f"{points} no neighbour in the learned graph; the cluster of such a point is a guess."
        )
    parts, _ = connected_components(graph, directed=False)
    parts -= int(lonely.sum())
    clusters = int(labels.max()) + 1
    if parts > clusters:
        told.append(
            f"The learned graph falls into {parts:,} separate parts, more than the {clusters} "
            "clusters asked for: a larger number of clusters may suit the data."
        )
    return told


def _sizes(labels: np.ndarray) -> list[str]:
    sizes = np.bincount(labels)
    told = []
    small = np.flatnonzero(sizes <= _SMALL)
    if len(small) > 5:
        told.append(f"{len(small)} clusters have {_SMALL} members or fewer.")
    else:
        told += [
            f"Cluster {k} has {sizes[k]} {'member' if sizes[k] == 1 else 'members'}."
            for k in small
        ]
    if sizes.max() > _LARGE * sizes.sum() and len(labels) > 10:
        told.append(
            f"Cluster {int(sizes.argmax())} holds {100 * sizes.max() / sizes.sum():.0f} % of all "
            "points; the others may be outliers rather than groups."
        )
    return told
