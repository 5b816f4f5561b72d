"""One reader per format; each gives a frame, or a matrix with named vectors beside it."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._compat import optional
from unispectral.tables._arrays import Array, checked_sparse, read_npy, read_npz
from unispectral.tables._frames import unique_names
from unispectral.tables._hdf import (
    check_own,
    dataset_checked,
    has_member,
    numeric_datasets,
    open_hdf,
    own_member,
)
from unispectral.tables._limits import TableError, check_inflation, check_memory
from unispectral.tables._mat import read_mat
from unispectral.tables._source import Source
from unispectral.tables._text import looks_like_text, read_text

__all__ = ["FORMATS", "Loaded", "find_format", "load"]

_SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".dat": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".npy": "npy",
    ".npz": "npz",
    ".mat": "mat",
    ".h5ad": "h5ad",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
}
FORMATS = ("csv", "tsv", "parquet", "excel", "npy", "npz", "mat", "h5ad", "hdf5")
_USUAL = ("X", "data", "fea", "features", "values", "matrix")
_EXCEL_ERRORS = {"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"}


@dataclass
class Loaded:
    """What a file holds, before anything is chosen from it."""

    frame: Any = None
    matrix: Array | None = None
    columns: list[str] = field(default_factory=list)
    index: Any = None
    beside: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def find_format(source: Source, named: str | None) -> str:
    """Decide on the format: what the user says, then the name, held against the first bytes.

    Examples
    --------
    >>> find_format(Source("standard input", None, b"a,b"), None)
    'csv'
    """
    if named is not None:
        if named not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, but is {named!r}.")
        return named
    if not source.size:
        raise TableError(f"{source.name} is empty.")
    seen = _by_content(source)
    if source.suffix == ".xls":
        raise TableError(f"{source.name} is an old Excel file; save it as .xlsx.")
    by_name = _SUFFIXES.get(source.suffix)
    if by_name is None:
        if seen is None:
            raise TableError(
                f"The format of {_lower(source.name)} is not known; name one of "
                f"{', '.join(FORMATS)}."
            )
        return seen
    family = {"tsv": "csv", "h5ad": "hdf5"}
    if seen is not None and family.get(by_name, by_name) != family.get(seen, seen):
        raise TableError(
            f"{source.name} looks like {seen}, not {by_name}; rename it or say format={seen!r}."
        )
    return by_name


def _lower(name: str) -> str:
    return name[0].lower() + name[1:]


def _by_content(source: Source) -> str | None:
    head = source.head(4096)
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"MATLAB "):
        return "mat"
    if head.startswith(b"\x89HDF"):
        if source.suffix in (".h5ad", ".h5", ".hdf5"):
            return "hdf5"  # and the name says which kind
        with open_hdf(source, values=False) as file:
            return "h5ad" if {"obs", "var", "X"} <= set(file) else "hdf5"
    if head.startswith(b"PK\x03\x04"):
        try:
            with source.open() as file, zipfile.ZipFile(file) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return None
        return "excel" if "xl/workbook.xml" in names else "npz"
    return "csv" if looks_like_text(head) else None


def load(
    source: Source,
    chosen: str,
    *,
    key: str | None,
    beside: Sequence[str],
    text: dict[str, Any],
) -> Loaded:
    """Read the file; `key` chooses a sheet or a variable, `beside` names vectors next to it."""
    if chosen in ("csv", "tsv"):
        text = {**text, "separator": text["separator"] or ("\t" if chosen == "tsv" else None)}
        frame, notes = read_text(source, **text)
        return Loaded(frame=frame, notes=notes)
    if chosen == "parquet":
        return _parquet(source)
    if chosen == "excel":
        return _excel(source, key)
    if chosen == "h5ad":
        return _h5ad(source)
    if chosen == "npy":
        return _from_variables({"array": read_npy(source)}, "array", beside, source.name)
    if chosen == "npz":
        return _from_variables(read_npz(source), key, beside, source.name)
    if chosen == "mat":
        variables = read_mat(source)
        return _from_variables(variables, key, beside, source.name)
    return _from_variables(_hdf5(source, key, beside), key, beside, source.name)


def _parquet(source: Source) -> Loaded:
    parquet = optional("pyarrow.parquet", extra="io")
    optional("pandas", extra="io")
    try:
        with source.open() as handle, parquet.ParquetFile(handle) as file:
            width = len(file.schema_arrow.names)
            check_memory(8 * file.metadata.num_rows * width, source.name)
            table = file.read()
        names, notes = unique_names(table.column_names)
        frame = table.rename_columns(names).to_pandas() if notes else table.to_pandas()
    except (TableError, MemoryError):
        raise
    except Exception as error:  # of Arrow, or of the notes that pandas leaves in the file
        raise TableError(f"{source.name} is not a Parquet file, or is damaged.") from error
    return Loaded(frame=frame, notes=notes)


def _excel(source: Source, sheet: str | None) -> Loaded:
    pandas = optional("pandas", extra="io")
    openpyxl = optional("openpyxl", extra="io")
    notes: list[str] = []
    try:
        with source.open() as handle:
            with zipfile.ZipFile(handle) as archive:
                for member in archive.infolist():
                    check_inflation(member.file_size, member.compress_size, source.name)
                check_memory(4 * sum(m.file_size for m in archive.infolist()), source.name)
            handle.seek(0)
            book = openpyxl.load_workbook(handle, read_only=True, data_only=True)
            rows = _sheet_rows(book, sheet, source.name, notes)
            book.close()
    except (TableError, MemoryError):
        raise
    except Exception as error:  # a damaged workbook fails anywhere in its XML
        raise TableError(f"{source.name} is not an Excel workbook, or is damaged.") from error
    if len(rows) < 2:
        state = "has a header but no rows" if rows else "is empty"
        raise TableError(f"{source.name} {state}.")
    width = max(len(row) for row in rows)
    cells = [[*row, *[None] * (width - len(row))] for row in rows]
    names, changed = unique_names(cells[0])
    frame = pandas.DataFrame(cells[1:], columns=names).infer_objects()
    if cells[0][0] is None and width > 1:
        frame = frame.set_index(names[0])
        notes.append("The first column has no name; it is taken as the rows' names.")
    return Loaded(frame=frame, notes=[*notes, *changed])


def _sheet_rows(book: Any, sheet: str | None, name: str, notes: list[str]) -> list[list[Any]]:
    if sheet is not None and sheet not in book.sheetnames:
        raise TableError(f"{name} has no sheet {sheet!r}; its sheets are {book.sheetnames}.")
    page = book[sheet] if sheet is not None else book.worksheets[0]
    if sheet is None and len(book.sheetnames) > 1:
        notes.append(f"Of {len(book.sheetnames)} sheets the first, {page.title!r}, is read.")
    page.reset_dimensions()  # a size that the sheet only claims would be filled with empty cells
    rows = []
    for row in page.iter_rows(values_only=True):
        cells = [None if cell in _EXCEL_ERRORS or cell == "" else cell for cell in row]
        while cells and cells[-1] is None:
            cells.pop()
        if cells:
            rows.append(cells)
    return rows


def _hdf5(source: Source, key: str | None, beside: Sequence[str]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    with open_hdf(source) as file:
        named = [*([] if key is None else [key]), *beside]
        named = [name for name in named if has_member(file, name)]
        tables = numeric_datasets(file) if key is None else []
        for name in dict.fromkeys([*tables, *named]):
            what = f"{source.name}, data set {name!r},"
            found[name] = dataset_checked(own_member(file, name, what), what)[()]
    return found


def _h5ad(source: Source) -> Loaded:
    optional("anndata", extra="anndata")
    try:
        read_elem = optional("anndata.io", extra="anndata").read_elem
    except (ImportError, AttributeError):  # before 0.11
        read_elem = optional("anndata.experimental", extra="anndata").read_elem
    h5py = optional("h5py", extra="io")
    with open_hdf(source, parts=("X", "obs", "var")) as file:
        what = f"{source.name}, X,"
        stored = own_member(file, "X", source.name)
        if isinstance(stored, h5py.Dataset):
            matrix: Array = dataset_checked(stored, what)[()]
        else:
            matrix = _h5ad_sparse(stored, what)
        for part in ("obs", "var"):
            check_own(own_member(file, part, source.name), f"{source.name}, {part!r},")
        try:
            rows, columns = read_elem(file["obs"]), read_elem(file["var"])
        except Exception as error:  # anndata wraps the errors of many readers
            raise TableError(f"{source.name} is not an AnnData file, or is damaged.") from error
    if matrix.shape != (len(rows), len(columns)):
        raise TableError(
            f"{source.name} has names for {len(rows)} × {len(columns)} values, "
            f"but X has the shape {matrix.shape}."
        )
    names, notes = unique_names(columns.index)
    beside = {str(name): rows[name] for name in rows.columns}
    return Loaded(
        matrix=matrix, columns=names, index=rows.index.to_numpy(), beside=beside, notes=notes
    )


def _h5ad_sparse(group: Any, what: str) -> Array:
    layout = str(group.attrs.get("encoding-type", ""))[:3]
    if layout not in ("csr", "csc"):
        raise TableError(f"{what} is neither a full nor a sparse matrix.")
    parts = [
        dataset_checked(own_member(group, part, what), what)[()]
        for part in ("data", "indices", "indptr")
    ]
    shape = tuple(int(extent) for extent in group.attrs["shape"])
    return checked_sparse(parts[0], parts[1], parts[2], shape, layout, what)


def _from_variables(
    variables: dict[str, Array], key: str | None, beside: Sequence[str], name: str
) -> Loaded:
    chosen = _choose(variables, key, beside, name)
    matrix = variables[chosen]
    notes = []
    if matrix.ndim == 1:
        matrix = matrix.reshape(-1, 1)
        notes.append("A single list of numbers is taken as one column.")
    others = {k: v for k, v in variables.items() if k != chosen}
    if len(variables) > 1:
        unused = ", ".join(repr(k) for k in others if k not in beside)
        notes.append(f"The matrix {chosen!r} is read" + (f"; not {unused}." if unused else "."))
    if matrix.ndim != 2:
        raise TableError(
            f"{name} has {matrix.ndim} dimensions; a table has two, so reshape it to one row per "
            "sample."
        )
    if matrix.dtype.kind not in "biuf":
        raise TableError(f"{name} holds values of type {matrix.dtype}, not numbers.")
    columns = [f"column_{i}" for i in range(1, matrix.shape[1] + 1)]
    return Loaded(matrix=matrix, columns=columns, beside=others, notes=notes)


def _choose(variables: dict[str, Array], key: str | None, beside: Sequence[str], name: str) -> str:
    shapes = ", ".join(f"{k!r} {v.shape}" for k, v in variables.items())
    if key is not None:
        if key not in variables:
            raise TableError(f"{name} has no variable {key!r}; it has {shapes or 'none'}.")
        return key
    free = {k: v for k, v in variables.items() if k not in beside}
    tables = [k for k, v in free.items() if v.ndim == 2 and min(v.shape) > 1]
    candidates = tables or list(free)
    usual = [k for k in _USUAL if k in candidates]
    if len(candidates) == 1 or usual:
        return (usual or candidates)[0]
    raise TableError(f"{name} has several variables ({shapes or 'none'}); name one with key.")


def as_numbers(matrix: Array) -> Array:
    """Return float32 or float64 in native order, sparse as CSR; half precision is widened."""
    kept = np.float32 if matrix.dtype in (np.dtype("f4"), np.dtype(">f4"), np.float16) else float
    if sp.issparse(matrix):
        return sp.csr_array(matrix).astype(kept)
    return np.ascontiguousarray(matrix, dtype=kept)
