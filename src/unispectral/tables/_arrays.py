"""NumPy's .npy and .npz files, read without trust: no pickle, sizes checked before use."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from unispectral.tables._source import Source

#: Bytes that the rows and columns of a small file may take, however few values they have.
_FEW_VALUES = 2**28

Array: TypeAlias = Any  # an ndarray or a csr_array; SciPy has no types to tell them apart by


def read_npy(source: Source, *, mapped: bool) -> np.ndarray:
    """One array; mapped values stay in their file, if there is one, until they are used."""
    if source.path is None or not mapped:
        return _read_array(source.open, source.size, source)
    _check_header(source.open, source.size, source)
    with source.reading():
        return npy.open_memmap(source.path, mode="c")  # what is written stays in memory


def _read_array(open_: Callable[[], IO[bytes]], size: int, source: Source) -> np.ndarray:
    _check_header(open_, size, source)
    with source.reading(), open_() as file:
        array = npy.read_array(file, allow_pickle=False)
        file.read(1)  # the end, at which an archive checks the checksum
    return array


def _check_header(open_: Callable[[], IO[bytes]], size: int, source: Source) -> None:
    """Hold the shape and the type that a file declares against the `size` of the whole file."""
    with source.reading("is not a NumPy array file, or is damaged"), open_() as file:
        major, _ = npy.read_magic(file)
        reader = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
        shape, _, dtype = reader(file)
        there = size - file.tell()
    if dtype.hasobject:
        problem = "holds Python objects (a pickle), which could run code when read"
        raise source.error(problem, "save plain numbers instead")
    if any(extent < 0 for extent in shape):
        raise source.error(f"declares the impossible shape {shape}")
    if (declared := math.prod(shape) * dtype.itemsize) > there:
        problem = f"declares {declared:,} bytes of values (shape {shape}) but holds {there:,}"
        raise source.error(problem, "it is cut short or damaged")


def read_members(
    archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo], source: Source
) -> dict[str, np.ndarray]:
    """Read arrays of an archive by their names without the ending.

    Nothing is written to disk, so names that point outside mean nothing here.
    """
    for member in members:
        part = source.part(repr(member.filename))
        part.check_inflation(member.file_size, member.compress_size)
    source.check_memory(sum(member.file_size for member in members))
    arrays = {}
    for member in members:
        name = member.filename.removesuffix(".npy")
        part = source.part(f"array {name!r}")
        arrays[name] = _read_array(partial(archive.open, member), member.file_size, part)
    return arrays


def read_npz(source: Source) -> dict[str, Array]:
    """Read all arrays of an archive; what SciPy saved as a sparse matrix comes as ``matrix``."""
    not_npz = "is not an .npz archive, or is damaged"
    with source.reading(not_npz), source.open() as file, zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        if not members:
            raise source.error("is an archive without NumPy arrays in it")
        arrays = read_members(archive, members, source)
    if not {"format", "shape", "data"} <= arrays.keys():
        return arrays
    layout = arrays["format"].item() if arrays["format"].ndim == 0 else None
    layout = layout.decode("ascii", "replace") if isinstance(layout, bytes) else layout
    if layout not in ("csr", "csc") or not {"indices", "indptr"} <= arrays.keys():
        raise source.error(f"holds a sparse matrix of format {layout!r}", "save it as CSR or CSC")
    parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    return {"matrix": checked_sparse(parts, arrays["shape"].ravel().tolist(), layout, source)}


def sparse_array(parts: Sequence[np.ndarray], shape: Any, layout: str = "csr") -> Any:
    """A sparse array of data, indices and pointers, or a ValueError if they do not fit."""
    data, indices, indptr = parts
    if any(part.dtype.kind not in "iu" or part.ndim != 1 for part in (indices, indptr)):
        raise ValueError("indices are not integers")
    # SciPy looks only if the last one is not 0.
    if not len(indptr) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("the pointers do not rise")
    stored = int(indptr[-1])  # MATLAB may keep room for more
    build = {"csr": sp.csr_array, "csc": sp.csc_array}[layout]
    matrix = build((data[:stored], indices[:stored], indptr), shape=tuple(shape))
    matrix.check_format(full_check=True)  # compiled code would trust the indices
    return matrix


def checked_sparse(parts: Sequence[np.ndarray], shape: object, layout: str, source: Source) -> Any:
    """The CSR array of data, indices and pointers from a file."""
    with source.reading("holds a sparse matrix whose indices do not fit"):
        matrix = sparse_array(parts, shape, layout)
    # CSR of a CSC costs an index of its own for every row, however few of them are stored
    source.check_memory(24 * sum(matrix.shape) + 2 * matrix.data.nbytes)
    source.check_inflation(8 * sum(matrix.shape), source.size, _FEW_VALUES)
    matrix = sp.csr_array(matrix)
    matrix.sum_duplicates()
    return matrix
