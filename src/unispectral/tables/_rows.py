"""Tables larger than memory: rows in blocks from .npy, Parquet, HDF5 and Zarr."""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unispectral._compat import optional
from unispectral._errors import InputError, InputTypeError
from unispectral.tables._arrays import npy_header
from unispectral.tables._formats import find_format
from unispectral.tables._frames import float_for
from unispectral.tables._hdf import checked_dataset, matrix_names, open_hdf
from unispectral.tables._source import Source, TableError, as_source

__all__ = ["Rows", "open_rows"]

_BLOCK = 65_536


class Rows:
    """A table on disk of which only the rows asked for are in memory.

    It is opened by :func:`open_rows`.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns.
    dtype : numpy.dtype
        float32 or float64; every block has it.
    columns : list of str
        Names of the columns.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(path, np.arange(10.0).reshape(5, 2))
    >>> with open_rows(path) as rows:
    ...     print(rows.shape, rows[3].tolist(), [len(block) for block in rows.iter_blocks(2)])
    (5, 2) [6.0, 7.0] [2, 2, 1]
    """

    def __init__(
        self, source: Source, stored: Any, close: Callable[[], None] | None = None
    ) -> None:
        shape, dtype = tuple(stored.shape), np.dtype(stored.dtype)
        if len(shape) != 2:
            raise source.error(f"has {len(shape)} dimensions; a table has two")
        if dtype.kind not in "biuf":
            raise source.error(f"holds values of type {dtype}, not numbers")
        self._source, self._stored, self._close = source, stored, close
        self.shape: tuple[int, int] = (int(shape[0]), int(shape[1]))
        self.dtype = float_for(dtype)
        numbered = [f"column_{i}" for i in range(1, shape[1] + 1)]
        self.columns: list[str] = getattr(stored, "columns", numbered)

    def close(self) -> None:
        """Let go of the file."""
        self._stored = None
        if self._close is not None:
            self._close()
            self._close = None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: int | slice | ArrayLike) -> np.ndarray:
        """Return one row, a slice of rows, or the rows of a list of numbers."""
        if not isinstance(rows, slice):
            one = np.ndim(rows) == 0
            return self.take([operator.index(rows)])[0] if one else self.take(rows)  # type: ignore
        start, stop, step = rows.indices(len(self))
        if step != 1:
            return self.take(np.arange(start, stop, step))
        return self._read(start, max(start, stop))

    def take(self, rows: ArrayLike, block: int = _BLOCK) -> np.ndarray:
        """Return the rows with these numbers, in this order, reading the file once through."""
        wanted = np.asarray(rows)
        if wanted.size == 0:
            return np.empty((0, self.shape[1]), dtype=self.dtype)
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
            raise InputTypeError("rows", "must be a list of row numbers")
        if wanted.min() < -len(self) or wanted.max() >= len(self):
            raise IndexError(f"rows must lie between {-len(self)} and {len(self) - 1}.")
        wanted = wanted % len(self)
        result = np.empty((len(wanted), self.shape[1]), dtype=self.dtype)
        for number in np.unique(wanted // block):
            some = np.flatnonzero(wanted // block == number)
            start, stop = int(wanted[some].min()), int(wanted[some].max()) + 1
            result[some] = self._read(start, stop)[wanted[some] - start]
        return result

    def iter_blocks(self, size: int = _BLOCK) -> Iterator[np.ndarray]:
        """Yield all rows in order, `size` at a time."""
        if size < 1:
            raise InputError("size", "must be at least 1", value=size)
        for start in range(0, len(self), size):
            yield self._read(start, min(start + size, len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All rows as one array, read block by block: what ``fit`` makes of them."""
        if copy is False:
            raise ValueError("copy=False is impossible: the rows have to be read from the file.")
        result = np.empty(self.shape, dtype=self.dtype if dtype is None else dtype)
        start = 0
        for block in self.iter_blocks():
            result[start : start + len(block)] = block
            start += len(block)
        return result

    def _read(self, start: int, stop: int) -> np.ndarray:
        if self._stored is None:
            raise self._source.error("is closed", "open it again")
        with self._source.reading():
            block = np.array(self._stored[start:stop], dtype=self.dtype, order="C", ndmin=2)
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            raise self._source.error(
                f"has a missing or infinite value in row {start + int(row)}, column "
                f"{self.columns[int(column)]!r}",
                "fill it before clustering",
            )
        return block

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_rows(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,
    key: str | None = None,
    columns: list[str] | None = None,
) -> Rows:
    """Open a large table for reading in blocks.

    Parameters
    ----------
    source : path-like
        A .npy file, a Parquet file, an HDF5 file or a Zarr folder.
    format : {"npy", "parquet", "hdf5", "zarr"}, default=None
        None goes by name and content.
    key : str, default=None
        Data set of an HDF5 file, or array of a Zarr group; not needed if there is only one.
    columns : list of str, default=None
        Parquet columns to read; None takes all numeric ones.

    Returns
    -------
    Rows
        An object with ``shape``, ``dtype``, slicing, ``take`` and ``iter_blocks``; close it, or
        use it in a ``with`` block.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(path, np.eye(3, dtype=np.float32))
    >>> open_rows(path)[:2]
    array([[1., 0., 0.],
           [0., 1., 0.]], dtype=float32)
    """
    path = Path(source)
    if format == "zarr" or (format is None and path.is_dir()):
        return _zarr_rows(path, key)
    origin = as_source(path)
    chosen = "compressed or a pipe" if origin.path is None else find_format(origin, format)
    if chosen not in ("npy", "parquet", "hdf5", "h5ad"):
        problem = f"is {chosen}, which cannot be read in blocks"
        raise origin.error(problem, "use .npy, Parquet, HDF5 or Zarr")
    if columns is not None and chosen != "parquet":
        raise InputError("columns", f"can be chosen from Parquet only, not from {chosen}")
    with origin.reading():
        if chosen == "npy":
            return _npy_rows(origin)
        if chosen == "parquet":
            stored = _Parquet(origin, columns)
            return Rows(origin, stored, stored.file.close)
        return _hdf_rows(origin, key)


def _one_of(names: list[str], key: str | None, source: Source, what: str) -> str:
    if key is None and len(names) != 1:
        listed = ", ".join(map(repr, names)) or "none"
        problem = f"must be given: {source.lower} has {len(names)} {what} ({listed})"
        raise TableError("key", problem, "name one")
    return names[0] if key is None else key


def _npy_rows(source: Source) -> Rows:
    with source.open() as file:
        shape, dtype = npy_header(file, source.size, source)
    if 0 in shape:  # nothing can be mapped
        return Rows(source, np.empty(shape, dtype))
    return Rows(source, np.load(str(source.path), mmap_mode="r", allow_pickle=False))


def _hdf_rows(source: Source, key: str | None) -> Rows:
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open_hdf(source, values=False))
        name = _one_of(matrix_names(file), key, source, "two-dimensional data sets of numbers")
        part = source.part(f"data set {name!r}")
        stored = checked_dataset(file, name, part, whole=False)
        return Rows(part, stored, stack.pop_all().close)


def _zarr_rows(path: Path, key: str | None) -> Rows:
    zarr = optional("zarr", extra="zarr")
    source = Source(f"The folder {path.name!r}", path)
    if not path.is_dir():
        raise source.error("does not exist")
    with source.reading("is not a Zarr array, or is damaged"):
        opened: Any = zarr.open(str(path), mode="r")
        if isinstance(opened, zarr.Group):
            names = [name for name, _ in opened.arrays()]
            opened = opened[_one_of(names, key, source, "arrays")]
        return Rows(source, opened)


class _Parquet:
    """Columns of a Parquet file; row groups are its unit, and the last one read is kept."""

    def __init__(self, source: Source, columns: list[str] | None) -> None:
        parquet = optional("pyarrow.parquet", extra="parquet")
        types = optional("pyarrow", extra="parquet").types
        with source.reading("is not a Parquet file, or is damaged"):
            self.file = parquet.ParquetFile(source.path)
        schema, meta = self.file.schema_arrow, self.file.metadata
        if len(set(schema.names)) != len(schema.names):
            raise source.error("has columns of the same name", "rename them")
        kinds = {field.name: field.type for field in schema}
        checks = (types.is_integer, types.is_floating, types.is_boolean)
        numeric = [name for name, kind in kinds.items() if any(is_(kind) for is_ in checks)]
        self.columns = numeric if columns is None else list(columns)
        for name in self.columns:
            if name not in numeric:
                raise TableError(
                    "columns", f"is not a numeric column of {source.lower}", value=name
                )
        if not self.columns:
            raise source.error("has no numeric column")
        single = all(kinds[name] in ("float", "halffloat") for name in self.columns)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.shape = (meta.num_rows, len(self.columns))
        sizes = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self._kept: tuple[int, np.ndarray] = (-1, np.empty((0, 0)))

    def _group(self, number: int) -> np.ndarray:
        if self._kept[0] != number:
            table = self.file.read_row_group(number, columns=self.columns)
            block = np.empty((table.num_rows, len(self.columns)), dtype=self.dtype)
            for i, name in enumerate(self.columns):
                column = table.column(name)
                block[:, i] = (
                    column.cast("uint8") if column.type == "bool" else column
                ).to_numpy()
            self._kept = (number, block)
        return self._kept[1]

    def __getitem__(self, rows: slice) -> np.ndarray:
        first = int(np.searchsorted(self._starts, rows.start, side="right")) - 1
        parts = [np.empty((0, len(self.columns)), dtype=self.dtype)]
        for number in range(first, len(self._starts) - 1):
            offset = int(self._starts[number])
            if offset >= rows.stop:
                break
            parts.append(self._group(number)[max(0, rows.start - offset) : rows.stop - offset])
        return np.concatenate(parts)
