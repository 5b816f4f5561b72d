"""From files on the command line to what an estimator takes: one table, or several views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
import scipy.sparse as sp

from unispectral.tables import Preparation, Table, TableError, read_table
from unispectral.tables._source import as_source

__all__ = ["Input", "gather", "gather_new"]


@dataclass
class Input:
    """Tables read, checked and put together.

    Attributes
    ----------
    tables : dict of str to Table
        One table, or the views by name.
    names : ndarray or None
        Names of the rows.
    truth : ndarray or None
        Known classes.
    notes : list of str
        What was read and what was left out.
    reading : list of dict
        View, source and options of each table, to do it again.
    image_shape : (int, int, str) or None
        Height, width and order ("C": row by row) of the pixels, where rows are pictures.
    """

    tables: dict[str, Table]
    names: np.ndarray | None = None
    truth: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    reading: list[dict[str, Any]] = field(default_factory=list)
    image_shape: tuple[int, int, str] | None = None

    @property
    def several(self) -> bool:
        return len(self.tables) > 1

    @property
    def n_samples(self) -> int:
        return next(iter(self.tables.values())).values.shape[0]

    @property
    def n_features(self) -> int:
        return sum(table.values.shape[1] for table in self.tables.values())

    @property
    def preparation(self) -> list[dict[str, Any]]:
        """Columns, filling and scaling as a saved model keeps them."""
        return [
            {"view": name, **table.preparation.to_dict()} for name, table in self.tables.items()
        ]

    def samples(self) -> Any:
        """What ``fit`` takes: a frame with the names of its columns, or a dict of arrays."""
        if self.several:
            return {name: table.values for name, table in self.tables.items()}
        (table,) = self.tables.values()
        return _framed(table)

    def stacked(self) -> tuple[Any, list[str]]:
        """All columns side by side, and their names; absent rows of a view are NaN."""
        if not self.several:
            (table,) = self.tables.values()
            return table.values, list(table.columns)
        columns = [
            f"{view}: {name}" for view, table in self.tables.items() for name in table.columns
        ]
        parts = [table.values for table in self.tables.values()]
        if any(sp.issparse(part) for part in parts):
            return sp.hstack([sp.csr_array(part) for part in parts], format="csr"), columns
        return np.hstack(parts), columns


def gather(
    sources: Sequence[str],
    views: dict[str, list[str]],
    *,
    id: str | None,
    truth: str | None,
    columns: list[str] | None,
    impute: str | None,
    scale: str,
    **reading: Any,
) -> Input:
    """Read the tables of a fit."""
    if views and len(sources) > 1:
        raise click.UsageError("--view groups the columns of one table; several tables are views.")
    if views and columns:
        raise click.UsageError("--view already names the columns; leave --columns out.")
    if list(sources).count("-") > 1:
        raise click.UsageError("Standard input ('-') can be read once only.")
    common = {"id": id, "impute": impute, "scale": scale, **reading}
    told: list[dict[str, Any]] = []
    if views:
        origin: Any = as_source(sources[0])
        tables = {}
        for name, group in views.items():
            options = {"columns": group, "truth": truth, **common}
            tables[name] = read_table(origin, **options)
            told.append({"view": name, "source": sources[0], "options": _given(options)})
        return _together(tables, told, match=False)
    tables = {}
    for position, source in enumerate(sources):
        # Known classes are asked for in the first table only: the rows are the same.
        options = {"columns": columns, "truth": truth if position == 0 else None, **common}
        name = _view_name(source, tables)
        tables[name] = read_table(source, **options)
        told.append({"view": name, "source": source, "options": _given(options)})
    return _together(tables, told, match=id is not None)


def gather_new(
    sources: Sequence[str],
    preparation: Sequence[dict[str, Any]],
    *,
    id: str | None,
    truth: str | None,
    **reading: Any,
) -> Input:
    """Read new rows and make them ready as the rows of the fit were."""
    ready = {str(part["view"]): Preparation.from_dict(part) for part in preparation}
    if len(sources) not in (1, len(ready)):
        raise TableError(
            f"The model was fitted to {len(ready)} views ({', '.join(ready)}); give one table "
            f"for each, in this order, or one with all columns, not {len(sources)}."
        )
    if len(sources) == 1:
        first = as_source(sources[0])
        each: dict[str, Any] = dict.fromkeys(ready, first)
    else:
        each = {name: as_source(source) for name, source in zip(ready, sources, strict=True)}
    tables = {}
    for position, (name, source) in enumerate(each.items()):
        tables[name] = read_table(
            source,
            preparation=ready[name],
            id=id,
            truth=truth if position == 0 else None,
            **reading,
        )
    return _together(tables, [], match=id is not None and len(sources) > 1)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Options that differ from what `read_table` does by itself."""
    return {name: value for name, value in options.items() if value not in (None, "none", (), [])}


def _together(tables: dict[str, Table], told: list[dict[str, Any]], *, match: bool) -> Input:
    first = next(iter(tables.values()))
    notes = []
    for name, table in tables.items():
        lines = [_options(line) for line in table.describe()]
        lead = f"View {name!r}" if len(tables) > 1 else _lead(table.name)
        notes.append(f"{lead}: {lines[0]}")
        notes += [f"  {line}" for line in lines[1:]]
    if len(tables) == 1:
        return Input(tables, first.index, first.truth, notes, told)
    if match:
        return _matched(tables, first, notes, told)
    sizes = {name: table.values.shape[0] for name, table in tables.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise TableError(
            f"The tables have different numbers of rows ({listed}); name the column that "
            "identifies a row with --id, and rows are matched by it."
        )
    return Input(tables, first.index, first.truth, notes, told)


def _matched(
    tables: dict[str, Table], first: Table, notes: list[str], told: list[dict[str, Any]]
) -> Input:
    """Join the views by the names of their rows; a row that a view lacks is NaN there."""
    order: dict[str, int] = {}
    for view, table in tables.items():
        names = [str(name) for name in (table.index if table.index is not None else [])]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise TableError(
                f"The name {twice!r} stands twice in the view {view!r}; names that match rows "
                "across tables must be unique."
            )
        for name in names:
            order.setdefault(name, len(order))
    joined = {}
    for view, table in tables.items():
        rows = np.array([order[str(name)] for name in table.index])  # type: ignore[union-attr]
        absent = len(order) - len(rows)
        values = table.values
        if absent and sp.issparse(values):
            raise TableError(
                f"The sparse view {view!r} lacks {absent} of {len(order)} rows; give it all rows."
            )
        if sp.issparse(values):
            placed = values[np.argsort(rows)]
        else:
            placed = np.full((len(order), values.shape[1]), np.nan, dtype=values.dtype)
            placed[rows] = values
        if absent:
            notes.append(f"  View {view!r} lacks {absent} of {len(order)} rows.")
        joined[view] = _replaced(table, placed)
    truth = first.truth
    if truth is not None and len(truth) < len(order):
        raise TableError(
            "--truth: the first table lacks rows that others have, so that their class is "
            "unknown; put the table with all rows first."
        )
    return Input(joined, np.array(list(order)), truth, notes, told)


def _replaced(table: Table, values: Any) -> Table:
    from dataclasses import replace

    return replace(table, values=values)


def _framed(table: Table) -> Any:
    """A frame where that costs no copy, so that the names of the columns are checked later."""
    if sp.issparse(table.values) or len(set(table.columns)) < len(table.columns):
        return table.values
    import pandas as pd

    return pd.DataFrame(table.values, columns=table.columns, copy=False)


def _view_name(source: str, taken: dict[str, Table]) -> str:
    stem = "stdin" if source == "-" else Path(source).stem
    name, position = stem, 2
    while name in taken:
        name, position = f"{stem}-{position}", position + 1
    return name


def _lead(name: str) -> str:
    return name[0].upper() + name[1:] if name else "The table"


def _options(line: str) -> str:
    return line.replace("say so with id.", "say so with --id.")
