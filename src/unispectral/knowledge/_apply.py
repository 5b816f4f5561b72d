"""A fitted model made to agree with what is known of its samples.

The graph loses the edges between samples that are known to be apart and gains edges between those
that belong together; known labels are fixed rows of F, and the others follow along the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._errors import DoubtfulResultWarning, InputError, Sentence, warn
from unispectral._result import Fitted
from unispectral._run import Run
from unispectral.knowledge._follow import Follower
from unispectral.knowledge._links import add_links, refuse_cliques
from unispectral.knowledge._pairs import find_linked, obey_links
from unispectral.knowledge._read import Knowledge, name_rows
from unispectral.knowledge._sizes import limit_sizes, refuse_sizes
from unispectral.knowledge._spread import remove_edges
from unispectral.labels import label_shares, procrustes
from unispectral.spectrum import affinity

if TYPE_CHECKING:
    from unispectral.predict import Predictor


def refuse_unmet(known: Knowledge, n: int, count: int) -> None:
    """Refuse sizes and pairs that no assignment of n samples to so many clusters can keep."""
    refuse_sizes(known.sizes, n, count)
    if len(known.links.apart):
        refuse_cliques(known, count)


class _Clusters(NamedTuple):
    """Labels, the classes that each cluster holds, and how many there are."""

    labels: np.ndarray
    holds: list[list[int]]
    total: int


def apply_knowledge(fitted: Fitted, known: Knowledge, n_clusters: int, run: Run) -> Fitted:
    """The same model with labels that keep to what is known.

    Parameters
    ----------
    fitted : Fitted
        Found without it.
    known : Knowledge
    n_clusters : int
        How many clusters were asked for; 0 where it was left to the data.
    run : Run

    Returns
    -------
    Fitted
    """
    run.progress("what is known")
    solution = fitted.solution
    classes = len(known.classes)
    count = solution.P.shape[1]
    wanted = n_clusters or max(count, classes)
    refuse_unmet(known, len(solution.labels), wanted)
    unlinked = solution.Z
    if known.is_kept:
        unlinked = remove_edges(unlinked, known.labels)
    Z = unlinked
    if not known.links.is_empty:
        Z = add_links(Z, known.links)
    W = affinity(Z)
    found = _Clusters(solution.labels, [[] for _ in range(count)], count)
    if known.n_known:
        found = _follow_labels(W, found, known, max(wanted, classes))
        if wanted < classes:
            found = _merge_to(W, found, wanted, known)
    if not known.links.is_empty:
        found = _follow_links(unlinked, found, known, run)
    if known.sizes != (None, None):
        labels = limit_sizes(W, found.labels, known.sizes, found.total, _find_fixed(found, known))
        found = found._replace(labels=labels)
    found = _fill_clusters(W, found, known)
    _check_sizes(found, known)
    found, names = number_clusters(found, known)
    embedding = solution.P
    if embedding.shape[1] != found.total:
        embedding = label_shares(W, found.labels, found.total)
        embedding = embedding / np.maximum(np.linalg.norm(embedding, axis=1, keepdims=True), 1e-12)
    solution = solution._replace(
        Z=Z,
        W=W,
        P=embedding,
        Q=procrustes(embedding, found.labels),
        labels=found.labels,
        reason=f"{solution.reason}; then the labels were made to agree with what is known",
    )
    predictor = _by_labels(fitted.predictor)
    return fitted._replace(
        solution=solution, predictor=predictor, cluster_names=names, membership=None
    )


def _by_labels(predictor: Predictor) -> Any:
    """The same, which goes by the labels of the samples that a new one leans on."""
    from dataclasses import replace

    return replace(predictor, by_labels=True)


def _follow_labels(W: sp.csr_array, found: _Clusters, known: Knowledge, count: int) -> _Clusters:
    """Labels of all samples by those that are known; class i is cluster i, new ones follow."""
    classes = len(known.classes)
    follower = Follower(W, found.labels, classes, count, known.trust, known.weights)
    labels = follower.complete(known.labels)
    holds = [[at] if at < classes else [] for at in range(count)]
    return _Clusters(labels, holds, count)


def _merge_to(W: sp.csr_array, found: _Clusters, wanted: int, known: Knowledge) -> _Clusters:
    """Fewer clusters than classes: those that are joined the most for their size share one."""
    labels = found.labels.copy()
    holds = [list(one) for one in found.holds]
    count = found.total
    apart = known.links.apart
    while count > wanted:
        F = sp.csr_array((np.ones(len(labels)), labels, np.arange(len(labels) + 1)))
        F.resize((len(labels), count))
        between = (F.T @ (W @ F)).toarray()
        volumes = np.maximum(between.sum(axis=1), 1e-300)
        gain = between / np.outer(volumes, volumes)
        gain[np.tril_indices(count)] = -np.inf
        for one, other in labels[apart].tolist():
            gain[min(one, other), max(one, other)] = -np.inf
        one, other = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if not np.isfinite(gain[one, other]):
            problem = f"asks for fewer clusters than the {count} that cannot_link leaves"
            raise InputError("n_clusters", problem, f"ask for {count}", value=wanted)
        labels[labels == other] = one
        labels[labels > other] -= 1
        holds[one] += holds.pop(int(other))
        count -= 1
    shared = [" and ".join(repr(known.classes[at]) for at in one) for one in holds if len(one) > 1]
    warn(
        Sentence(
            f"y knows {len(known.classes)} classes, more than the {wanted} clusters that "
            f"{{n_clusters}} asks for: {'; '.join(shared)} share a cluster.",
            "n_clusters",
        ),
        DoubtfulResultWarning,
    )
    return _Clusters(labels, holds, count)


def _find_fixed(found: _Clusters, known: Knowledge) -> np.ndarray:
    """The labels that nothing may change: known ones, and those of samples that have links."""
    held = np.full(len(found.labels), -1)
    linked = find_linked(known.links)
    if known.is_kept:
        linked |= known.labels >= 0
    held[linked] = found.labels[linked]
    return held


def _fixed_classes(found: _Clusters, known: Knowledge) -> np.ndarray:
    """The clusters of samples whose label is kept, −1 for the others."""
    fixed = np.full(len(found.labels), -1)
    if known.is_kept:
        cluster = {at: number for number, one in enumerate(found.holds) for at in one}
        rows = np.flatnonzero(known.labels >= 0)
        fixed[rows] = [cluster[at] for at in known.labels[rows].tolist()]
    return fixed


def _follow_links(Z: sp.csr_array, found: _Clusters, known: Knowledge, run: Run) -> _Clusters:
    """Labels that obey the links, with a warning where some pairs could not be kept apart."""
    fixed = _fixed_classes(found, known)
    labels, unmet = obey_links(Z, found.labels, found.total, known.links, fixed, run)
    if len(unmet):
        pairs = "; ".join(f"({known.name(a)}, {known.name(b)})" for a, b in unmet[:3].tolist())
        warn(
            f"{len(unmet)} pairs of cannot_link share a cluster, such as {pairs}: no assignment "
            f"to {found.total} clusters that keeps all of them apart was found; ask for more "
            "clusters, or take out some pairs.",
            DoubtfulResultWarning,
        )
    return found._replace(labels=labels)


def _fill_clusters(W: sp.csr_array, found: _Clusters, known: Knowledge) -> _Clusters:
    """Give every cluster a sample: the one that its own cluster holds on to the least."""
    labels = found.labels.copy()
    sizes = np.bincount(labels, minlength=found.total)
    held = _find_fixed(found, known) >= 0
    shares = label_shares(W, labels, found.total)
    for cluster in np.flatnonzero(sizes == 0).tolist():
        loss = shares[np.arange(len(labels)), labels] - shares[:, cluster]
        loss[held | (sizes[labels] < 2)] = np.inf
        sample = int(np.argmin(loss))
        if not np.isfinite(loss[sample]):
            problem = f"leaves {int((sizes == 0).sum())} clusters without a sample"
            raise InputError("n_clusters", problem, "ask for fewer", value=found.total)
        sizes[labels[sample]] -= 1
        labels[sample] = cluster
        sizes[cluster] = 1
    return found._replace(labels=labels)


def _check_sizes(found: _Clusters, known: Knowledge) -> None:
    """Say so where a cluster was filled against a limit; this cannot happen by the limits."""
    least, most = known.sizes
    sizes = np.bincount(found.labels, minlength=found.total)
    if (least is not None and sizes.min() < least) or (most is not None and sizes.max() > most):
        rows = name_rows(np.flatnonzero(known.labels >= 0).tolist(), known)
        problem = f"cannot be met beside the labels that are known (rows {rows})"
        argument = "min_cluster_size" if least is not None and sizes.min() < least else ""
        raise InputError(argument or "max_cluster_size", problem, "allow for more")


def number_clusters(found: _Clusters, known: Knowledge) -> tuple[_Clusters, list[str] | None]:
    """Clusters in their final order, and their names where classes are known.

    Classes that are whole numbers below the number of clusters are the numbers of their clusters;
    others come first, in order.
    """
    if not known.n_known:
        return found, None
    count = found.total
    values = [one for one in known.classes if isinstance(one, int) and 0 <= one < count]
    as_numbers = len(values) == len(known.classes) and max(map(len, found.holds)) == 1
    number = np.full(count, -1)
    for cluster, one in enumerate(found.holds):
        if one and as_numbers:
            number[cluster] = known.classes[one[0]]
    if not as_numbers:
        holding = [cluster for cluster, one in enumerate(found.holds) if one]
        number[holding] = np.arange(len(holding))
    number[number < 0] = np.setdiff1d(np.arange(count), number)
    names = [""] * count
    for cluster, one in enumerate(found.holds):
        title = " + ".join(str(known.classes[at]) for at in one)
        names[number[cluster]] = title or str(number[cluster])
    return found._replace(labels=number[found.labels]), _distinct(names)


def _distinct(names: list[str]) -> list[str]:
    """A new cluster that would be called like a class is called new."""
    return [
        f"new {name}" if names.index(name) < at or (names.count(name) > 1 and name == str(at))
        else name
        for at, name in enumerate(names)
    ]  # fmt: skip
