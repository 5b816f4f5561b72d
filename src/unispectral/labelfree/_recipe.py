"""The numbers of the label-free model, all in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from unispectral._errors import InputError

#: Fewer candidates than this make no graph that holds together.
_LEAST_NEIGHBORS = 3
#: Candidates of each code.
NEIGHBORS = 8
#: Strengths of the whitened geometries that compete with the plain one, in order.
WHITEN = (3.0, 0.3)
#: Where the number of clusters is sought, they have so many members on average, or there are no
#: more than these; and no more than those where they are not communities of the graph. Clusters
#: have this many members at least.
_MEMBERS = 15
_LEAST_COUNTED = 20
_MOST_COUNTED = 100
_LEAST_MEMBERS = 3
#: Above this many samples the passes end at a change of the graph that moves no label.
_LARGE_SAMPLES = 10_000
#: Above this many samples labels are communities of the graph.
SPECTRAL_SAMPLES = 10_000
_TOL = 1e-4
_LARGE_TOL = 5e-3
#: Kinds of candidates that vote on the clusters of one table.
MEMBERS = ("graph", "communities", "mixture", "trees")
_SWITCH = (True, False)
_CHOICES: dict[str, tuple[object, ...]] = {
    "scale_codes": _SWITCH,
    "laplacian": ("normalized", "unnormalized"),
    "unit_rows": _SWITCH,
    "repair": _SWITCH,
    "refine": _SWITCH,
    "committee": _SWITCH,
    "core_first": _SWITCH,
    "order": _SWITCH,
    "copies": _SWITCH,
    "select": _SWITCH,
    "complete": _SWITCH,
    "reweigh": _SWITCH,
    "reconsider": _SWITCH,
    "join": _SWITCH,
}


@dataclass(frozen=True)
class Recipe:
    """Everything that the label-free model works by; scale-free, the same for any data.

    The estimator sets the first group. The second are the departures from the paper's objective,
    each of which can be switched off for a study: with
    :func:`unispectral.labelfree.cluster` a changed recipe is tried on data.

    Attributes
    ----------
    n_clusters : int
        0 where the number is not known yet.
    guessed : bool
        Whether that is a guess, which the communities of the graph of many samples replace.
    alpha : float
        Penalty of a coefficient of the graph, in units of the kernel's median.
    beta : float
        How much of ½‖eᵢ − eⱼ‖² is added to the penalty of edge ij, in the same unit.
    ridge : float
        Multiple of the kernel's diagonal in the quadratic term.
    n_neighbors : int or None
        Candidates of each code; None is 8, or as many as a cluster of mean size has other
        members if these are fewer, but at least 3.
    whiten : tuple of float
        Strengths of the whitened geometries that compete with the plain one, in order.
    compete : bool
        Whether they do, or the first of them is taken.
    max_clusters : int or None
        The most that is considered where the number of clusters is sought; None grows with the
        number of samples.
    max_iter : int
        Passes: the first without, the others with the embedding in the penalties.
    tol : float or None
        Stops early when a pass changes the graph by less than this share; None leaves it to the
        number of samples.
    n_init : int
        Starts of the label assignment.

    order : bool
        Whether samples are taken in an order of their own, and not in that in which they came.
    copies : bool
        Whether samples that are equal are fitted once, and count as often as they came; in an
        order of their own only.
    select : bool
        Whether views that show nothing get weight 0.
    complete : bool
        Whether samples that a view lacks are put where their neighbours in others are.
    reweigh : bool
        Whether views by other weights compete with the first.
    reconsider : bool
        Whether other geometries are looked at where the one that was chosen shows no clusters.
    scale_codes : bool
        Whether codes are scaled to sum one.
    laplacian : {"normalized", "unnormalized"}
    unit_rows : bool
        Whether rows of the embedding are scaled to length one.
    repair : bool
        Whether components too small to be clusters are joined to their surroundings.
    join : bool
        Whether components are joined where there are more of them than clusters.
    fused_share : float
        The weight of the graph of all views' distances together; their own graphs share the rest.
    refine : bool
        Whether clusters are merged and split after the label assignment.
    spectral_samples : int
        The most samples whose labels are read off eigenvectors; those of more are communities of
        the first graph, and no eigenvectors are computed.
    committee : bool
        Whether clusterings of other kinds vote on the clusters of one table.
    members : tuple of str
        Of which kinds: a graph of another number of neighbours, its communities, a mixture of
        Gaussians, spanning trees.
    core_first : bool
        Whether low-density samples are labelled last, where clusters are clearer without them.

    Examples
    --------
    >>> Recipe(n_clusters=3).alpha
    0.001
    """

    n_clusters: int = 0
    guessed: bool = False
    alpha: float = 1e-3
    beta: float = 1.0
    ridge: float = 1.0
    n_neighbors: int | None = None
    whiten: tuple[float, ...] = WHITEN
    compete: bool = True
    max_clusters: int | None = None
    max_iter: int = 2
    tol: float | None = None
    n_init: int = 4

    order: bool = True
    copies: bool = True
    select: bool = True
    complete: bool = True
    reweigh: bool = True
    reconsider: bool = True
    scale_codes: bool = True
    laplacian: str = "normalized"
    unit_rows: bool = True
    repair: bool = True
    join: bool = True
    fused_share: float = 0.75
    refine: bool = True
    spectral_samples: int = SPECTRAL_SAMPLES
    committee: bool = True
    members: tuple[str, ...] = MEMBERS
    core_first: bool = True

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                known = ", ".join(map(repr, allowed))
                raise InputError(name, "is unknown", f"use one of {known}", value=value)

    def with_clusters(self, n_clusters: int) -> Recipe:
        """The same for another number of clusters."""
        return replace(self, n_clusters=int(n_clusters))

    def has_vote(self, n_samples: int) -> bool:
        """Whether clusterings of other kinds vote on the clusters of one table of so many."""
        return self.committee and n_samples <= self.spectral_samples and self.n_clusters > 1

    def candidates(self, n_samples: int) -> int:
        """Candidates of each code: no more than a cluster of mean size has other members.

        Examples
        --------
        >>> Recipe(40).candidates(200), Recipe(40).candidates(400), Recipe(0).candidates(400)
        (4, 8, 8)
        """
        if self.n_neighbors is not None:
            return self.n_neighbors
        if not self.n_clusters:
            return NEIGHBORS
        return min(NEIGHBORS, max(_LEAST_NEIGHBORS, n_samples // self.n_clusters - 1))

    def most_clusters(self, n_samples: int) -> int:
        """The most clusters that are considered among so many samples.

        Examples
        --------
        >>> [Recipe().most_clusters(n) for n in (30, 150, 1_000, 7_500, 250_000)]
        [10, 20, 66, 100, 500]
        """
        if self.max_clusters is not None:
            return self.max_clusters
        if n_samples > self.spectral_samples:
            return max(_MOST_COUNTED, math.isqrt(n_samples))
        most = min(max(_LEAST_COUNTED, n_samples // _MEMBERS), _MOST_COUNTED)
        return max(2, min(most, n_samples // _LEAST_MEMBERS))

    def tolerance(self, n_samples: int) -> float:
        """The change of the graph at which the passes end."""
        if self.tol is not None:
            return self.tol
        return _LARGE_TOL if n_samples > _LARGE_SAMPLES else _TOL
