"""Dask collections as blocks of rows, and labels as Dask arrays."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from unispectral._alignment import is_views
from unispectral._compat import optional
from unispectral._errors import InputError, InputTypeError
from unispectral._memory import give_back
from unispectral.dask._waiting import able_workers, gather_results, wait_for, watch

if TYPE_CHECKING:
    from unispectral._base import LearnedGraphClustering

#: How often what a lost worker had is asked for again.
RETRIES = 3


@dataclass
class Blocks:
    """Blocks of rows that are made anew whenever they are used, and the number of rows of each.

    ``columns`` are the names of those of a frame. No block is kept on the workers: together they
    may need more memory than these have.
    """

    delayed: list[Any]
    sizes: list[int]
    columns: Any = None

    @property
    def n_rows(self) -> int:
        return sum(self.sizes)

    def gather(self, client: Any, rows: np.ndarray | None) -> Any:
        """The table of all rows, or of the chosen ones, in this process."""
        ends = np.cumsum(self.sizes)
        parts: list[Any] = [None] * len(self.sizes)
        if rows is not None:
            parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
        starts = ends - np.array(self.sizes)
        take = optional("dask", extra="dask").delayed(_rows_of)
        chosen = [
            take(block, None if part is None else part - start)
            for block, part, start in zip(self.delayed, parts, starts, strict=True)
            if part is None or len(part)
        ]
        futures = client.compute(chosen, retries=RETRIES)
        wait_for(client, futures)
        first = client.gather(futures.pop(0))
        if sp.issparse(first):
            return sp.vstack([first, *client.gather(futures)], format="csr")
        if futures:
            if rows is None:
                n_rows = self.n_rows
            else:
                n_rows = len(rows)
            first = _fill_table(n_rows, first, (client.gather(futures.pop(0)) for _ in chosen[1:]))
        return _name_columns(first, self.columns)


def _fill_table(n_rows: int, first: np.ndarray, others: Iterator[np.ndarray]) -> np.ndarray:
    """Parts of a table below each other, of which only one of the others is here at a time."""
    table = np.empty((n_rows, first.shape[1]), dtype=first.dtype)
    stop = len(first)
    table[:stop] = first
    for part in others:
        if part.shape[1] != table.shape[1]:
            problem = f"has blocks of {table.shape[1]} and of {part.shape[1]} columns"
            raise InputError("X", problem, "give blocks of rows with the same columns")
        # Blocks of a frame can be whole numbers here and fractions there.
        table = table.astype(np.result_type(table, part), copy=False)
        start = stop
        stop += len(part)
        table[start:stop] = part
    return table


def as_client(client: object) -> Any:
    """The client meant by ``client=``: the one given, or the current one."""
    if hasattr(client, "scatter"):
        return client
    if client is not None:
        problem = "is no Dask client"
        remedy = "give distributed.Client(address)"
        raise InputTypeError("client", problem, remedy, value=client)
    try:
        return optional("distributed", extra="dask").default_client()
    except ValueError:
        remedy = "make one with distributed.Client(...)"
        problem = "needs a current Dask client"
        raise InputError("client", problem, remedy, value=None) from None


def is_dask(X: object) -> bool:
    return hasattr(X, "__dask_graph__")


def as_blocks(X: Any, client: Any) -> Blocks:
    """Blocks of rows of a Dask array or frame, or of a table that is here."""
    delayed = optional("dask", extra="dask").delayed
    columns = _columns(X)
    if not is_dask(X):
        X = _local_table(X)
        there = able_workers(client)
        block = delayed(client.scatter(X, workers=there, broadcast=True, hash=False))
        return Blocks([block], [X.shape[0]], columns)
    if hasattr(X, "to_dask_array") and not hasattr(X, "chunks"):
        blocks = list(X.to_delayed())
        sizes = None
    else:
        if X.ndim != 2:
            raise InputError("X", f"has {X.ndim} dimensions", "give one row per sample")
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        blocks = list(X.to_delayed().ravel())
        sizes = X.chunks[0]
    if sizes is None or np.isnan(sizes).any():
        lengths = [delayed(_length)(block) for block in blocks]
        sizes = gather_results(client, client.compute(lengths, retries=RETRIES))
    return Blocks(blocks, [int(size) for size in sizes], columns)


def _local_table(X: Any) -> Any:
    """A table that is here as rows that can be cut; what is none is refused."""
    try:
        if sp.issparse(X):
            table = X.tocsr()
        else:
            table = np.asarray(X)
    except (ValueError, TypeError) as error:
        raise InputError("X", f"is not a table with one row per sample: {error}") from error
    if table.ndim == 2:
        return table
    raise InputTypeError(
        "X",
        f"is a {type(X).__name__}, which is not a table",
        "give a Dask array or frame, an array or frame with one row per sample, or a list of them",
    )


def as_dask(labels: np.ndarray, sizes: list[int]) -> Any:
    """Labels as a Dask array in given chunks."""
    return optional("dask.array", extra="dask").from_array(labels, chunks=(tuple(sizes),))


@dataclass(frozen=True)
class Form:
    """What the tables of some samples come in: alone, as a list, or as a mapping with names."""

    several: bool
    names: tuple[Any, ...] = ()

    @classmethod
    def split(cls, X: object) -> tuple[Form, list[Any]]:
        """The form of what was given, and its tables; a list of rows is one table."""
        if isinstance(X, Mapping) and is_views(X) and X:
            return cls(True, tuple(X)), list(X.values())
        if isinstance(X, (list, tuple)) and is_views(X):
            return cls(True), list(X)
        return cls(False), [X]

    def join(self, tables: list[Any]) -> Any:
        """Tables in this form."""
        if self.names:
            return dict(zip(self.names, tables, strict=True))
        return tables if self.several else tables[0]

    def call(self, at: int) -> str:
        """What sentences call one of the tables."""
        return f"X[{self.names[at]!r}]" if self.names else f"X[{at}]"


def map_labels(client: Any, model: Any, views: list[Blocks], form: Form) -> Any:
    """Labels of blocks of rows by a fitted model, one task per block."""
    for number, view in enumerate(views):
        if view.sizes != views[0].sizes:
            problem = f"is cut into other blocks of rows than {form.call(0)}"
            raise InputError(form.call(number), problem, "rechunk the views alike")
    da = optional("dask.array", extra="dask")
    delayed = optional("dask", extra="dask").delayed
    there = able_workers(client)
    shipped = delayed(client.scatter(model, workers=there, broadcast=True, hash=False))
    blocks = zip(*(view.delayed for view in views), strict=True)
    names = [view.columns for view in views]
    labels = [delayed(_labels)(shipped, list(block), names, form) for block in blocks]
    futures = client.compute(labels, retries=RETRIES)
    watch(client, futures)
    parts = [
        da.from_delayed(delayed(future), shape=(size,), dtype=np.int32)
        for future, size in zip(futures, views[0].sizes, strict=True)
    ]
    return da.concatenate(parts)


def _table(part: object) -> Any:
    if sp.issparse(part):
        return part
    return np.asarray(part)


def _columns(X: object) -> Any:
    """The names of the columns of a pandas frame, here or of Dask."""
    if hasattr(X, "loc"):
        return getattr(X, "columns", None)
    return None


def _name_columns(table: object, columns: object) -> Any:
    """Rows with the names of their columns, if they have some, without a copy."""
    if columns is None:
        return table
    return optional("pandas", extra="io").DataFrame(table, columns=columns, copy=False)


def _rows_of(block: object, rows: np.ndarray | None) -> Any:
    table = _table(block)
    if rows is None:
        return table
    return table[rows]


def _length(block: Any) -> int:
    return int(block.shape[0])


def _labels(
    model: LearnedGraphClustering, block: list[Any], names: list[Any], form: Form
) -> np.ndarray:
    give_back()  # reading the block has left as much again
    tables = [
        _name_columns(_table(view), columns) for view, columns in zip(block, names, strict=True)
    ]
    model = copy.copy(model).set_params(n_jobs=1)  # the worker's threads are the scheduler's
    found = model.predict(form.join(tables)).astype(np.int32)
    give_back()  # a worker that holds on to four fifths of its memory is given no other block
    return found
