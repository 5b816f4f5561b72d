"""From what the user gave to what the solvers take: tables, views and kernels, checked."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from unispectral._alignment import align, align_columns, is_views, sample_index, view_names
from unispectral._arrays import absent_rows
from unispectral._compat import count_samples
from unispectral._errors import InputError, InputTypeError
from unispectral._validation import (
    Shift,
    check_feature_names,
    check_kernel_matrices,
    check_samples,
    check_views,
    feature_names,
    recentre,
    refuse_stack,
)
from unispectral.graph.given import (
    GivenGraph,
    add_graphs,
    check_affinities,
    describe_nodes,
    is_graph_object,
    read_graph,
)
from unispectral.kernels import Abilities, Kernel, KernelBank, as_kernels

Scaling = Callable[[Any], tuple[Shift | None, str]]
#: Why the rows of a graph are not scaled.
AS_ROWS = "as given: the rows of the graph"


@dataclass(frozen=True)
class Layout:
    """How samples come: what new samples are checked against.

    The kind is "table", "columns" (one table whose columns are views), "views" (several tables),
    "kernels" (precomputed) or "graph": for these two ``n_features`` is the number of training
    samples. A shift says how a table was moved and scaled; it is None where it was not.
    ``feature_names`` are the names of the columns of several tables, None for one without; those
    of one are in the estimator. ``graphs`` says which of several views are graphs beside tables,
    whose columns are the training samples.
    """

    kind: str
    view_names: tuple[str, ...]
    n_features: tuple[int, ...]
    columns: tuple[np.ndarray, ...] = ()
    shifts: tuple[Shift | None, ...] = ()
    sparse: tuple[bool, ...] = ()
    feature_names: tuple[tuple[str, ...] | None, ...] = ()
    graphs: tuple[bool, ...] = ()

    @property
    def has_graph(self) -> bool:
        """Whether samples are the nodes of a graph, alone or beside tables."""
        return self.kind == "graph" or any(self.graphs)

    def n_kept(self, view: int) -> int:
        """The columns of a table that take part."""
        if self.shifts:
            shift = self.shifts[view]
        else:
            shift = None
        if shift is None or shift.columns is None:
            return self.n_features[view]
        return len(shift.columns)

    def move(self, tables: list[Any]) -> list[Any]:
        """Do to new samples what was done to the training samples."""
        moved = []
        shifts = self.shifts or [None] * len(tables)
        for table, sparse, shift in zip(tables, self.sparse, shifts, strict=True):
            if sp.issparse(table) != sparse:
                if sparse:
                    table = sp.csr_array(table)
                else:
                    table = table.toarray()
            moved.append(table if shift is None else recentre(table, shift)[0])
        return moved


class GraphsBeside(NamedTuple):
    """Views by their names, the kernels of the tables, which views are graphs, and notes.

    Graphs that stand beside tables are rows of nodes already.
    """

    views: dict[str, Any]
    kernels: Any
    graphs: list[str]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Samples:
    """The training samples: tables (one per view), or kernels that came as matrices.

    ``scaling`` says of each table whether it was standardised, and why. ``graph`` is the graph
    whose nodes the samples are, if that is what was given, and ``notes`` say what was done to it.
    ``weights`` is how many samples each stands for, None for one; ``allowed`` are the pairs that
    may be joined, None for all.
    """

    layout: Layout
    tables: tuple[Any, ...]
    kernels: tuple[Kernel, ...] | None
    bank: KernelBank | None
    normalize: Any
    scaling: tuple[str, ...] = ()
    graph: sp.csr_array | None = None
    notes: tuple[str, ...] = ()
    weights: np.ndarray | None = None
    allowed: sp.csr_array | None = None

    @property
    def n_samples(self) -> int:
        if self.bank is not None:
            return self.bank.n_samples
        return self.tables[0].shape[0]

    def take(self, rows: np.ndarray) -> Samples:
        """Some of the samples of the tables, or all in another order."""
        tables = [table[rows] for table in self.tables]
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, tables=tuple(tables), weights=weights)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The names of the kernels, with those of their views where there are several."""
        if self.kernels is None:
            assert self.bank is not None
            return self.bank.names
        names = tuple(kernel.name for kernel in self.kernels)
        if len(self.tables) < 2:
            return names
        return tuple(f"{view}:{name}" for view in self.layout.view_names for name in names)

    @property
    def kernel_views(self) -> tuple[int, ...]:
        """The view of each kernel, in the order of the weights."""
        if self.kernels is None:
            assert self.bank is not None
            return (0,) * len(self.bank)
        if self.graph is not None:
            return tuple(range(len(self.layout.view_names)))
        views = np.repeat(np.arange(len(self.tables)), len(self.kernels))
        return tuple(views.tolist())


def read(
    estimator: BaseEstimator,
    X: Any,
    kernels: tuple[Kernel, ...] | None,
    *,
    views: Mapping[Any, Any] | None = None,
    normalize: Any = None,
    scaling: Scaling | None = None,
    graphs: Sequence[str] = (),
) -> Samples:
    """Check X and bring it into the form that the solvers take.

    The features are noted in the estimator. ``kernels`` is None for precomputed ones; ``views``
    names the columns of each view, for an X that is one table. ``scaling`` gives the shift of a
    table, or None, and a reason: it is for the label-free model, which takes distances in units of
    their median alone, so that a table may be moved also under the linear kernel, and which knows
    what to do with samples that a view lacks. ``graphs`` are the views that hold the rows of
    graphs, which stay as they are.
    """
    _forget_names(estimator)
    if is_graph_object(X):
        remedy = "give it to UnifiedSpectralClustering(kernels='graph')"
        raise InputTypeError("X", "is a graph, which has no columns", remedy)
    if kernels is None:
        return _read_matrices(estimator, X, normalize)
    refuse_stack(X)
    kind, names, tables, columns, named = _read_tables(estimator, X, views)
    if scaling is None and kind == "views":
        _refuse_absent(tables, names)
    movable = all(_is_movable(kernel, scaling is not None) for kernel in kernels)
    sizes = tuple(table.shape[1] for table in tables)
    shifts: list[Shift | None] = [None] * len(tables)
    reasons = ["as given: the kernels are of the table as it is"] * len(tables)
    for at, name in enumerate(names):
        if name in graphs:
            reasons[at] = AS_ROWS
            continue
        if movable and scaling is not None:
            shifts[at], reasons[at] = scaling(tables[at])
        if movable:
            tables[at], shifts[at] = recentre(tables[at], shifts[at])
    layout = Layout(
        kind,
        tuple(names),
        sizes,
        columns,
        tuple(shifts),
        tuple(sp.issparse(table) for table in tables),
        named,
        tuple(name in graphs for name in names) if graphs else (),
    )
    return Samples(layout, tuple(tables), tuple(kernels), None, normalize, tuple(reasons))


def _forget_names(estimator: BaseEstimator) -> None:
    """Forget the names of columns that a fit before, on one frame, has left."""
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _read_matrices(estimator: BaseEstimator, X: Any, normalize: Any) -> Samples:
    """Check kernels that came as matrices, or as a bank of them."""
    bank = X
    if not isinstance(X, KernelBank):
        matrices = check_kernel_matrices(_stack(align(X, pairwise=True)))
        names = view_names(X) if _is_named(X) else None
        bank = KernelBank.from_matrices(matrices, normalize=normalize, names=names)
    estimator.n_features_in_ = bank.n_samples
    layout = Layout("kernels", ("kernel",), (bank.n_samples,) * len(bank))
    return Samples(layout, (), None, bank, normalize)


class Checked(NamedTuple):
    """Checked tables with their names, as a ``Layout`` has them."""

    kind: str
    names: list[str]
    tables: list[Any]
    columns: tuple[np.ndarray, ...] = ()
    feature_names: tuple[tuple[str, ...] | None, ...] = ()


def _read_tables(estimator: BaseEstimator, X: Any, views: Mapping[Any, Any] | None) -> Checked:
    """Check one table, the views that are columns of it, or several tables."""
    if views is not None:
        if is_views(X):
            problem = "names columns of one table, but X holds several"
            raise InputError("views", problem, "leave views out, or give one table")
        table = check_samples(estimator, X, reset=True)
        groups = _columns(estimator, views)
        parts = [table[:, numbers_] for numbers_ in groups.values()]
        return Checked("columns", list(groups), parts, tuple(groups.values()))
    if not is_views(X):
        return Checked("table", ["X"], [check_samples(estimator, X, reset=True)])
    tables, names = check_views(X)
    named = [
        feature_names(table, f"view {name!r}")
        for name, table in zip(names, _stack(X), strict=True)
    ]
    estimator.n_features_in_ = sum(table.shape[1] for table in tables)
    return Checked("views", names, tables, feature_names=tuple(named))


def _is_movable(kernel: Kernel, by_distance: bool) -> bool:
    """Whether a kernel enters the model by distances in units of the data's own alone."""
    able = getattr(kernel, "abilities", Abilities())
    return able.movable or (by_distance and able.distances == "table")


def _refuse_absent(tables: Sequence[Any], names: Sequence[str]) -> None:
    """The paper's models have no place for samples that a view lacks."""
    for name, table in zip(names, tables, strict=True):
        lacking = int(absent_rows(table).sum())
        if lacking:
            problem = f"lacks {lacking} samples (rows of NaN)"
            remedy = "use UnifiedSpectralClustering, which takes such views"
            raise InputError(f"view {name!r}", problem, remedy)


def read_nodes(estimator: BaseEstimator, X: object) -> Samples:
    """Check one graph, or several on the same nodes, which are described by their rows of it."""
    _forget_names(estimator)
    names = ["graph"]
    graphs = [X]
    if _is_several(X):
        names = view_names(X)
        graphs = _stack_any(X)
    given: list[GivenGraph] = []
    for name, graph in zip(names, graphs, strict=True):
        shape: tuple[int, ...] = getattr(graph, "shape", ())
        if len(graphs) > 1 and len(shape) == 2 and shape[0] != shape[1]:
            problem = f"has the shape {shape}, which is not square, as kernels='graph' asks of all"
            remedy = f"name the views that are graphs: kernels={{{names[0]!r}: 'graph'}}"
            raise InputError(f"graph {name!r}", problem, remedy)
        if len(graphs) == 1:
            argument = "X"
        else:
            argument = f"graph {name!r}"
        if given:
            size = given[0].n_nodes
        else:
            size = None
        given.append(read_graph(graph, argument, n_nodes=size))
    n = given[0].n_nodes
    estimator.n_features_in_ = n
    rows = _beside([describe_nodes(one.weights) for one in given])
    notes = list(dict.fromkeys(note for one in given for note in one.notes))
    layout = Layout("graph", tuple(names), (n,) * len(given))
    return Samples(
        layout,
        (rows,),
        as_kernels("linear"),
        None,
        None,
        (AS_ROWS,),
        add_graphs(given),
        tuple(notes),
    )


def take_graphs(X: Any, kernels: Any) -> GraphsBeside | None:
    """Views of which some are graphs, with the rows of these in their place; None without graphs.

    A view is a graph if ``kernels``, a mapping of views to kernels, calls it one, or if it is an
    object of networkx or igraph. The other views share the kernels that are named for them.
    """
    named = isinstance(kernels, Mapping)
    if not _is_several(X):
        if named:
            problem = "names the kernels of views, but X holds none"
            raise InputError("kernels", problem, "give views, or one kernel", value=dict(kernels))
        return None
    tables = dict(zip(view_names(X), _stack_any(X), strict=True))
    graphs = [name for name, table in tables.items() if is_graph_object(table)]
    rest = kernels
    if named:
        asked = _kernels_of_views(kernels, X, list(tables))
        graphs += [name for name, kernel in asked.items() if _is_graph(kernel)]
        others = [kernel for kernel in asked.values() if not _is_graph(kernel)]
        if any(other != others[0] for other in others):
            problem = "names different kernels for different tables"
            raise InputError("kernels", problem, "name the same ones, as a list")
        rest = others[0] if others else "linear"
    graphs = [name for name in tables if name in graphs]
    if not graphs or len(graphs) == len(tables):
        return None if not named and not graphs else GraphsBeside(tables, rest, graphs, ())
    plain = {name: table for name, table in tables.items() if name not in graphs}
    index = sample_index(plain)
    n = count_samples(next(iter(plain.values())))
    notes: list[str] = []
    for name in graphs:
        one = read_graph(tables[name], f"graph {name!r}", n_nodes=n, names=index)
        notes += one.notes
        tables[name] = describe_nodes(one.weights)
    return GraphsBeside(tables, rest, graphs, tuple(dict.fromkeys(notes)))


def _is_graph(kernel: object) -> bool:
    return isinstance(kernel, str) and kernel == "graph"


def _kernels_of_views(kernels: Mapping[Any, Any], X: object, names: list[str]) -> dict[str, Any]:
    """The kernels that are named for views, by their names; views of a list are counted."""
    found = {}
    for key, kernel in kernels.items():
        name = str(key)
        if not isinstance(X, Mapping) and isinstance(key, numbers.Integral):
            name = f"view{key}"
        if name not in names:
            problem = f"names the view {key!r}, but X holds {', '.join(names)}"
            raise InputError("kernels", problem)
        found[name] = kernel
    return found


def _stack_any(X: Any) -> list[Any]:
    return list(X.values() if isinstance(X, Mapping) else X)


def _read_new_nodes(X: object, layout: Layout) -> list[Any]:
    """The affinities of new nodes to those of the fit, in each graph."""
    graphs = [X]
    if len(layout.n_features) > 1:
        X = _order_as_fitted(X, "graph", layout.view_names)
        if _is_several(X):
            graphs = _stack_any(X)
        else:
            graphs = [X]
        _require_fitted("X", "holds", len(graphs), "graphs", len(layout.n_features))
    size = layout.n_features[0]
    rows = [check_affinities(graph, "X", size) for graph in graphs]
    if len({one.shape[0] for one in rows}) > 1:
        raise InputError("X", "holds affinities of different numbers of new nodes")
    return [_beside([describe_nodes(one, loops=False) for one in rows])]


def _is_several(X: object) -> bool:
    """Whether X holds several graphs: a mapping, or a list of what is none itself."""
    if isinstance(X, Mapping):
        return not sp.issparse(X)  # a sparse dictionary of keys is one table
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    first = X[0]
    if is_graph_object(first) or sp.issparse(first):
        return True
    try:
        return np.ndim(first) == 2
    except ValueError:  # a list of lists of different lengths, which is said elsewhere
        return False


def _beside(rows: Sequence[sp.csr_array]) -> sp.csr_array:
    """Rows of several graphs side by side, together of length one."""
    if len(rows) == 1:
        return rows[0]
    return sp.csr_array(sp.hstack(rows) / np.sqrt(len(rows)))


def read_new(estimator: BaseEstimator, X: object, layout: Layout) -> list[Any]:
    """Check new samples against the training samples: one table per view, or cross kernels."""
    if layout.kind == "graph":
        return _read_new_nodes(X, layout)
    if layout.kind == "kernels":
        kernels = _stack(_order_as_fitted(align(X), "kernel", estimator.kernel_names_))
        return _cross([align_columns(K, estimator) for K in kernels], layout)
    if layout.kind != "views":
        table = check_samples(estimator, X, reset=False)
        if layout.kind == "columns":
            return layout.move([table[:, numbers_] for numbers_ in layout.columns])
        return layout.move([table])
    if any(layout.graphs):
        X = _describe_new_nodes(X, layout)
    if not is_views(X):
        views = f"{len(layout.view_names)} views ({', '.join(layout.view_names)})"
        problem = f"is one table, but the model was fitted on {views}"
        raise InputError("X", problem, "give one table per view")
    X = _order_as_fitted(align(X), "view", layout.view_names)
    tables, _ = check_views(X, least=1)
    _require_fitted("X", "holds", len(tables), "views", len(layout.n_features))
    # Files of before the names were kept have none of them.
    for name, table, names in zip(
        layout.view_names, _stack(X), layout.feature_names, strict=False
    ):
        check_feature_names(type(estimator)(), table, f"view {name!r}", names)
    for name, table, known in zip(layout.view_names, tables, layout.n_features, strict=True):
        _require_fitted(f"view {name!r}", "has", table.shape[1], "features", known)
    return layout.move(tables)


def _describe_new_nodes(X: object, layout: Layout) -> Any:
    """New samples with rows of nodes in place of their affinities to the nodes of the fit.

    A sample without an affinity is told of by its tables alone.
    """
    if not is_views(X):
        return X
    names = view_names(X) if isinstance(X, Mapping) else layout.view_names
    tables = dict(zip(names, _stack_any(X), strict=False))
    for name, is_one, size in zip(
        layout.view_names, layout.graphs, layout.n_features, strict=True
    ):
        if is_one and name in tables:
            rows = check_affinities(tables[name], f"graph {name!r}", size)
            tables[name] = describe_nodes(rows, loops=False)
    return tables if isinstance(X, Mapping) else [*tables.values(), *_stack_any(X)[len(names) :]]


def _is_named(X: object) -> bool:
    return isinstance(X, Mapping) and is_views(X)


def _order_as_fitted(X: Any, what: str, names: Sequence[str]) -> Any:
    """Views or kernels in the order of the fit, if they come with names."""
    if not _is_named(X):
        return X
    named = dict(zip(view_names(X), X.values(), strict=True))
    if missing := [name for name in names if name not in named]:
        raise InputError("X", f"lacks the {what} {missing[0]!r} on which the model was fitted")
    if surplus := [name for name in named if name not in names]:
        problem = f"has the {what} {surplus[0]!r}, on which the model was not fitted"
        raise InputError("X", problem, "leave it out")
    return {name: named[name] for name in names}


def _require_fitted(argument: str, verb: str, count: int, what: str, known: int) -> None:
    if count != known:
        raise InputError(argument, f"{verb} {count} {what}, but the model was fitted on {known}")


def _stack(X: Any) -> list[Any]:
    """One or several matrices as a list."""
    if is_views(X):
        return list(X.values() if isinstance(X, Mapping) else X)
    return [X]


def _columns(estimator: BaseEstimator, groups: Mapping[Any, Any]) -> dict[str, np.ndarray]:
    """The column numbers of each group: names, numbers, slices or masks."""
    known = list(getattr(estimator, "feature_names_in_", []))
    names = view_names(groups)
    found = {}
    for name, given in zip(names, groups.values(), strict=True):
        chosen = _column_numbers(f"views[{name!r}]", given, known, estimator.n_features_in_)
        if not len(chosen):
            raise InputError(f"views[{name!r}]", "is empty", "give it at least one column")
        if len(set(chosen)) < len(chosen):
            raise InputError(f"views[{name!r}]", "names a column more than once", "name it once")
        found[name] = np.array(chosen, dtype=np.intp)
    if not found:
        raise InputError("views", "is empty", "name at least one view, or leave it out")
    return found


def _column_numbers(argument: str, given: Any, known: list[str], n_features: int) -> list[int]:
    if isinstance(given, slice):
        try:
            return list(range(*given.indices(n_features)))
        except TypeError:
            problem = "is a slice of names"
            raise InputTypeError(argument, problem, "list the names", value=given) from None
    if isinstance(given, (str, numbers.Integral)):
        items = [given]
    else:
        items = list(given)
    masks = [isinstance(item, (bool, np.bool_)) for item in items]
    if any(masks):
        if not all(masks) or len(items) != n_features:
            problem = f"is a mask of {len(items)} entries for {n_features} columns"
            remedy = "give one True or False per column, or the numbers of the columns"
            raise InputError(argument, problem, remedy)
        return [number for number, chosen in enumerate(items) if chosen]
    return [_column_number(argument, item, known, n_features) for item in items]


def _column_number(argument: str, item: object, known: list[str], n_features: int) -> int:
    if isinstance(item, str):
        if item not in known:
            raise InputError(argument, f"names the column {item!r}, which X does not have")
        return known.index(item)
    if not isinstance(item, numbers.Integral):
        raise InputTypeError(argument, f"holds {item!r}", "give names or numbers of columns")
    if not -n_features <= int(item) < n_features:
        problem = f"holds the column number {item}, but X has {n_features} columns"
        raise InputError(argument, problem)
    return int(item) % n_features


def _cross(stack: list[Any], layout: Layout) -> list[np.ndarray]:
    """Cross kernels of new points: one (m, n) matrix for each kernel."""
    n = layout.n_features[0]
    _require_fitted("X", "holds", len(stack), "cross kernels", len(layout.n_features))
    tables = []
    for K in stack:
        K = np.asarray(K.toarray() if sp.issparse(K) else K)
        if K.dtype not in (np.float32, np.float64):
            K = K.astype(np.float64)
        if K.ndim != 2 or K.shape[1] != n:
            remedy = f"it needs one column for each of the {n} training samples"
            raise InputError("X", f"is a cross kernel of shape {K.shape}", remedy)
        if not np.isfinite(K).all():
            raise InputError("X", "is a cross kernel with NaN or infinity", "remove these samples")
        tables.append(K)
    if len({len(K) for K in tables}) > 1:
        raise InputError("X", "holds cross kernels with different numbers of rows")
    return tables
