"""NumPy's .npy and .npz files, read without trust: no pickle, sizes checked before use."""

from __future__ import annotations

import math
import zipfile
import zlib
from typing import IO, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from unispectral.tables._limits import TableError, check_inflation, check_memory
from unispectral.tables._source import Source

__all__ = ["checked_sparse", "npy_header", "read_npy", "read_npz"]

Array: TypeAlias = Any  # an ndarray or a csr_array; SciPy has no types to tell them apart by

_BROKEN = (ValueError, EOFError, OSError, KeyError, NotImplementedError, RuntimeError)


def read_npy(source: Source) -> np.ndarray:
    """Read one array; the shape its header declares must be what the file holds.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(3))
    >>> read_npy(Source("the array", None, file.getvalue()))
    array([0, 1, 2])
    """
    with source.open() as file:
        return _read_array(file, source.size, source.name)


def npy_header(file: IO[bytes], size: int, what: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Read shape, Fortran order and dtype, and hold them against the `size` of the whole file."""
    try:
        major, _ = npy.read_magic(file)
        reader = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
        shape, fortran, dtype = reader(file)
    except Exception as error:  # the header is a Python literal: anything may be wrong with it
        raise TableError(f"{what} is not a NumPy array file, or is damaged.") from error
    if dtype.hasobject:
        raise TableError(
            f"{what} holds Python objects (a pickle), which could run code when read; save plain "
            "numbers instead."
        )
    if any(extent < 0 for extent in shape):
        raise TableError(f"{what} declares the impossible shape {shape}.")
    declared, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if declared > there:
        raise TableError(
            f"{what} declares {declared:,} bytes of values (shape {shape}) but holds {there:,}; "
            "it is cut short or damaged."
        )
    return shape, fortran, dtype


def _read_array(file: IO[bytes], size: int, what: str) -> np.ndarray:
    start = file.tell()
    npy_header(file, size, what)
    file.seek(start)
    try:
        return npy.read_array(file, allow_pickle=False)
    except (*_BROKEN, zlib.error) as error:
        raise TableError(f"{what} is cut short or damaged.") from error


def read_npz(source: Source) -> dict[str, Array]:
    """Read all arrays of an archive; one that SciPy saved as a sparse matrix comes as ``matrix``.

    Nothing is written to disk, so names that point outside mean nothing here.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez(file, X=np.eye(2))
    >>> sorted(read_npz(Source("the archive", None, file.getvalue())))
    ['X']
    """
    try:
        with source.open() as file, zipfile.ZipFile(file) as archive:
            arrays = _members(archive, source.name)
    except TableError:
        raise
    except (*_BROKEN, zipfile.BadZipFile, zlib.error) as error:
        raise TableError(f"{source.name} is not an .npz archive, or is damaged.") from error
    if {"format", "shape", "data"} <= arrays.keys():
        return {"matrix": _sparse_from_npz(arrays, source.name)}
    return dict(arrays)


def _members(archive: zipfile.ZipFile, name: str) -> dict[str, np.ndarray]:
    members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
    if not members:
        raise TableError(f"{name} is an archive without NumPy arrays in it.")
    for member in members:
        check_inflation(member.file_size, member.compress_size, f"{name}, {member.filename!r},")
    check_memory(sum(member.file_size for member in members), name)
    arrays = {}
    for member in members:
        with archive.open(member) as file:
            what = f"{name}, array {member.filename[:-4]!r},"
            arrays[member.filename[:-4]] = _read_array(file, member.file_size, what)
    return arrays


def _sparse_from_npz(arrays: dict[str, np.ndarray], name: str) -> sp.csr_array:
    layout = arrays["format"].item() if arrays["format"].ndim == 0 else None
    layout = layout.decode("ascii", "replace") if isinstance(layout, bytes) else layout
    if layout not in ("csr", "csc") or not {"indices", "indptr"} <= arrays.keys():
        raise TableError(
            f"{name} holds a sparse matrix of format {layout!r}; save it as CSR or CSC."
        )
    shape = tuple(arrays["shape"].ravel().tolist())
    return checked_sparse(arrays["data"], arrays["indices"], arrays["indptr"], shape, layout, name)


def checked_sparse(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    shape: tuple[int, ...],
    layout: str,
    what: str,
) -> sp.csr_array:
    """Build a CSR array of parts from a file; SciPy itself would trust the indices.

    Examples
    --------
    >>> ones, zero = np.ones(1), np.zeros(1, dtype=int)
    >>> checked_sparse(ones, zero + 5, np.array([0, 1]), (1, 2), "csr", "The file")
    Traceback (most recent call last):
        ...
    unispectral.tables._limits.TableError: The file holds a sparse matrix whose indices do not fit.
    """
    wrong = TableError(f"{what} holds a sparse matrix whose indices do not fit.")
    if len(shape) != 2 or any(not isinstance(extent, int) or extent < 0 for extent in shape):
        raise wrong
    if any(part.ndim != 1 for part in (data, indices, indptr)):
        raise wrong
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise wrong
    major, minor = shape if layout == "csr" else shape[::-1]
    if len(indptr) != major + 1 or indptr[0] != 0 or indptr[-1] > min(len(data), len(indices)):
        raise wrong
    if (indptr[1:] < indptr[:-1]).any():
        raise wrong
    stored = int(indptr[-1])
    data, indices = data[:stored], indices[:stored]
    if stored and (indices.min() < 0 or indices.max() >= minor):
        raise wrong
    # CSR of a CSC costs an index of its own for every row, however few of them are stored
    check_memory(8 * (shape[0] + shape[1]) + 2 * data.nbytes, what)
    width = np.int32 if max(*shape, stored) < 2**31 else np.int64
    parts = (data.copy(), indices.astype(width), indptr.astype(width))
    built = sp.csr_array(parts, shape=shape) if layout == "csr" else sp.csc_array(parts, shape)
    matrix = sp.csr_array(built)
    matrix.sum_duplicates()
    return matrix
