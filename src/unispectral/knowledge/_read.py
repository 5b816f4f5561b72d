"""From what a user knows of the samples to one checked object: labels, links, weights, sizes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from unispectral._alignment import align, only_counts, sample_index
from unispectral._errors import InputError, InputTypeError, warn

#: What marks a label that is not known, in an array of whole numbers.
UNKNOWN = -1
#: Pairs and rows that a sentence names at most.
_NAMED = 6


class Links(NamedTuple):
    """Rows that belong together, and rows that do not.

    ``unit`` numbers the groups of samples that belong together, most of them of one sample;
    ``apart`` (m, 2) are samples whose groups may not share a cluster.
    """

    unit: np.ndarray
    apart: np.ndarray

    @property
    def is_empty(self) -> bool:
        return not len(self.apart) and int(self.unit.max(initial=-1)) + 1 == len(self.unit)


class Sizes(NamedTuple):
    """The least and the most that a cluster may hold; None for no limit."""

    least: int | None
    most: int | None


@dataclass(frozen=True)
class Knowledge:
    """What is known of the samples beside their columns.

    Attributes
    ----------
    labels : int array of shape (n,)
        The class of each sample by its number, −1 where it is not known.
    classes : tuple
        The classes that some samples are known to be of, as they were given, in order.
    links : Links
    trust : float
        How far known labels count: 1 keeps them as they were given.
    sizes : Sizes
    weights : ndarray of shape (n,) or None
        How many samples each stands for.
    names : sequence or None
        What the rows are called.
    connectivity : CSR array of shape (n, n) or None
        The pairs that may be joined in the graph; None for all.
    """

    labels: np.ndarray
    classes: tuple[Any, ...]
    links: Links
    trust: float
    sizes: Sizes
    weights: np.ndarray | None = None
    names: Sequence[Any] | None = None
    connectivity: sp.csr_array | None = None

    @property
    def n_known(self) -> int:
        return int((self.labels >= 0).sum())

    @property
    def is_kept(self) -> bool:
        """Whether known labels are kept as they were given."""
        return self.n_known > 0 and self.trust >= 1.0

    @property
    def says_nothing(self) -> bool:
        links = self.links.is_empty and self.sizes == (None, None)
        others = self.weights is None and self.connectivity is None
        return links and not self.n_known and others

    def describe(self) -> dict[str, Any]:
        """The same in numbers, for people and files."""
        told: dict[str, Any] = {}
        if self.n_known:
            told["known_labels"] = self.n_known
            told["known_classes"] = len(self.classes)
            told["trust"] = self.trust
        if not self.links.is_empty:
            together = np.bincount(self.links.unit)
            told["linked_rows"] = int(together[together > 1].sum())
            told["groups_together"] = int((together > 1).sum())
            told["pairs_apart"] = len(self.links.apart)
        if self.sizes.least is not None:
            told["min_cluster_size"] = int(self.sizes.least)
        if self.sizes.most is not None:
            told["max_cluster_size"] = int(self.sizes.most)
        if self.weights is not None:
            told["total_weight"] = float(self.weights.sum())
            told["rows_without_weight"] = int((self.weights == 0).sum())
        if self.connectivity is not None:
            told["connected_pairs"] = self.connectivity.nnz // 2
        return told

    def take(self, rows: np.ndarray) -> Knowledge:
        """The same of some of the samples; the others take no part."""
        unit = np.unique(self.links.unit[rows], return_inverse=True)[1]
        place = np.full(len(self.labels), -1)
        place[rows] = np.arange(len(rows))
        apart = place[self.links.apart]
        apart = apart[(apart >= 0).all(axis=1)]
        names = None if self.names is None else [self.names[int(row)] for row in rows]
        weights = None if self.weights is None else self.weights[rows]
        connectivity = self.connectivity
        if connectivity is not None:
            connectivity = sp.csr_array(connectivity[rows][:, rows])
        return replace(
            self,
            labels=self.labels[rows],
            links=Links(unit, apart),
            weights=weights,
            names=names,
            connectivity=connectivity,
        )

    def name(self, row: int) -> str:
        """What a row is called in a sentence."""
        return str(int(row)) if self.names is None else repr(self.names[int(row)])


def put_in_words(told: dict[str, Any]) -> str:
    """What a fit was told of its samples as one sentence; empty where that is nothing.

    Examples
    --------
    >>> put_in_words({"total_weight": 152.0, "rows_without_weight": 0})
    'The fit was told weights that add up to 152.'
    """
    parts = []
    if "known_labels" in told:
        parts.append(f"{told['known_labels']} labels of {told['known_classes']} classes")
    if "linked_rows" in told:
        parts.append(f"{told['groups_together']} groups that belong together")
        parts.append(f"{told['pairs_apart']} pairs that do not")
    if "total_weight" in told:
        without = told["rows_without_weight"]
        part = f"weights that add up to {told['total_weight']:g}"
        parts.append(part + (f" ({without} samples have none)" if without else ""))
    if "min_cluster_size" in told:
        parts.append(f"at least {told['min_cluster_size']} samples in each cluster")
    if "max_cluster_size" in told:
        parts.append(f"at most {told['max_cluster_size']} samples in each cluster")
    if "connected_pairs" in told:
        parts.append(f"which {told['connected_pairs']} pairs may be joined")
    return f"The fit was told {'; '.join(parts)}." if parts else ""


def count_rows(X: Any) -> int | None:
    """The number of samples of a table, of several views, or of a graph object."""
    from unispectral._alignment import is_views
    from unispectral._compat import count_samples
    from unispectral.graph.given import is_graph_object

    several = isinstance(X, (list, tuple)) and any(is_graph_object(one) for one in X)
    if is_views(X) or several:
        tables = list(X.values()) if hasattr(X, "values") else list(X)
        return count_rows(tables[0]) if tables else None
    if is_graph_object(X):
        return int(X.number_of_nodes() if hasattr(X, "number_of_nodes") else X.vcount())
    return None if X is None else int(count_samples(X))


def read_knowledge(
    X: object,
    y: object = None,
    *,
    must_link: object = None,
    cannot_link: object = None,
    trust: float = 1.0,
    least: int | None = None,
    most: int | None = None,
    weights: np.ndarray | None = None,
    connectivity: object = None,
) -> Knowledge | None:
    """What is known of the samples X; None where that is nothing.

    A ``y`` without unknown entries says nothing here: by scikit-learn's convention it is the truth
    that scores compare with, and no clusterer may look at it.
    """
    told = (y, must_link, cannot_link, least, most, weights, connectivity)
    if all(one is None for one in told):
        return None
    n = count_rows(X)
    if n is None:
        return None
    index = sample_index(X)
    if index is None:
        index = _index_nodes(X)
    names = None
    if index is not None and not only_counts(index):
        names = index
    labels = np.full(n, UNKNOWN)
    classes: tuple[Any, ...] = ()
    if y is not None:
        labels, classes = read_labels(_align_column(y, index), n)
    links = read_links(must_link, cannot_link, n, names)
    allowed = None
    if connectivity is not None:
        from unispectral.graph.given import read_graph

        allowed = read_graph(connectivity, "connectivity", n_nodes=n, names=index).weights
    limits = Sizes(least, most)
    known = Knowledge(labels, classes, links, float(trust), limits, weights, names, allowed)
    if known.is_kept:
        _refuse_contradictions(known, must_link)
    return None if known.says_nothing else known


def _index_nodes(X: object) -> Any:
    """What the nodes of a graph object are called, as an index; None where they are counted."""
    from unispectral._compat import optional
    from unispectral.graph.given import is_graph_object, name_nodes

    called = name_nodes(X) if is_graph_object(X) else None
    if called is None:
        return None
    return optional("pandas", extra="io").Index(called, tupleize_cols=False)


def _align_column(column: object, index: object) -> Any:
    """A column with an index in the order of the samples."""
    return align(column, index=index, argument="y") if index is not None else column


def read_labels(y: object, n: int) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Numbers of known classes, −1 where a label is unknown, and the classes in order.

    Unknown are −1, None, NaN and pandas' NA. Nothing is known by a ``y`` without unknown entries,
    nor by one that holds −1 and one other number: these are two classes more often than one.

    Examples
    --------
    >>> read_labels(["b", None, "a"], 3)
    (array([ 1, -1,  0]), ('a', 'b'))
    >>> read_labels([1, 0, 1], 3)
    (array([-1, -1, -1]), ())
    """
    nothing = np.full(n, UNKNOWN)
    try:
        values = np.asarray(y)
    except ValueError as error:
        raise InputError("y", "is ragged", "give one label for each sample") from error
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim != 1 or len(values) != n:
        if sp.issparse(y) or values.ndim != 1:
            return nothing, ()  # several columns: what scikit-learn's tools pass for scores
        problem = f"has {len(values)} labels for {n} samples"
        raise InputError("y", problem, "give one for each, −1 or None where it is not known")
    entries = values.tolist()
    unknown = np.array([_is_unknown(entry) for entry in entries], dtype=bool)
    if not unknown.any() or unknown.all():
        return nothing, ()
    known = [entry for entry, gone in zip(entries, unknown, strict=True) if not gone]
    numbers = all(isinstance(entry, Real) for entry in known)
    if not numbers and not all(isinstance(entry, str) for entry in known):
        problem = "mixes numbers and text"
        raise InputTypeError("y", problem, "give labels of one kind, None where one is not known")
    if numbers:
        for entry in known:
            if isinstance(entry, float) and entry != int(entry):
                problem = "has continuous values"
                raise InputError("y", problem, "give classes, −1 where one is not known")
        known = [int(entry) for entry in known]
    classes = tuple(sorted(set(known)))
    minus = [entry for entry in entries if isinstance(entry, Real) and entry == UNKNOWN]
    if len(classes) == 1 and len(minus) == int(unknown.sum()) and classes[0] == 1:
        warn(
            "y holds −1 and 1 alone, which is how two classes are written, and nothing of it is "
            "used; write None where a label is not known if 1 is the only class that is known."
        )
        return nothing, ()
    place = {label: number for number, label in enumerate(classes)}
    found = nothing
    found[~unknown] = [place[label] for label in known]
    return found, classes


def _is_unknown(entry: object) -> bool:
    if entry is None:
        return True
    if isinstance(entry, str):
        return False
    if isinstance(entry, Real):
        return bool(entry != entry) or entry == UNKNOWN
    return type(entry).__name__ in ("NAType", "NaTType")


def read_links(must_link: object, cannot_link: object, n: int, names: object = None) -> Links:
    """Groups of rows that belong together, and pairs of rows that do not.

    Examples
    --------
    >>> links = read_links([(0, 1), (1, 2)], [(0, 3)], 4)
    >>> links.unit.tolist(), links.apart.tolist()
    ([0, 0, 0, 1], [[0, 3]])
    """
    together = _read_pairs(must_link, "must_link", n, names)
    apart = _read_pairs(cannot_link, "cannot_link", n, names)
    unit = np.arange(n)
    if len(together):
        joined = sp.coo_array((np.ones(len(together)), together.T), shape=(n, n))
        unit = connected_components(joined, directed=False)[1]
        # Numbered by their first rows.
        unit = np.unique(_first_of(unit)[unit], return_inverse=True)[1]
    for one, other in apart:
        if unit[one] == unit[other]:
            raise _contradict_links(together, int(one), int(other), names)
    return Links(unit, apart)


def _first_of(unit: np.ndarray) -> np.ndarray:
    return np.unique(unit, return_index=True)[1]


def _name(row: int, names: Any) -> str:
    return str(int(row)) if names is None else repr(names[int(row)])


def _contradict_links(together: np.ndarray, one: int, other: int, names: object) -> InputError:
    pair = f"({_name(one, names)}, {_name(other, names)})"
    chain = " – ".join(_name(row, names) for row in find_chain(together, one, other))
    problem = f"keeps the pair {pair} apart, which must_link joins by {chain}"
    return InputError("cannot_link", problem, "take out one of these pairs")


def find_chain(pairs: np.ndarray, start: int, end: int) -> list[int]:
    """The shortest way from one row to another along pairs.

    Examples
    --------
    >>> find_chain(np.array([[0, 1], [1, 2], [2, 3]]), 0, 2)
    [0, 1, 2]
    """
    beside: dict[int, list[int]] = {}
    for one, other in pairs.tolist():
        beside.setdefault(one, []).append(other)
        beside.setdefault(other, []).append(one)
    before = {start: start}
    queue = deque([start])
    while queue:
        row = queue.popleft()
        if row == end:
            break
        for following in beside.get(row, ()):
            if following not in before:
                before[following] = row
                queue.append(following)
    if end not in before:
        return [start, end]
    way = [end]
    while way[-1] != start:
        way.append(before[way[-1]])
    return way[::-1]


def _read_pairs(given: object, argument: str, n: int, names: object) -> np.ndarray:
    """Pairs or larger groups of rows as pairs of their positions."""
    if given is None:
        return np.empty((0, 2), dtype=np.int64)
    wanted = "give pairs or groups of rows, such as [(0, 3), (5, 6, 8)]"
    if isinstance(given, (str, bytes)) or not isinstance(given, (Iterable, np.ndarray)):
        raise InputTypeError(argument, f"is a {type(given).__name__}", wanted)
    groups = given.to_numpy().tolist() if hasattr(given, "to_numpy") else list(given)
    found = []
    for group in groups:
        if isinstance(group, (str, bytes)) or not isinstance(group, (Iterable, np.ndarray)):
            raise InputError(argument, f"holds {group!r}, which is no group of rows", wanted)
        rows = [_find_row(row, argument, n, names) for row in group]
        if len(rows) < 2:
            raise InputError(argument, f"holds the group {list(group)!r} of one row", wanted)
        if len(set(rows)) < len(rows):
            problem = f"names a row twice in the group {list(group)!r}"
            raise InputError(argument, problem, "name it once")
        if argument == "must_link":
            found += list(pairwise(rows))
        else:
            found += list(combinations(rows, 2))
    if not found:
        return np.empty((0, 2), dtype=np.int64)
    return np.unique(np.sort(np.array(found, dtype=np.int64), axis=1), axis=0)


def _find_row(row: Any, argument: str, n: int, names: Any) -> int:
    """The position of a row that is named by the index of a frame, or counted from 0."""
    if names is not None:
        if row not in names:
            problem = f"names the row {row!r}, which is not in the index of X"
            raise InputError(argument, problem, "name rows as the index does")
        place = names.get_loc(row)
        if not isinstance(place, Integral):
            problem = f"names the row {row!r}, which the index of X holds more than once"
            raise InputError(argument, problem, "give rows different names")
        return int(place)
    if isinstance(row, (bool, np.bool_)) or not isinstance(row, Integral):
        problem = f"names the row {row!r}"
        raise InputTypeError(argument, problem, "rows of a table without names are counted from 0")
    number = int(row)
    if not 0 <= number < n:
        problem = f"names the row {number}, but there are {n} samples"
        raise InputError(argument, problem, f"rows are counted from 0 to {n - 1}")
    return number


def _refuse_contradictions(known: Knowledge, must_link: object) -> None:
    """Refuse links that known labels contradict, and name the rows."""
    labels = known.labels
    rows = np.flatnonzero(labels >= 0)
    first: dict[int, int] = {}
    for row in rows.tolist():
        other = first.setdefault(int(known.links.unit[row]), row)
        if labels[other] != labels[row]:
            pairs = _read_pairs(must_link, "must_link", len(labels), known.names)
            chain = " – ".join(known.name(one) for one in find_chain(pairs, other, row))
            one, two = (known.classes[labels[at]] for at in (other, row))
            problem = f"joins {chain}, of which y says {one!r} and {two!r}"
            raise InputError("must_link", problem, "take out a pair, or one of the labels")
    for one, other in known.links.apart.tolist():
        if labels[one] >= 0 and labels[one] == labels[other]:
            pair = f"({known.name(one)}, {known.name(other)})"
            problem = f"keeps the pair {pair} apart, but y says {known.classes[labels[one]]!r} of"
            raise InputError("cannot_link", f"{problem} both", "take out the pair, or a label")


def read_weights(sample_weight: object, X: object) -> np.ndarray | None:
    """One number of at least 0 for each sample; None where all count alike."""
    if sample_weight is None:
        return None
    n = count_rows(X)
    assert n is not None
    index = sample_index(X)
    if index is not None:
        sample_weight = align(sample_weight, index=index, argument="sample_weight")
    remedy = "give one number of at least 0 for each sample"
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, float(sample_weight))
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError("sample_weight", "does not hold numbers", remedy) from error
    if weights.shape != (n,):
        problem = f"has the shape {weights.shape} for {n} samples"
        raise InputError("sample_weight", problem, remedy)
    if not np.isfinite(weights).all():
        raise InputError("sample_weight", "has NaN or infinite entries", remedy)
    if (weights < 0).any():
        at = int(np.argmin(weights))
        problem = f"has a negative weight ({weights[at]:g} at row {at})"
        raise InputError("sample_weight", problem, remedy)
    if not (weights > 0).any():
        raise InputError("sample_weight", "is zero for all samples", "give some a weight above 0")
    return weights


def name_rows(rows: Iterable[int], known: Knowledge) -> str:
    """A few rows by their names."""
    listed = [known.name(row) for row in rows]
    more = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f" and {more} more" if more > 0 else "")
