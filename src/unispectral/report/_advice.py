"""What a reader should know before trusting a clustering, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from unispectral._errors import Sentence

#: Clusters of so few members, or of this share of all samples, are told.
_SMALL = 2
_LARGE = 0.8
#: A sample whose certainty is below this lies between two clusters.
_UNSURE = 0.1


def advice(
    estimator: object, labels: np.ndarray, certainty: np.ndarray, warnings: Sequence[str] = ()
) -> list[str]:
    """Sentences about what is odd; none if nothing is."""
    said: list[str] = []
    if not getattr(estimator, "converged_", True):
        reason = str(getattr(estimator, "stop_reason_", "")).rstrip(".")
        why = f" because {reason}" if reason else ""
        more = "The clusters may change with more iterations ({max_iter}) or time ({max_time})."
        stopped = f"The fit did not converge: it stopped{why}. {more}"
        said.append(Sentence(stopped, "max_iter", "max_time"))
    said += _graph(getattr(estimator, "affinity_matrix_", None), labels)
    if not hasattr(estimator, "structure_"):  # which says more of its sizes in its warnings
        said += _sizes(labels)
    unsure = int((certainty < _UNSURE).sum())
    if unsure:
        told = _samples(unsure, "lies", "lie")
        said.append(f"{told} between two clusters: either would do nearly as well.")
    # The fit's own warning says the same about convergence, with more figures.
    others = [text for text in warnings if getattr(text, "about", "") != "convergence"]
    return said + others


def _samples(count: int, one: str, many: str) -> str:
    return f"1 sample {one}" if count == 1 else f"{count:,} samples {many}"


def _graph(affinity: sp.csr_array, labels: np.ndarray) -> list[str]:
    if affinity is None or affinity.shape[0] != len(labels):
        return []
    graph, clusters, said = sp.csr_array(affinity), int(labels.max()) + 1, []
    lonely = int((np.asarray(abs(graph).sum(axis=1)).ravel() <= 0).sum())
    if lonely:
        told = f"{_samples(lonely, 'has', 'have')} no neighbour in the learned graph"
        said.append(f"{told}; the cluster of such a sample is a guess.")
    parts = connected_components(graph, directed=False)[0] - lonely
    if parts > clusters:
        said.append(
            f"The learned graph falls into {parts:,} separate parts, more than the {clusters} "
            "clusters asked for: a larger number of clusters may suit the data."
        )
    return said


def _sizes(labels: np.ndarray) -> list[str]:
    sizes = np.bincount(labels)
    small = np.flatnonzero(sizes <= _SMALL)
    said = [f"Cluster {k} has {sizes[k]} member{'s' * int(sizes[k] != 1)}." for k in small]
    if len(small) > 5:
        said = [f"{len(small)} clusters have {_SMALL} members or fewer."]
    if sizes.max() > _LARGE * sizes.sum() and len(labels) > 10:
        said.append(
            f"Cluster {int(sizes.argmax())} holds {100 * sizes.max() / sizes.sum():.0f} % of all "
            "samples; the others may be outliers rather than groups."
        )
    return said
