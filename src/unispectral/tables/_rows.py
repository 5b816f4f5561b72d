"""Tables larger than memory: rows in blocks from .npy, Parquet, HDF5 and Zarr."""

from __future__ import annotations

import contextlib
import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unispectral._compat import optional
from unispectral.tables._arrays import npy_header
from unispectral.tables._formats import find_format
from unispectral.tables._hdf import dataset_checked, numeric_datasets, open_hdf, own_member
from unispectral.tables._limits import TableError
from unispectral.tables._source import Source, as_source

__all__ = ["Rows", "open_rows"]


class Rows(ABC):
    """A table on disk of which only the rows asked for are in memory.

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

    shape: tuple[int, int]
    dtype: np.dtype
    columns: list[str]
    name: str

    @abstractmethod
    def _block(self, start: int, stop: int) -> np.ndarray:
        """Return the rows from `start` up to `stop` as they are stored."""

    def close(self) -> None:  # noqa: B027
        """Let go of the file."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: int | slice | ArrayLike) -> np.ndarray:
        """Return one row, a slice of rows, or the rows of a list of numbers."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                return self._read(start, max(start, stop))
            return self.take(np.arange(start, stop, step))
        if np.ndim(rows) == 0:
            number = operator.index(rows)  # type: ignore[arg-type]
            if not -len(self) <= number < len(self):
                raise IndexError(f"row {number} is not among the {len(self)} rows.")
            return self._read(number % len(self), number % len(self) + 1)[0]
        return self.take(rows)

    def take(self, rows: ArrayLike, block: int = 65_536) -> np.ndarray:
        """Return the rows with these numbers, in this order, reading the file once through."""
        wanted = np.asarray(rows)
        if wanted.size == 0:
            return np.empty((0, self.shape[1]), dtype=self.dtype)
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
            raise TypeError("rows must be a list of row numbers.")
        if wanted.min() < -len(self) or wanted.max() >= len(self):
            raise IndexError(f"rows must lie between {-len(self)} and {len(self) - 1}.")
        wanted = wanted % len(self)
        order = np.argsort(wanted, kind="stable")
        result = np.empty((len(wanted), self.shape[1]), dtype=self.dtype)
        at = 0
        while at < len(order):
            start = int(wanted[order[at]])
            until = int(np.searchsorted(wanted[order], start + block))
            some = order[at:until]
            result[some] = self._read(start, int(wanted[some].max()) + 1)[wanted[some] - start]
            at = until
        return result

    def iter_blocks(self, size: int = 65_536) -> Iterator[np.ndarray]:
        """Yield all rows in order, `size` at a time."""
        if size < 1:
            raise ValueError(f"size must be at least 1, but is {size!r}.")
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
        with _damage_told(self.name):
            block = np.array(self._block(start, stop), dtype=self.dtype, order="C", ndmin=2)
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            raise TableError(
                f"{self.name} has a missing or infinite value in row {start + int(row)}, column "
                f"{self.columns[int(column)]!r}; fill it before clustering."
            )
        return block

    def __enter__(self) -> Rows:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        return _ZarrRows(path, key)
    origin = as_source(path)
    chosen = format if format in _READERS else find_format(origin, format)
    if chosen == "h5ad":
        chosen = "hdf5"
    if chosen not in _READERS:
        raise TableError(
            f"{origin.name} is {chosen}, which cannot be read in blocks; use .npy, Parquet, HDF5 "
            "or Zarr."
        )
    if columns is not None and chosen != "parquet":
        raise ValueError(f"columns can be chosen from Parquet only, not from {chosen}.")
    with _damage_told(origin.name):
        return _READERS[chosen](origin, key, columns)


@contextlib.contextmanager
def _damage_told(name: str) -> Iterator[None]:
    """Damage shows in the bindings of Arrow and HDF5 as an error of any kind."""
    try:
        yield
    except (TableError, ImportError, MemoryError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        raise TableError(f"{name} is cut short or damaged.") from error


def _float(dtype: np.dtype, what: str) -> np.dtype:
    if dtype.kind not in "biuf":
        raise TableError(f"{what} holds values of type {dtype}, not numbers.")
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def _two(shape: tuple[int, ...], what: str) -> tuple[int, int]:
    if len(shape) != 2:
        raise TableError(f"{what} has {len(shape)} dimensions; a table has two.")
    return int(shape[0]), int(shape[1])


def _numbered(width: int) -> list[str]:
    return [f"column_{i}" for i in range(1, width + 1)]


class _NpyRows(Rows):
    def __init__(self, source: Source, key: str | None, columns: list[str] | None) -> None:
        with source.open() as file:
            shape, _, dtype = npy_header(file, source.size, source.name)
        self.name, self.shape = source.name, _two(shape, source.name)
        self.dtype, self.columns = _float(dtype, source.name), _numbered(self.shape[1])
        if 0 in shape:  # nothing can be mapped
            self._array = np.empty(shape, dtype)
        else:
            self._array = np.load(str(source.path), mmap_mode="r", allow_pickle=False)

    def _block(self, start: int, stop: int) -> np.ndarray:
        return self._array[start:stop]

    def close(self) -> None:
        self._array = np.empty((0, self.shape[1]))


class _ParquetRows(Rows):
    """Row groups are the unit that Parquet reads; the last one is kept for the next slice."""

    def __init__(self, source: Source, key: str | None, columns: list[str] | None) -> None:
        self._arrow = optional("pyarrow", extra="io")
        parquet = optional("pyarrow.parquet", extra="io")
        self.name = source.name
        try:
            self._file = parquet.ParquetFile(source.path)
        except (self._arrow.ArrowException, OSError) as error:
            raise TableError(f"{source.name} is not a Parquet file, or is damaged.") from error
        self.columns, single = self._pick(columns)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        meta = self._file.metadata
        self.shape = (meta.num_rows, len(self.columns))
        sizes = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self._kept: tuple[int, np.ndarray] | None = None

    def _pick(self, asked: list[str] | None) -> tuple[list[str], bool]:
        types = self._arrow.types
        schema = self._file.schema_arrow
        names = schema.names
        if len(set(names)) != len(names):
            raise TableError(f"{self.name} has columns of the same name; rename them.")
        kinds = {name: schema.field(name).type for name in names}
        numeric = [
            n
            for n, t in kinds.items()
            if types.is_integer(t) or types.is_floating(t) or types.is_boolean(t)
        ]
        for name in asked or []:
            if name not in numeric:
                raise TableError(f"{self.name} has no numeric column {name!r}.")
        kept = list(asked) if asked is not None else numeric
        if not kept:
            raise TableError(f"{self.name} has no numeric column.")
        narrow = (types.is_float32, types.is_float16)
        return kept, all(any(check(kinds[n]) for check in narrow) for n in kept)

    def _group(self, number: int) -> np.ndarray:
        if self._kept is None or self._kept[0] != number:
            try:
                table = self._file.read_row_group(number, columns=self.columns)
            except (self._arrow.ArrowException, OSError) as error:
                raise TableError(f"{self.name} is cut short or damaged.") from error
            block = np.empty((table.num_rows, len(self.columns)), dtype=self.dtype)
            for i, name in enumerate(self.columns):
                column = table.column(name)
                if self._arrow.types.is_boolean(column.type):
                    column = column.cast("uint8")
                block[:, i] = column.to_numpy()
            self._kept = (number, block)
        return self._kept[1]

    def _block(self, start: int, stop: int) -> np.ndarray:
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        parts = [np.empty((0, len(self.columns)), dtype=self.dtype)]
        for number in range(first, len(self._starts) - 1):
            offset = int(self._starts[number])
            if offset >= stop:
                break
            parts.append(self._group(number)[max(0, start - offset) : stop - offset])
        return np.concatenate(parts)

    def close(self) -> None:
        self._kept = None
        self._file.close()


class _HdfRows(Rows):
    def __init__(self, source: Source, key: str | None, columns: list[str] | None) -> None:
        self._opened = open_hdf(source, values=False)
        file = self._opened.__enter__()
        try:
            names = numeric_datasets(file)
            if key is None and len(names) != 1:
                listed = ", ".join(repr(name) for name in names) or "none"
                raise TableError(
                    f"{source.name} has {len(names)} two-dimensional data sets of numbers "
                    f"({listed}); name one with key."
                )
            name = key if key is not None else names[0]
            self.name = f"{source.name}, data set {name!r},"
            self._data = dataset_checked(
                own_member(file, name, source.name), self.name, whole=False
            )
            self.shape = _two(self._data.shape, self.name)
            self.dtype = _float(self._data.dtype, self.name)
            self.columns = _numbered(self.shape[1])
        except BaseException:
            self.close()
            raise

    def _block(self, start: int, stop: int) -> np.ndarray:
        try:
            return self._data[start:stop]
        except OSError as error:
            raise TableError(f"{self.name} is cut short or damaged.") from error

    def close(self) -> None:
        self._opened.__exit__(None, None, None)


class _ZarrRows(Rows):
    def __init__(self, path: Path, key: str | None) -> None:
        zarr = optional("zarr", extra="zarr")
        self.name = f"The folder {path.name!r}"
        if not path.is_dir():
            raise TableError(f"There is no folder {str(path)!r}.")
        try:
            opened: Any = zarr.open(str(path), mode="r")
            if key is not None:
                opened = opened[key]
            elif isinstance(opened, zarr.Group):
                names = [name for name, _ in opened.arrays()]
                if len(names) != 1:
                    raise TableError(
                        f"{self.name} has {len(names)} arrays ({', '.join(map(repr, names))}); "
                        "name one with key."
                    )
                opened = opened[names[0]]
        except TableError:
            raise
        except Exception as error:  # zarr passes on the errors of its stores and codecs
            raise TableError(f"{self.name} is not a Zarr array, or is damaged.") from error
        self._data = opened
        self.shape = _two(opened.shape, self.name)
        self.dtype = _float(opened.dtype, self.name)
        self.columns = _numbered(self.shape[1])

    def _block(self, start: int, stop: int) -> np.ndarray:
        try:
            return np.asarray(self._data[start:stop])
        except Exception as error:
            raise TableError(f"{self.name} is damaged.") from error


_READERS: dict[str, type] = {"npy": _NpyRows, "parquet": _ParquetRows, "hdf5": _HdfRows}
