"""From files on the command line to what an estimator takes: one table, or several views."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import scipy.sparse as sp

from unispectral._errors import plural
from unispectral.cli._options import join_names, parse_levels, split_names
from unispectral.tables import Table, TableError, read_table
from unispectral.tables._encode import Choices, encode, list_used
from unispectral.tables._formats import load
from unispectral.tables._preparation import Preparation
from unispectral.tables._read import read_blocks
from unispectral.tables._source import Source, as_source
from unispectral.tables._take import AS_NEEDED, Look, look_at_columns
from unispectral.tables._texts import read_texts

_READING = ("id", "format", "key", "separator", "header", "header_row", "skip_footer", "encoding")
_TEXT = ("separator", "header", "header_row", "skip_footer", "encoding")
_CHOOSING = ("use", "leave_out", "supplementary")
_CHANGE_IT = "Change it with --use and --leave-out; unispectral profile shows each column."
#: Options that say what becomes of columns.
_NOT_FOR_GRAPHS = (
    "id",
    "truth",
    "columns",
    "views",
    "order",
    "geo",
    "impute",
    "scale",
    "na",
    "header_row",
    "skip_footer",
    "append",
    "image_shape",
    "texts",
    "model",
)
_SPELLED = {"views": "view"}
_OTHER_NAMES = "give --id the column to match them by"


@dataclass
class Input:
    """Tables read, checked and put together: one, or several views by name."""

    tables: dict[str, Table]
    #: Names of the rows.
    names: np.ndarray | None = None
    #: Known classes.
    truth: np.ndarray | None = None
    #: What was read and what was left out.
    notes: list[str] = field(default_factory=list)
    #: View, source and options of each table, to do it again.
    reading: list[dict[str, Any]] = field(default_factory=list)
    #: Height, width and order ("C": row by row) of the pixels, where rows are pictures.
    image_shape: tuple[int, int, str] | None = None
    #: Number of the first row, and of all rows where it is known: this may be a block of a file.
    first: int = 0
    total: int | None = None
    #: Whether rows were put in another order, or left empty, to match them by name.
    matched: bool = False
    #: The table's own columns, where they are written again.
    original: Any = None
    #: Whether the rows are nodes, and the columns their affinities to the others.
    is_graph: bool = False
    #: A text for each row, from a file beside the table.
    texts: np.ndarray | None = None

    @property
    def several(self) -> bool:
        return len(self.tables) > 1

    @property
    def n_samples(self) -> int:
        return next(iter(self.tables.values())).values.shape[0]

    @property
    def n_read(self) -> int:
        """Rows of the file that this comes from, those that were left out among them."""
        table = next(iter(self.tables.values()))
        if table.n_read is None:
            return self.n_samples
        return table.n_read

    @property
    def n_features(self) -> int:
        return sum(table.values.shape[1] for table in self.tables.values())

    @property
    def rows(self) -> np.ndarray | None:
        """Positions in the file, where rows were left out."""
        if self.several:
            return None
        return next(iter(self.tables.values())).rows

    @property
    def supplementary(self) -> Any:
        """Columns that are shown beside the clusters, as a frame; None if there are none."""
        if self.several:
            found = None
        else:
            found = next(iter(self.tables.values())).supplementary
        if found is None or not found.shape[1]:
            return None
        return found

    @property
    def preparation(self) -> list[dict[str, Any]]:
        """Columns, filling and scaling as a saved model keeps them."""
        tables = self.tables.items()
        return [{"view": name, **table.preparation.to_dict()} for name, table in tables]

    def headings(self, n_rows: int | None = None) -> list[str]:
        """Where the rows come from, and how many there are; this may be a block of them."""
        return [
            f"{f'View {view!r}' if self.several else table.name}: "
            f"{plural(n_rows or table.values.shape[0], 'row')}, "
            f"{plural(table.values.shape[1], 'column')}."
            for view, table in self.tables.items()
        ]

    def samples(self) -> Any:
        """What ``fit`` takes: a frame with the names of its columns, or a dict of arrays."""
        if self.several:
            return {name: table.values for name, table in self.tables.items()}
        (table,) = self.tables.values()
        if sp.issparse(table.values) or len(set(table.columns)) < len(table.columns):
            return table.values
        import pandas as pd

        return pd.DataFrame(table.values, columns=table.columns, copy=False)

    def stack(self) -> tuple[Any, list[str]]:
        """All columns side by side, and their names; absent rows of a view are NaN."""
        if not self.several:
            (table,) = self.tables.values()
            return table.values, list(table.columns)
        columns = [f"{view}: {name}" for view, t in self.tables.items() for name in t.columns]
        parts = [table.values for table in self.tables.values()]
        if any(sp.issparse(part) for part in parts):
            return sp.hstack([sp.csr_array(part) for part in parts], format="csr"), columns
        return np.hstack(parts), columns


def gather(
    sources: Sequence[str], options: dict[str, Any], views: dict[str, list[str]] | None = None
) -> Input:
    """Read the tables of a fit, as the options of the command say."""
    columns = split_names(options["columns"]) or None
    if views and len(sources) > 1:
        raise click.UsageError("--view groups the columns of one table; several tables are views.")
    if views and columns:
        raise click.UsageError("--view already names the columns; leave --columns out.")
    if list(sources).count("-") > 1:
        raise click.UsageError("Standard input ('-') can be read once only.")
    parts: list[Any]
    if views:
        origin = as_source(sources[0])
        parts = [(view, sources[0], origin, group) for view, group in views.items()]
    else:
        stems = ["stdin" if source == "-" else Path(source).stem for source in sources]
        if len(set(stems)) < len(stems):
            stems = [f"{stem}-{position}" for position, stem in enumerate(stems, 1)]
        origins = [as_source(source) for source in sources]
        parts = list(zip(stems, sources, origins, [columns] * len(sources), strict=True))
    common = _reading_options(options) | _preparing_options(options, len(parts) > 1)
    tables: dict[str, Table] = {}
    reading = []
    for view, shown, source, chosen in parts:
        # Known classes are asked for in the first table only: the rows are the same.
        given = {"columns": chosen, "truth": None if tables else options["truth"], **common}
        with columns_of(view) if views else contextlib.nullcontext():
            tables[view] = read_table(source, **given)
        given = {name: value for name, value in given.items() if value or value is False}
        reading.append({"view": view, "source": shown, "options": given})
    joined = _together(tables, match=not views)
    if any(
        table.dropped or (table.profile and table.profile.doubtful) for table in tables.values()
    ):
        joined.notes.append(_CHANGE_IT)
    if options.get("append"):
        if len(sources) > 1:
            raise click.UsageError("--append is for one table; rows of several have no one line.")
        joined.original = _original(parts[0][2], options)
    joined.reading = [part | {"matched": joined.matched} for part in reading]
    return joined


def put_texts_beside(data: Input, file: str) -> None:
    """Give each row the text that a file has for it, in the order of the rows."""
    if data.matched:
        problem = "must be in the order of the rows, which were matched by their names"
        raise TableError("texts", problem, "put the tables into one order", value=file)
    texts, where = read_texts(file)
    if len(texts) != data.n_read:
        problem = f"has {plural(len(texts), 'text')}, but there are {plural(data.n_read, 'row')}"
        raise TableError("texts", problem, "give one text for each row", value=file)
    if data.rows is not None:
        texts = texts[data.rows]
    data.texts = texts
    data.notes.append(f"The texts are the {where}.")


def gather_graph(sources: Sequence[str], options: dict[str, Any]) -> Input:
    """Read a graph, whose nodes are the rows."""
    from unispectral.graph.read import read_graph_file

    if len(sources) > 1:
        raise click.UsageError("--kernel graph reads one graph; several are for Python.")
    for name in (*_NOT_FOR_GRAPHS, *_CHOOSING):
        if options[name]:
            option = f"--{_SPELLED.get(name, name).replace('_', '-')}"
            problem = "is for tables, and --kernel graph reads a graph"
            raise click.UsageError(f"{option} {problem}; leave it out.")
    given = {name: options[name] for name in ("format", "key", "separator", "header", "encoding")}
    found = read_graph_file(sources[0], **given)
    n = found.weights.shape[0]
    names = np.arange(n) if found.names is None else found.names
    table = Table(found.weights, [str(name) for name in names], names, notes=found.notes)
    reading = {"view": "graph", "source": sources[0], "options": {}}
    return Input({"graph": table}, names, notes=found.notes, reading=[reading], is_graph=True)


def look(source: str, options: dict[str, Any]) -> tuple[Look, list[str]]:
    """Look at the columns of a table, as the options say, without making numbers of it."""
    given = _reading_options(options) | _preparing_options(options, False)
    truth = options["truth"]
    reading = {name: given.pop(name) for name in ("format", "key", "missing", *_TEXT)}
    format = reading.pop("format")
    key = reading.pop("key")
    beside = (given["id"], truth)
    loaded = next(load(as_source(source), format, key, beside, reading))
    if loaded.frame is None:
        raise loaded.source.error("holds a matrix of numbers; there are no columns to look at")
    given.pop("encode")
    for name in (*_CHOOSING, "geo"):
        given[name] = tuple(given[name])
    given["impute"] = given["impute"] or "median"
    given["scale"] = given["scale"] or AS_NEEDED
    columns = split_names(options["columns"]) or None
    found = look_at_columns(loaded, truth, columns, Choices(**given))
    notes = [*loaded.notes, *found.notes]
    if list_used(found.plans):
        notes += encode(found.part, found.plans, loaded.decimal)[1]
    return found, notes


def decided_flags(data: Input, options: dict[str, Any]) -> list[str]:
    """What was decided about columns, as options of the command that were not given."""
    if data.several:
        return []
    (table,) = data.tables.values()
    given = {"id": options["id"] and [options["id"]]}
    given |= {name: split_names(options[name]) for name in _CHOOSING}
    flags = []
    for role, name in (("id", "id"), ("supplementary",) * 2, ("leave out", "leave_out")):
        plans = table.preparation.encoding or ()
        names = [plan["name"] for plan in plans if plan.get("role") == role]
        new = [name_ for name_ in names if name_ not in (given[name] or ())]
        if new:
            flags += [f"--{name.replace('_', '-')}", join_names(new)]
    return flags


def _original(source: Source, options: dict[str, Any]) -> Any:
    """The rows of a table as they are written."""
    from unispectral.tables._append import original_blocks

    given = _reading_options(options)
    given.pop("id")
    return next(original_blocks(source, entries=None, **given))


def _reading_options(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in _READING} | {"missing": options["na"]}


def _preparing_options(options: dict[str, Any], several: bool) -> dict[str, Any]:
    """What the user decides about columns and gaps, as `read_table` takes it."""
    given: dict[str, Any] = {name: split_names(options[name]) for name in _CHOOSING}
    if options["geo"]:
        given["geo"] = split_names([options["geo"]])
    else:
        given["geo"] = []
    for name, value in given.items():
        if value and several:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} is for one table; choose columns with --view.")
    given["order"] = parse_levels(options["order"])
    gaps = options["missing"]
    if gaps != "fill" and options["impute"]:
        raise click.UsageError(f"--impute says how to fill, and --missing {gaps} not to.")
    if gaps == "fill":
        given["impute"] = options["impute"]
    else:
        given["impute"] = gaps
    return given | {"scale": options["scale"], "encode": True}


def gather_new(
    sources: Sequence[Source],
    preparation: Sequence[dict[str, Any]],
    options: dict[str, Any],
    entries: int | None,
) -> Iterator[Input]:
    """Read new rows and make them ready as the rows of the fit were.

    One table is read in blocks of about so many values, several are read as a whole.
    """
    ready = {str(part["view"]): Preparation.from_dict(part) for part in preparation}
    common: dict[str, Any] = _reading_options(options)
    if len(sources) == 1:
        first = 0
        common = common | {"truth": options["truth"], "entries": entries}
        originals = _original_blocks(sources[0], options, entries)
        for found, total in read_blocks(sources[0], list(ready.values()), **common):
            block = _together(dict(zip(ready, found, strict=True)), match=False)
            block.first = first
            block.total = total
            block.original = next(originals)
            first += block.n_read
            yield block
        return
    if options["append"]:
        raise click.UsageError("--append is for one table; rows of several have no one line.")
    if len(sources) != len(ready):
        each = f", or once for each of the {len(ready)} views of the model ({', '.join(ready)}) in"
        if len(ready) > 1:
            each = f"{each} this order"
        else:
            each = ""
        raise TableError("TABLE", f"must be given once{each}, not {len(sources)} times")
    tables: dict[str, Table] = {}
    for (view, prepared), source in zip(ready.items(), sources, strict=True):
        if tables:
            truth = None
        else:
            truth = options["truth"]
        tables[view] = read_table(source, preparation=prepared, truth=truth, **common)
    yield _together(tables, match=True)


def _original_blocks(
    source: Source, options: dict[str, Any], entries: int | None
) -> Iterator[Any]:
    """The rows of each block as they are written, or nothing."""
    if not options["append"]:
        yield from itertools.repeat(None)
    from unispectral.tables._append import original_blocks

    given = _reading_options(options)
    given.pop("id")
    yield from original_blocks(source, entries=entries, **given)


@contextlib.contextmanager
def columns_of(view: str | None) -> Iterator[None]:
    """Say of a column that cannot be used that a view, or else a saved model, asked for it."""
    try:
        yield
    except TableError as error:
        if error.argument != "columns":
            raise
        told: Any = {"value": f"{view}={error.value}", "switch": error.switch}
        reworded = TableError("views", error.problem, error.remedy, **told)
        if view is None:
            remedy = "the model needs numbers there"
            reworded = TableError(f"The column {error.value!r}", error.problem, remedy)
        raise reworded from error


def _together(tables: dict[str, Table], *, match: bool) -> Input:
    """Tables of the same rows: by the names of the rows if all tables have them, or in order."""
    first = next(iter(tables.values()))
    joined = Input(tables, first.index, first.truth)
    for head, table in zip(joined.headings(), tables.values(), strict=True):
        joined.notes += [head, *(f"  {line}" for line in table.describe()[1:])]
    unnamed = [view for view, table in tables.items() if table.index is None]
    if match and joined.several and not unnamed:
        return _match_rows(joined)
    sizes = {view: table.values.shape[0] for view, table in tables.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{view}: {size}" for view, size in sizes.items())
        problem = f"must be given: the tables have different numbers of rows ({listed})"
        remedy = "name the column that identifies a row, and rows are matched by it"
        raise TableError("id", problem, remedy)
    if match and joined.several and len(unnamed) < len(tables):
        listed = ", ".join(map(repr, unnamed))
        joined.notes.append(f"Rows are matched by position: they have no names in {listed}.")
    return joined


def _match_rows(data: Input) -> Input:
    """Join the views by the names of their rows; a row that a view lacks is NaN there."""
    import pandas as pd

    data.notes.append("Rows are matched by their names.")
    indexes = {view: pd.Index(map(str, table.index)) for view, table in data.tables.items()}  # type: ignore[arg-type]
    first, *others = indexes.values()
    if all(first.equals(index) for index in others):
        return data
    for view, index in indexes.items():
        if not index.is_unique:
            twice = f"{index[index.duplicated()][0]!r} occurs twice in the view {view!r}"
            problem = f"must be unique to match rows across tables, but {twice}"
            raise TableError("The rows' names", problem, _OTHER_NAMES)
        if not any(index.isin(other).any() for other in indexes.values() if other is not index):
            problem = (
                f"must be the same in all tables, but no other has those of the view {view!r}"
            )
            raise TableError("The rows' names", problem, _OTHER_NAMES)
    everyone = dict.fromkeys(name for index in indexes.values() for name in index)
    names = np.array(list(everyone), dtype=object)
    joined = {}
    for view, table in data.tables.items():
        rows = indexes[view].get_indexer(names)
        values = table.values[rows]
        absent = rows < 0
        if absent.any():
            lacks = f"lacks {absent.sum()} of {len(names)} rows"
            if sp.issparse(values):
                problem = f"does not match all rows: the sparse view {view!r} {lacks}"
                raise TableError("id", problem, "give it all rows")
            values[absent] = np.nan
            data.notes.append(f"  View {view!r} {lacks}.")
        joined[view] = replace(table, values=values)
    if data.truth is not None and len(data.truth) < len(names):
        problem = "is unknown for rows that the first table lacks"
        raise TableError("truth", problem, "put the table with all rows first")
    return replace(data, tables=joined, names=names, matched=True)
