"""From a file of any format to what it holds."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any

from unispectral._compat import optional
from unispectral._errors import InputError
from unispectral.tables._arrays import Array, checked_sparse, read_npy, read_npz
from unispectral.tables._cells import find_header
from unispectral.tables._columns import parse_number
from unispectral.tables._excel import sheet_cells
from unispectral.tables._hdf import check_own, matrix_names, member, open_hdf, read_numbers
from unispectral.tables._loaded import Loaded
from unispectral.tables._mat import read_mat
from unispectral.tables._parquet import parquet_blocks
from unispectral.tables._sheets import find_names, without_remarks
from unispectral.tables._source import (
    SAMPLE,
    Source,
    TableError,
    block_rows,
    listing,
    unique_names,
)
from unispectral.tables._text import (
    count_title_lines,
    cut_lines,
    cut_too_much,
    looks_like_text,
    text_blocks,
)

if TYPE_CHECKING:
    import h5py
    import pandas as pd

#: Arrays of more bytes stay in their file until they are used.
_MAPPED = 2**26
FORMATS = ("csv", "tsv", "parquet", "excel", "npy", "npz", "mat", "h5ad", "hdf5")
# Endings that are not the format's own name.
_ENDINGS = {"txt": "csv", "dat": "csv", "tab": "tsv", "pq": "parquet", "h5": "hdf5"}
_ENDINGS |= {"xlsx": "excel", "xlsm": "excel"}
# Endings of tables, or of what may hold some, that nothing here reads.
_UNREAD = ("json", "jsonl", "mtx", "html", "htm", "xml", "ods", "feather", "pkl", "rds", "dta")
_FAMILY = {"tsv": "csv", "h5ad": "hdf5"}  # formats that look the same from outside
_MAGIC = {b"\x93NUMPY": "npy", b"PAR1": "parquet", b"MATLAB ": "mat", b"\x89HDF": "hdf5"}
#: Bytes of a column's name, and of those that a small file may ask for.
_NAME_BYTES, _MANY_NAMES = 64, 2**29
_USUAL = ("X", "data", "fea", "features", "values", "matrix")
_ANNDATA, _BESIDE_X = ("X", "obs", "var"), ("obsm", "layers")
#: From this many variables on, principal components are read if they are there, as in scanpy.
MANY_VARIABLES = 50
_COMPONENTS = "obsm/X_pca"
#: Formats that an option is for.
_USE = {
    "key": ("excel", "npz", "mat", "h5ad", "hdf5"),
    "separator": ("csv", "tsv"),
    "encoding": ("csv", "tsv"),
}
_USE |= {"header": ("csv", "tsv", "excel"), "missing": ("csv", "tsv", "excel", "parquet")}
_USE |= dict.fromkeys(("header_row", "skip_footer"), ("csv", "tsv", "excel"))
_USE["as_written"] = FORMATS


def _find_format(source: Source, format: str | None) -> str:
    """Decide on the format: what the user says, then the name, held against the first bytes."""
    listed = ", ".join(FORMATS)
    if format is not None:
        if format not in FORMATS:
            raise InputError("format", f"must be one of {listed}", value=format)
        return format
    if not source.size:
        raise source.error("is empty")
    if source.suffix == ".xls":
        raise source.error("is an old Excel file", "save it as .xlsx")
    ending = source.suffix.removeprefix(".")
    if ending in _UNREAD:
        problem = f"is of a kind that is not read ({ending})"
        raise source.error(problem, f"save it as one of {listed}")
    seen, by_name = _by_content(source), ending if ending in FORMATS else _ENDINGS.get(ending)
    found = by_name or seen
    if found is None:
        raise TableError("format", f"of {source.lower} is not known", f"name one of {listed}")
    if seen is not None and _FAMILY.get(found, found) != seen:
        problem = f"must be given: {source.lower} looks like {seen}, not {found}"
        raise TableError("format", problem, f"rename the file or say {seen!r}")
    return found


def _by_content(source: Source) -> str | None:
    head = source.head(4096)
    for magic, format in _MAGIC.items():
        if head.startswith(magic):
            return format
    if head.startswith(b"PK\x03\x04"):
        try:
            with source.open() as file, zipfile.ZipFile(file) as archive:
                return "excel" if "xl/workbook.xml" in archive.namelist() else "npz"
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return None
    return "csv" if looks_like_text(head) else None


def is_text(source: Source, format: str | None) -> bool:
    """Whether a file is a text table."""
    return _find_format(source, format) in ("csv", "tsv")


def load(
    source: Source,
    format: str | None,
    key: str | None,
    beside: Sequence[str | None],
    text: dict[str, Any],
    entries: int | None = None,
) -> Iterator[Loaded]:
    """Read the file; `key` chooses a sheet or a variable, `beside` names vectors next to it.

    With `entries`, the rows of a text table, a Parquet or .npy file come in blocks with about so
    many values. Else, and from other formats, there is one block.
    """
    if beside[0] is not None and beside[0] == beside[1]:
        raise TableError("truth", "is already the id", "name another column", value=beside[1])
    format = _find_format(source, format)
    for name, value in {"key": key, **text}.items():
        if format not in _USE[name] and value not in (None, (), []):
            problem = f"is not for {format}, which {source.lower} is"
            raise TableError(name, problem, "leave it out")
    missing = text.get("missing", ())
    if format in ("csv", "tsv"):
        lines = [text.pop(name, None) for name in ("header_row", "skip_footer")]
        text = {**text, "separator": text.get("separator") or ("\t" if format == "tsv" else None)}
        told = []
        if lines[0] is None and text.get("header") is not False:
            above = count_title_lines(source, text["separator"])
            if above:
                lines[0] = above + 1
                told = [f"The names are in line {above + 1}; what is above is a title."]
        source = cut_lines(source, *lines)
        if lines[0] is not None:
            text["header"] = True
        for frame, notes, decimal in text_blocks(source, beside, entries=entries, **text):
            notes[:0], told = told, []
            yield Loaded(source, frame, notes=notes, decimal=decimal)
    elif format == "parquet":
        for frame, notes, total in parquet_blocks(source, entries):
            frame = _without(frame, missing, beside)
            yield Loaded(source, frame, notes=notes, total=total)
    elif format == "excel":
        yield _excel(source, key, text, missing, beside)
    elif format == "npy":
        array = read_npy(source, mapped=entries is not None or source.size > _MAPPED)
        whole = _choose({"array": array}, "array", beside, source)
        matrix: Any = whole.matrix
        rows = whole.n_rows if entries is None else block_rows(entries, matrix.shape[1])
        for start in range(0, whole.n_rows, rows):
            yield replace(whole, matrix=matrix[start : start + rows], total=whole.n_rows)
    elif format in ("npz", "mat"):
        found = read_npz(source) if format == "npz" else read_mat(source)
        yield _choose(found, key, beside, source)
    else:
        yield _hdf5(source, format, key, beside)


def _hdf5(source: Source, format: str, key: str | None, beside: Sequence[str | None]) -> Loaded:
    parts = (*_ANNDATA, *(_BESIDE_X[:1] if key is None else _BESIDE_X))
    with open_hdf(source, parts if format == "h5ad" else ()) as file:
        if format == "h5ad" or (key is None and {*_ANNDATA} <= {*file}):
            return _anndata(file, source, key)
        named = [name for name in (key, *beside) if name and file.get(name, getlink=True)]
        names = [*(matrix_names(file) if key is None else []), *named]
        found = {n: read_numbers(file, n, source.part(f"data set {n!r}")) for n in names}
    return _choose(found, key, beside, source)


def _excel(
    source: Source,
    sheet: str | None,
    text: dict[str, Any],
    missing: Sequence[str],
    beside: Sequence[str | None],
) -> Loaded:
    pandas = optional("pandas", extra="io")
    cells, notes = sheet_cells(source, sheet)
    header, told = text.get("header"), text.get("header_row")
    lines = len(cells)
    cells = cells.iloc[(told or 1) - 1 : lines - (text.get("skip_footer") or 0)]
    if lines and not len(cells):
        raise cut_too_much(source, lines, told)
    cells = cells.dropna(how="all").dropna(how="all", axis=1)
    if not len(cells):
        raise source.error("is empty")
    found = find_names(cells) if header is None and told is None else None
    if found is not None:
        above, given = found
        cells = cells.iloc[above - 1 :].copy()
        cells.iloc[0] = given
        header = True
        notes.append(f"The names of the columns are in line {int(cells.index[0]) + 1}.")
        cells, lost = without_remarks(cells)
        if lost:
            notes.append(f"Lines of text below the rows are left out: {lost}.")
    if told is not None:
        header = True
    if header is None:
        sample = cells.iloc[:SAMPLE].map(lambda cell: "" if pandas.isna(cell) else str(cell))
        header, told = find_header(sample.to_numpy().tolist(), missing)
        notes += told
    if header and len(cells) < 2:
        raise source.error("has a header but no rows")
    head = [None if not header or pandas.isna(name) else name for name in cells.iloc[0]]
    names, changed = unique_names(head)
    frame = cells.iloc[int(header) :].set_axis(names, axis=1).reset_index(drop=True)
    frame = _without(frame, missing, beside).infer_objects()
    if header and head[0] is None and len(names) > 1:
        frame = frame.set_index(names[0])
        notes.append("The first column has no name; it is taken as the rows' names.")
    return Loaded(source, frame, notes=[*notes, *changed])


def _without(frame: pd.DataFrame, missing: Sequence[str], beside: Sequence[str | None]) -> Any:
    """The frame without the words, or numbers, that stand for a missing value."""
    numbers = [number for word in missing if not isnan(number := parse_number(word, ".")[0])]
    types = optional("pandas", extra="io").api.types
    for name in frame.columns if missing else ():
        column = frame[name]
        words: list[Any] = numbers if types.is_numeric_dtype(column) else [*missing]
        words = [*words, *numbers] if types.is_object_dtype(column) else words
        if name != beside[0] and column.isin(words).any():
            frame[name] = column.mask(column.isin(words))
    return frame


def _anndata(file: h5py.File, source: Source, key: str | None) -> Loaded:
    read_elem = optional("anndata.io", extra="anndata").read_elem
    place = "X" if key in (None, "X") else _place(file, source, key)
    if key is None and _has_components(file, source):
        place = _COMPONENTS
    values = source.part(repr(place))
    for part in (place, "obs", "var"):
        check_own(member(file, part, source), source.part(repr(part)))
    with source.reading("is not an AnnData file, or is damaged"):
        matrix, rows, columns = (read_elem(file[part]) for part in (place, "obs", "var"))
        if not hasattr(matrix, "dtype") or matrix.dtype.kind not in "biuf" or matrix.ndim != 2:
            raise values.error("is neither a full nor a sparse matrix of numbers")
        names, notes = unique_names(columns.index)
        if place.startswith("obsm/"):
            told = f"The principal components X_pca are read, not the {len(names)} variables."
            notes = [told] if key is None else []
            names = _count_columns(matrix.shape[1], "PC" if place == _COMPONENTS else "column_")
        shape = (len(rows), len(names))
        if matrix.shape != shape:
            problem = f"has names for {shape[0]} × {shape[1]} values, but {place} has the shape"
            raise source.error(f"{problem} {matrix.shape}")
        if hasattr(matrix, "indptr"):
            parts = (matrix.data, matrix.indices, matrix.indptr)
            matrix = checked_sparse(parts, shape, matrix.format, values)
        beside = {str(name): rows[name] for name in rows.columns}
    return Loaded(source, None, matrix, names, rows.index.to_numpy(), beside, notes)


def _has_components(file: h5py.File, source: Source) -> bool:
    """Whether scanpy, and so our function for its objects, would take principal components."""
    if file.get("obsm", getlink=True) is None or "X_pca" not in member(file, "obsm", source):
        return False
    X = member(file, "X", source)
    shape = X.attrs.get("shape", ()) if hasattr(X, "keys") else X.shape
    return len(shape) == 2 and int(shape[1]) > MANY_VARIABLES


def _place(file: h5py.File, source: Source, key: object) -> str:
    """Where an AnnData file keeps the matrix of that name."""
    groups = [name for name in _BESIDE_X if file.get(name, getlink=True) is not None]
    known = [f"{group}/{name}" for group in groups for name in member(file, group, source)]
    for place in known:
        if key in (place, place.partition("/")[2]):
            return place
    listed = listing([repr(place) for place in ["X", *known]])
    problem = f"is not a matrix of {source.lower}, which has {listed}"
    raise TableError("key", problem, value=key)


def _choose(
    variables: dict[str, Array], key: str | None, beside: Sequence[str | None], source: Source
) -> Loaded:
    """Take one of several variables as the table."""
    free = {name: v for name, v in variables.items() if name not in beside}
    tables = [name for name, v in free.items() if v.ndim == 2 and min(v.shape) > 1] or list(free)
    usual = [name for name in _USUAL if name in tables]
    shapes = listing([f"{name!r} {v.shape}" for name, v in variables.items()])
    if key is not None and key not in variables:
        problem = f"is not a variable of {source.lower}, which has {shapes}"
        raise TableError("key", problem, value=key)
    if not variables:
        raise source.error("holds no table of numbers")
    if key is None and len(tables) != 1 and not usual:
        problem = f"must be given: {source.lower} has several variables ({shapes})"
        raise TableError("key", problem, "name one")
    chosen = key or (usual or tables)[0]
    matrix, notes = variables.pop(chosen), []
    if matrix.ndim == 1:
        matrix = matrix.reshape(-1, 1)
        notes.append("A single list of numbers is taken as one column.")
    if variables:
        others = [repr(name) for name in variables if name not in beside]
        unused = listing(others) if others else ""
        notes.append(f"The matrix {chosen!r} is read" + (f"; not {unused}." if unused else "."))
    if matrix.ndim != 2:
        problem = f"has {matrix.ndim} dimensions; a table has two"
        raise source.error(problem, "reshape it to one row per sample")
    if matrix.dtype.kind not in "biuf":
        raise source.error(f"holds values of type {matrix.dtype}, not numbers")
    if not matrix.shape[0]:
        raise source.error("has no rows")
    # Every column gets a name, however few of its values are stored.
    source.check_inflation(_NAME_BYTES * matrix.shape[1], source.size, _MANY_NAMES)
    source.check_memory(2 * _NAME_BYTES * matrix.shape[1])
    columns = _count_columns(matrix.shape[1])
    return Loaded(source, None, matrix, columns, beside=variables, notes=notes)


def _count_columns(width: int, prefix: str = "column_") -> list[str]:
    """Names for columns that have none."""
    return [f"{prefix}{i}" for i in range(1, width + 1)]
