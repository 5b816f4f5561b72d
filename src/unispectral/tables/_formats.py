"""One reader per format; each gives a frame, or a matrix with named vectors beside it."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from unispectral._compat import optional
from unispectral._errors import InputError
from unispectral.tables._arrays import Array, checked_sparse, read_npy, read_npz
from unispectral.tables._frames import unique_names
from unispectral.tables._hdf import check_own, checked_dataset, matrix_names, member, open_hdf
from unispectral.tables._mat import read_mat
from unispectral.tables._source import Source, TableError
from unispectral.tables._text import looks_like_text, read_text

__all__ = ["FORMATS", "Loaded", "find_format", "load"]

FORMATS = ("csv", "tsv", "parquet", "excel", "npy", "npz", "mat", "h5ad", "hdf5")
# Endings that are not the format's own name.
_ENDINGS = {"txt": "csv", "dat": "csv", "tab": "tsv", "pq": "parquet", "h5": "hdf5"}
_ENDINGS |= {"xlsx": "excel", "xlsm": "excel"}
_FAMILY = {"tsv": "csv", "h5ad": "hdf5"}  # formats that look the same from outside
_USUAL = ("X", "data", "fea", "features", "values", "matrix")


@dataclass
class Loaded:
    """What a file holds, before anything is chosen from it: a frame, or a matrix."""

    frame: Any = None
    matrix: Array | None = None
    columns: list[str] = field(default_factory=list)
    index: Any = None
    beside: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def find_format(source: Source, format: str | None) -> str:
    """Decide on the format: what the user says, then the name, held against the first bytes."""
    if format is not None:
        if format not in FORMATS:
            raise InputError("format", f"must be one of {', '.join(FORMATS)}", value=format)
        return format
    if not source.size:
        raise source.error("is empty")
    seen = _by_content(source)
    if source.suffix == ".xls":
        raise source.error("is an old Excel file", "save it as .xlsx")
    ending = source.suffix.removeprefix(".")
    by_name = ending if ending in FORMATS else _ENDINGS.get(ending)
    if by_name is None and seen is None:
        raise TableError(
            "format", f"of {source.lower} is not known", f"name one of {', '.join(FORMATS)}"
        )
    if by_name is None or seen is None:
        return by_name or seen or ""
    if _FAMILY.get(by_name, by_name) != _FAMILY.get(seen, seen):
        raise TableError(
            "format",
            f"must be given: {source.lower} looks like {seen}, not {by_name}",
            f"rename the file or say {seen!r}",
        )
    return by_name


def _by_content(source: Source) -> str | None:
    head = source.head(4096)
    for magic, format in ((b"\x93NUMPY", "npy"), (b"PAR1", "parquet"), (b"MATLAB ", "mat")):
        if head.startswith(magic):
            return format
    if head.startswith(b"\x89HDF"):
        if source.suffix in (".h5ad", ".h5", ".hdf5"):
            return "hdf5"  # and the name says which kind
        with open_hdf(source, values=False) as file:
            return "h5ad" if {"obs", "var", "X"} <= set(file) else "hdf5"
    if head.startswith(b"PK\x03\x04"):
        try:
            with source.open() as file, zipfile.ZipFile(file) as archive:
                return "excel" if "xl/workbook.xml" in archive.namelist() else "npz"
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return None
    return "csv" if looks_like_text(head) else None


def load(
    source: Source, format: str, *, key: str | None, beside: Sequence[str], text: dict[str, Any]
) -> Loaded:
    """Read the file; `key` chooses a sheet or a variable, `beside` names vectors next to it."""
    if format in ("csv", "tsv"):
        text = {**text, "separator": text["separator"] or ("\t" if format == "tsv" else None)}
        frame, notes = read_text(source, **text)
        return Loaded(frame=frame, notes=notes)
    if format == "parquet":
        return _parquet(source)
    if format == "excel":
        return _excel(source, key)
    if format == "h5ad":
        return _h5ad(source)
    if format == "npy":
        return _choose({"array": read_npy(source)}, "array", beside, source)
    if format == "npz":
        return _choose(read_npz(source), key, beside, source)
    if format == "mat":
        return _choose(read_mat(source), key, beside, source)
    with open_hdf(source) as file:
        named = [name for name in (key, *beside) if name and file.get(name, getlink=True)]
        names = [*(matrix_names(file) if key is None else []), *named]
        variables = {
            name: checked_dataset(file, name, source.part(f"data set {name!r}"))[()]
            for name in names
        }
    return _choose(variables, key, beside, source)


def _parquet(source: Source) -> Loaded:
    parquet = optional("pyarrow.parquet", extra="parquet")
    optional("pandas", extra="parquet")
    with source.reading("is not a Parquet file, or is damaged"):
        with source.open() as handle, parquet.ParquetFile(handle) as file:
            source.check_memory(8 * file.metadata.num_rows * len(file.schema_arrow.names))
            table = file.read()
        names, notes = unique_names(table.column_names)
        frame = table.rename_columns(names).to_pandas() if notes else table.to_pandas()
    return Loaded(frame=frame, notes=notes)


def _excel(source: Source, sheet: str | None) -> Loaded:
    pandas = optional("pandas", extra="io")
    optional("openpyxl", extra="io")
    notes: list[str] = []
    with source.reading("is not an Excel workbook, or is damaged"), source.open() as handle:
        with zipfile.ZipFile(handle) as archive:
            for entry in archive.infolist():
                source.check_inflation(entry.file_size, entry.compress_size)
            source.check_memory(4 * sum(entry.file_size for entry in archive.infolist()))
        handle.seek(0)
        with pandas.ExcelFile(handle, engine="openpyxl") as book:
            sheets = [page.title for page in book.book.worksheets]
            if sheet is not None and sheet not in sheets:
                known = ", ".join(map(repr, sheets))
                problem = f"is not a sheet of {source.lower}, which has {known}"
                raise TableError("key", problem, value=sheet)
            if sheet is None and len(sheets) > 1:
                notes.append(f"Of {len(sheets)} sheets the first, {sheets[0]!r}, is read.")
            chosen = sheet or sheets[0]
            cells = pandas.read_excel(book, sheet_name=chosen, header=None, dtype=object)
    cells = cells.dropna(how="all")
    if len(cells) < 2:
        raise source.error("has a header but no rows" if len(cells) else "is empty")
    head = [None if pandas.isna(name) else name for name in cells.iloc[0]]
    names, changed = unique_names(head)
    frame = cells.iloc[1:].set_axis(names, axis=1).reset_index(drop=True).infer_objects()
    if head[0] is None and len(names) > 1:
        frame = frame.set_index(names[0])
        notes.append("The first column has no name; it is taken as the rows' names.")
    return Loaded(frame=frame, notes=[*notes, *changed])


def _h5ad(source: Source) -> Loaded:
    optional("anndata", extra="anndata")
    try:
        read_elem = optional("anndata.io", extra="anndata").read_elem
    except (ImportError, AttributeError):  # before 0.11
        read_elem = optional("anndata.experimental", extra="anndata").read_elem
    with open_hdf(source, parts=("X", "obs", "var")) as file:
        values = source.part("X")
        stored = member(file, "X", source)
        if hasattr(stored, "is_virtual"):
            matrix: Array = checked_dataset(file, "X", values)[()]
        else:
            layout = str(stored.attrs.get("encoding-type", ""))[:3]
            if layout not in ("csr", "csc"):
                raise values.error("is neither a full nor a sparse matrix")
            data, indices, indptr = (
                checked_dataset(stored, part, values)[()] for part in ("data", "indices", "indptr")
            )
            shape = [int(extent) for extent in stored.attrs["shape"]]
            matrix = checked_sparse((data, indices, indptr), shape, layout, values)
        for part in ("obs", "var"):
            check_own(member(file, part, source), source.part(repr(part)))
        with source.reading("is not an AnnData file, or is damaged"):
            rows, columns = read_elem(file["obs"]), read_elem(file["var"])
    if matrix.shape != (len(rows), len(columns)):
        raise source.error(
            f"has names for {len(rows)} × {len(columns)} values, but X has the shape "
            f"{matrix.shape}"
        )
    names, notes = unique_names(columns.index)
    beside = {str(name): rows[name] for name in rows.columns}
    return Loaded(
        matrix=matrix, columns=names, index=rows.index.to_numpy(), beside=beside, notes=notes
    )


def _choose(
    variables: dict[str, Array], key: str | None, beside: Sequence[str], source: Source
) -> Loaded:
    """Take one of several variables as the table."""
    free = {name: v for name, v in variables.items() if name not in beside}
    tables = [name for name, v in free.items() if v.ndim == 2 and min(v.shape) > 1] or list(free)
    usual = [name for name in _USUAL if name in tables]
    shapes = ", ".join(f"{name!r} {v.shape}" for name, v in variables.items()) or "none"
    if key is not None and key not in variables:
        raise TableError(
            "key", f"is not a variable of {source.lower}, which has {shapes}", value=key
        )
    if key is None and len(tables) != 1 and not usual:
        raise TableError(
            "key", f"must be given: {source.lower} has several variables ({shapes})", "name one"
        )
    chosen = key or (usual or tables)[0]
    matrix, notes = variables.pop(chosen), []
    if matrix.ndim == 1:
        matrix = matrix.reshape(-1, 1)
        notes.append("A single list of numbers is taken as one column.")
    if variables:
        unused = ", ".join(repr(name) for name in variables if name not in beside)
        notes.append(f"The matrix {chosen!r} is read" + (f"; not {unused}." if unused else "."))
    if matrix.ndim != 2:
        raise source.error(
            f"has {matrix.ndim} dimensions; a table has two", "reshape it to one row per sample"
        )
    if matrix.dtype.kind not in "biuf":
        raise source.error(f"holds values of type {matrix.dtype}, not numbers")
    columns = [f"column_{i}" for i in range(1, matrix.shape[1] + 1)]
    return Loaded(matrix=matrix, columns=columns, beside=variables, notes=notes)
