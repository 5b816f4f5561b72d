"""What speaks against the clusters that were found, in sentences."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral._errors import Sentence
from unispectral._run import Run
from unispectral.graph.quality import normalized_cut
from unispectral.labelfree._assignment import find_cheapest_cut
from unispectral.labelfree._selection import STRUCTURELESS
from unispectral.labels import order_of_appearance

#: A cluster is tiny with two members, or with less than this share of the mean number of members.
_TINY = 2
_TINY_SHARE = 0.05
#: A cluster is two in one if a cut through it costs less than this share of what the clusters cost
#: on average.
_TWO_IN_ONE = 0.3
#: Looking for such cuts in more samples would take long.
_MOST_SAMPLES = 20_000
#: The spectrum prefers fewer clusters if an eigenvalue is so many times the one before it, and
#: more times than the last is times this one; below the floor eigenvalues are zero.
_RISE = 10.0
_FLOOR = 1e-4
#: Clusters on which candidates agree less than this are doubtful.
_AGREEMENT = 0.4


def diagnose(
    W: sp.csr_array,
    labels: np.ndarray,
    eigenvalues: np.ndarray,
    run: Run | None = None,
    numbers: np.ndarray | None = None,
    structure: float | None = None,
    agreement: float | None = None,
) -> list[str]:
    """Sentences about tiny clusters, clusters that are two in one, and a number that fits better.

    ``W`` is the affinity before it was coupled with an embedding, the eigenvalues are those of its
    Laplacian, ascending. Clusters are numbered by their first samples, as ``labels_`` does:
    ``numbers`` says which sample came first, if they are in another order here. ``structure`` is
    how clear the clusters are beside those of the null model, ``agreement`` how much clusterings
    of other kinds agree with them, if that is known.

    Examples
    --------
    Three cliques, two of which were put together:

    >>> W = sp.csr_array(np.kron(np.eye(3), np.ones((8, 8))))
    >>> diagnose(W, np.repeat([0, 1, 1], 8), np.zeros(2))[0].split(", that")[0]
    'Cluster 1 falls into two parts, of 8 and 8 samples'
    """
    ranks = np.unique(labels, return_inverse=True)[1]
    came = ranks if numbers is None else ranks[np.argsort(numbers)]
    labels = np.argsort(order_of_appearance(came))[ranks]
    found: list[str] = _tiny(labels) + _two_in_one(W, labels, run) + _fewer(eigenvalues)
    if structure is not None and structure > STRUCTURELESS:
        found.append(
            Sentence(
                f"The {labels.max() + 1} clusters are no clearer than those of Gaussian samples "
                f"without clusters ({structure:.2f}, from 0 for separate clusters to 1 for none); "
                "try {n_clusters}, other columns or another kernel before you trust them.",
                n_clusters="auto",
            )
        )
    return found + doubt_agreement(agreement)


def doubt_agreement(agreement: float | None) -> list[str]:
    """A sentence where clusterings of other kinds hardly agree with the clusters.

    Examples
    --------
    >>> doubt_agreement(0.9), len(doubt_agreement(0.2))
    ([], 1)
    """
    if agreement is None or agreement >= _AGREEMENT:
        return []
    return [
        "Clusterings of different kinds (graphs, a mixture, spanning trees) find different "
        f"clusters here: the adjusted Rand index between these and the others is only "
        f"{agreement:.2f}; try another number of clusters or other columns before you trust them."
    ]


def _tiny(labels: np.ndarray) -> list[str]:
    sizes = np.bincount(labels)
    tiny = np.flatnonzero(sizes <= max(_TINY, _TINY_SHARE * len(labels) / len(sizes)))
    if not len(tiny) or len(labels) <= 2 * _TINY * len(sizes):  # so few that all are
        return []
    have = "s {} have" if len(tiny) > 1 else " {} has"
    return [
        Sentence(
            f"Cluster{have.format(_join_words(tiny))} only {_join_words(sizes[tiny])} of "
            f"{len(labels):,} samples, "
            "perhaps outliers; try a smaller {n_clusters}.",
            "n_clusters",
        )
    ]


def _join_words(numbers: np.ndarray) -> str:
    *others, last = map(str, numbers)
    return f"{', '.join(others)} and {last}" if others else last


def _two_in_one(W: sp.csr_array, labels: np.ndarray, run: Run | None) -> list[str]:
    """About the cluster, among those of at least mean size, with the cheapest cut through it."""
    sizes = np.bincount(labels)
    if len(labels) > _MOST_SAMPLES or len(sizes) < 2:
        return []
    least = max(_TWO_IN_ONE * normalized_cut(W, labels), 1e-9)
    found = None
    for cluster in np.flatnonzero(sizes >= sizes.mean()):
        members = np.flatnonzero(labels == cluster)
        cut = find_cheapest_cut(W, members, run)
        if cut.cost < least:
            least = cut.cost
            found = cluster, len(cut.part), len(members) - len(cut.part)
    if found is None:
        return []
    return [
        Sentence(
            f"Cluster {found[0]} falls into two parts, of {found[1]:,} and {found[2]:,} samples, "
            "that have less to do with each other than the clusters have; try a larger "
            "{n_clusters}.",
            "n_clusters",
        )
    ]


def _fewer(eigenvalues: np.ndarray) -> list[str]:
    values = eigenvalues + _FLOOR
    if len(values) < 3:
        return []
    count = int(np.argmax(values[2:] / values[1:-1])) + 2
    rise = values[count] / values[count - 1]
    if rise < max(_RISE, values[-1] / values[count]):
        return []
    return [
        Sentence(
            f"{count} clusters stand out more clearly than {len(values)}: after the first {count} "
            f"eigenvalues of the graph the next is {rise:.0f} times as large; try {{n_clusters}}.",
            n_clusters=count,
        )
    ]
