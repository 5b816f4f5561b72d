"""Several tables of the same samples: their names, and their rows in one order.

Frames are matched by their index, everything else by position. Whatever puts samples beside
samples or labels (a fit, a prediction, a description, a report, a picture) calls `align`, so that
all of them agree on which row is which sample, or refuse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from unispectral._errors import InputError

if TYPE_CHECKING:
    from unispectral._base import LearnedGraphClustering

_BY_POSITION = "match rows by position"


def is_views(X: object) -> bool:
    """Whether ``X`` is several tables of the same samples rather than one table.

    A stack of matrices is, though only of kernels: one of tables is rather a list of images.

    Examples
    --------
    >>> is_views([[1.0, 2.0], [3.0, 4.0]]), is_views([np.eye(2), np.eye(2)])
    (False, True)
    """
    if isinstance(X, Mapping):
        return not sp.issparse(X)  # one of SciPy's formats is also a mapping
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(len(getattr(view, "shape", ())) == 2 for view in X)
    return isinstance(X, np.ndarray) and X.ndim == 3


def view_names(X: Any) -> list[str]:
    """The names of several views, which must differ as text.

    Examples
    --------
    >>> view_names({"left": None, 2: None}), view_names([None, None])
    (['left', '2'], ['view0', 'view1'])
    """
    if not isinstance(X, Mapping):
        return [f"view{position}" for position in range(len(X))]
    names = [str(name) for name in X]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise InputError("X", f"has two views called {twice[0]!r}", "give each its own name")
    return names


def sample_index(X: Any) -> Any:
    """The index that names the samples: of a frame, or of the first frame among several views.

    None where nothing names them.
    """
    tables = [X]
    if is_views(X):
        tables = list(X.values() if isinstance(X, Mapping) else X)
    return next((table.index for table in tables if _has_index(table)), None)


def align(
    X: Any,
    *,
    index: object = None,
    names: Sequence[str] = (),
    pairwise: bool = False,
    argument: str = "X",
) -> Any:
    """The same samples in the same rows: frames with their rows in the order of one index.

    Parameters
    ----------
    X : a table, a column, or several views
        What has no index is returned as it is.
    index : pandas.Index, optional
        The order of the rows, such as that of the samples of a fit. By default it is that of the
        first frame among several views.
    names : sequence of str
        The views in the order of a fit, the first of which is then the first frame.
    pairwise : bool
        Whether tables are kernels, whose columns are samples, too.
    argument : str
        What messages call X.

    Returns
    -------
    X
        Or the same tables in a container of the same kind.

    Examples
    --------
    >>> import pandas as pd
    >>> left = pd.DataFrame({"x": [1, 2]}, index=["a", "b"])
    >>> right = pd.DataFrame({"y": [20, 10]}, index=["b", "a"])
    >>> align([left, right])[1]["y"].tolist()
    [10, 20]
    """
    if not is_views(X):
        if index is None or not _has_index(X):
            return X
        return _in_order_of_fit(X, index, argument, pairwise)
    if isinstance(X, np.ndarray):
        return X
    tables = dict(zip(view_names(X), X.values() if isinstance(X, Mapping) else X, strict=True))
    first = [name for name in names if name in tables]
    ordered = [*first, *(name for name in tables if name not in first)]
    frames = [name for name in ordered if _has_index(tables[name])]
    if index is not None:
        # Where one view has the index of the fit, those of the others mean what they did there.
        as_fitted = any(tables[name].index.equals(index) for name in frames)
        for name in frames:
            tables[name] = _in_order_of_fit(
                tables[name], index, f"view {name!r}", pairwise, as_fitted=as_fitted
            )
    else:
        for name in frames[1:]:
            pair = f"has views {frames[0]!r} and {name!r}"
            leader = tables[frames[0]].index
            tables[name] = _in_order_of_first(tables[name], leader, argument, pair, pairwise)
    if isinstance(X, Mapping):
        return dict(zip(X, tables.values(), strict=True))
    return list(tables.values())


def align_to_fit(X: object, model: Any, *, pairwise: bool = False, argument: str = "X") -> Any:
    """The samples of a fit in the order in which the model, or a column of labels, has them."""
    index = getattr(model, "_sample_index_", None)
    if index is None and _has_index(model):
        index = model.index
    weights = getattr(model, "view_weights_", ())
    if isinstance(weights, Mapping):
        names = tuple(weights)
    else:
        names = ()
    return align(X, index=index, names=names, pairwise=pairwise, argument=argument)


def align_columns(K: Any, model: LearnedGraphClustering, argument: str = "X") -> Any:
    """A kernel between new samples and those of a fit, its columns in the order of the fit."""
    if not hasattr(K, "iloc"):
        return K
    return align_to_fit(K.T, model, argument=argument).T


def _has_index(table: object) -> bool:
    return hasattr(table, "iloc") and hasattr(getattr(table, "index", None), "is_unique")


def _in_order_of_first(table: Any, index: object, argument: str, pair: str, pairwise: bool) -> Any:
    """A view of a fit or of a prediction with its rows in the order of the first one's."""
    rows, problem = _rows_at(table.index, index)
    if problem:
        remedy = f"give both the same index, or .to_numpy() of each to {_BY_POSITION}"
        raise InputError(argument, f"{pair} whose indexes {problem}", remedy)
    return _take_rows(table, rows, argument, pairwise)


def _in_order_of_fit(
    table: Any, index: Any, argument: str, pairwise: bool, *, as_fitted: bool = False
) -> Any:
    """A table with its rows in the order of the samples that have labels."""
    rows, problem = _rows_at(table.index, index)
    counted = only_counts(index) or only_counts(table.index)
    if rows is not None and counted and not as_fitted:
        # A frame made of an array counts its rows, whatever their order was before.
        problem = "has rows in another order than the samples of the fit, of which one index only "
        problem += "counts the rows"
        remedy = f"sort both alike before, or give .to_numpy() to {_BY_POSITION}"
        raise InputError(argument, problem, remedy)
    if problem and counted and len(index) == len(table.index):
        return table
    if problem:
        remedy = f"give the samples of the fit, or .to_numpy() to {_BY_POSITION}"
        raise InputError(
            argument, f"and the samples of the fit have indexes that {problem}", remedy
        )
    return _take_rows(table, rows, argument, pairwise)


def _rows_at(index: Any, wanted: Any) -> tuple[np.ndarray | None, str]:
    """Which rows bring an index into the wanted order (None: as they are), or why none do."""
    if wanted.equals(index):
        return None, ""
    if not (wanted.is_unique and index.is_unique):
        return None, "differ and hold values more than once"
    rows = index.get_indexer(wanted)
    if len(wanted) != len(index) or (rows < 0).any():
        return None, "have different rows"
    return rows, ""


def only_counts(index: Any) -> bool:
    """Whether an index is the one that pandas gives to rows without names."""
    counting = hasattr(index, "start") and hasattr(index, "step")
    return counting and index.name is None and index.start == 0 and index.step == 1


def _take_rows(table: Any, rows: np.ndarray | None, argument: str, pairwise: bool) -> Any:
    if rows is None:
        return table
    if not pairwise:
        return table.iloc[rows]
    if not table.columns.equals(table.index):
        problem = "is a kernel whose rows are in another order, and whose columns have other names"
        remedy = "give it columns named as its rows, or .to_numpy() to match by position"
        raise InputError(argument, problem, remedy)
    return table.iloc[rows, rows]
