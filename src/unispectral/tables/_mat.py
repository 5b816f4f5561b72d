"""MATLAB files: numbers and sparse matrices only, parsed here so that sizes are checked first.

Versions 5 to 7.2 are a list of tagged elements, each a matrix or a compressed matrix [1]_.
Version 7.3 is HDF5. Cells, structures, objects, functions and text are never parsed.

References
----------
.. [1] The MathWorks, "MAT-File Format", the level 5 format.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np

from unispectral.tables._arrays import Array, checked_sparse
from unispectral.tables._hdf import mat73_variables
from unispectral.tables._limits import TableError, check_inflation, check_memory
from unispectral.tables._source import Source, as_source

__all__ = ["read_mat"]

_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8"}
_STORED |= {13: "u8"}
_MATRIX, _COMPRESSED = 14, 15
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4"}
_CLASSES |= {14: "i8", 15: "u8"}
_SPARSE = 5
_OTHER = {1: "cell array", 2: "structure", 3: "object", 4: "text", 16: "function", 17: "object"}
_COMPLEX, _LOGICAL = 0x0800, 0x0200
_HEADER = 4096  # flags, dimensions and name of any honest variable fit in here


def read_mat(
    source: str | os.PathLike[str] | IO[bytes] | Source, names: list[str] | None = None
) -> dict[str, Array]:
    """Read the numeric and sparse variables of a MATLAB file, without trusting it.

    Parameters
    ----------
    source : path or binary file
        A file that MATLAB (version 5 or later), Octave or SciPy has written.
    names : list of str, default=None
        The variables to read; None reads all that are numbers.

    Returns
    -------
    dict of str to ndarray or CSR array
        Full matrices with MATLAB's type (a ``double`` is float64 however it is packed), sparse
        ones as CSR.

    Raises
    ------
    TableError
        If the file is foreign, damaged or declares more than it can hold, if it has no numeric
        variable, or if one of `names` is absent or is no matrix of real numbers.

    Examples
    --------
    >>> import io, scipy.io
    >>> file = io.BytesIO()
    >>> scipy.io.savemat(file, {"X": np.eye(2)})
    >>> _ = file.seek(0)
    >>> read_mat(file)["X"]
    array([[1., 0.],
           [0., 1.]])
    """
    origin = as_source(source)
    head = origin.head(128)
    if head.startswith(b"MATLAB 7.3 MAT-file"):
        return mat73_variables(origin, names)
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
    if order is None:
        raise TableError(
            f"{origin.name} is not a MATLAB file of version 5 or later, or is damaged."
        )
    with origin.open() as file:
        content = memoryview(file.read())[128:]
    try:
        return _variables(content, order, names, origin)
    except (zlib.error, IndexError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"{origin.name} is cut short or damaged.") from error


@dataclass(frozen=True)
class _Header:
    """What stands before the values of a matrix."""

    name: str
    kind: int
    flags: int
    shape: tuple[int, ...]

    @property
    def refusal(self) -> str | None:
        if self.kind in _OTHER:
            return _OTHER[self.kind]
        if self.kind != _SPARSE and self.kind not in _CLASSES:
            return "variable of unknown kind"
        return "matrix of complex numbers" if self.flags & _COMPLEX else None


def _variables(
    content: memoryview, order: str, names: list[str] | None, origin: Source
) -> dict[str, Array]:
    found: dict[str, Array] = {}
    others: dict[str, str] = {}
    for kind, payload in _elements(content, order):
        if kind not in (_MATRIX, _COMPRESSED):
            raise TableError(f"{origin.name} is cut short or damaged.")
        start = payload if kind == _MATRIX else _unpack(payload, order, _HEADER, origin.name)
        if not len(start):
            continue
        header = _header(start, order)
        if names is not None and header.name not in names:
            others[header.name] = "variable not asked for"
        elif header.refusal:
            others[header.name] = header.refusal
        else:
            what = f"{origin.name}, variable {header.name!r},"
            body = payload if kind == _MATRIX else _unpack(payload, order, None, what)
            found[header.name] = _values(body, order, header, what)
    _complain(found, others, names, origin.name)
    return found


def _complain(
    found: dict[str, Array], others: dict[str, str], names: list[str] | None, what: str
) -> None:
    listed = ", ".join(f"{name!r} ({kind})" for name, kind in others.items()) or "nothing"
    if names is None and not found:
        raise TableError(f"{what} has no matrix of real numbers; it holds {listed}.")
    for name in names or []:
        if name not in found:
            kind = others.get(name)
            reason = f"is a {kind}" if kind else f"is not there; the file holds {listed}"
            raise TableError(f"{what} cannot give {name!r}, which {reason}.")


def _elements(content: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Split a run of tagged elements; small ones keep up to four bytes inside their tag."""
    at = 0
    while at < len(content):
        first, size = np.frombuffer(content[at : at + 8], dtype=f"{order}u4").tolist()
        if first >> 16:
            yield first & 0xFFFF, content[at + 4 : at + 4 + min(first >> 16, 4)]
            at += 8
            continue
        payload = content[at + 8 : at + 8 + size]
        if len(payload) < size:
            raise ValueError("element longer than its file")
        yield first, payload
        at += 8 + size + (0 if first == _COMPRESSED else -size % 8)


def _unpack(payload: memoryview, order: str, limit: int | None, what: str) -> memoryview:
    """Inflate a compressed matrix, or its first `limit` bytes, never beyond its own tag."""
    stream = zlib.decompressobj()
    tag = stream.decompress(payload, 8)
    kind, size = np.frombuffer(tag, dtype=f"{order}u4").tolist()
    if kind != _MATRIX:
        raise ValueError("no matrix in the compressed element")
    check_inflation(size, len(payload), what)
    wanted = size if limit is None else min(size, limit)
    if not wanted:
        return memoryview(b"")
    if limit is None:
        check_memory(size, what)
    body = stream.decompress(stream.unconsumed_tail, wanted)
    if len(body) < wanted:
        raise ValueError("compressed element cut short")
    return memoryview(body)


def _header(body: memoryview, order: str) -> _Header:
    parts = _elements_lenient(body, order)
    flags = np.frombuffer(next(parts), dtype=f"{order}u4")[0]
    shape = np.frombuffer(next(parts), dtype=f"{order}i4").tolist()
    name = bytes(next(parts)).decode("utf-8", "replace")
    if len(shape) < 2 or min(shape) < 0:
        raise ValueError("impossible dimensions")
    return _Header(name, int(flags) & 0xFF, int(flags), tuple(shape))


def _elements_lenient(body: memoryview, order: str) -> Iterator[memoryview]:
    """Yield flags, dimensions and name, though the values behind them may be cut off."""
    parts = _elements(body, order)
    for _ in range(3):
        try:
            yield next(parts)[1]
        except StopIteration:
            raise ValueError("matrix without a header") from None


def _values(body: memoryview, order: str, header: _Header, what: str) -> Array:
    parts = list(_elements(body, order))[3:]
    if header.kind == _SPARSE:
        rows, starts, data = (_numbers(kind, payload, order) for kind, payload in parts[:3])
        values = data.astype(bool if header.flags & _LOGICAL else np.float64)
        shape = (header.shape[0], math.prod(header.shape[1:]))
        return checked_sparse(values, rows, starts, shape, "csc", what)
    count = math.prod(header.shape)
    numbers = _numbers(*parts[0], order) if parts else np.empty(0)
    if len(numbers) != count:
        raise TableError(
            f"{what} declares the shape {header.shape} but holds {len(numbers):,} values; "
            "it is cut short or damaged."
        )
    dtype = np.dtype(bool if header.flags & _LOGICAL else _CLASSES[header.kind])
    check_memory(count * dtype.itemsize, what)
    return numbers.astype(dtype).reshape(header.shape, order="F")


def _numbers(kind: int, payload: memoryview, order: str) -> np.ndarray:
    if kind not in _STORED:
        raise ValueError("values of an unknown type")
    return np.frombuffer(payload, dtype=order + _STORED[kind])
