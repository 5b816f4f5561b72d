"""MATLAB files: numbers and sparse matrices only, parsed here so that sizes are checked first.

Versions 5 to 7.2 are a list of tagged elements, each a matrix or a compressed matrix [1]_; SciPy's
own reader crashes on types that do not exist. Version 7.3 is HDF5. Cells, structures, objects,
functions and text are never parsed.

References
----------
.. [1] The MathWorks, "MAT-File Format", the level 5 format.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import IO

import numpy as np

from unispectral.tables._arrays import Array, checked_sparse
from unispectral.tables._hdf import mat73_variables
from unispectral.tables._source import Source, as_source, listing

_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8"}
_STORED |= {13: "u8"}
_MATRIX, _COMPRESSED = 14, 15  # as MATLAB numbers what an element is
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4"}
_CLASSES |= {14: "i8", 15: "u8", 5: "f8"}
#: The number that MATLAB gives to the class of sparse matrices.
_SPARSE = 5
_OTHER = {1: "cell array", 2: "structure", 3: "object", 4: "text", 16: "function", 17: "object"}
_COMPLEX, _LOGICAL = 0x0800, 0x0200


def read_mat(source: str | os.PathLike[str] | IO[bytes] | Source) -> dict[str, Array]:
    """The numeric and sparse variables of a file that MATLAB 5 or later, Octave or SciPy wrote.

    Full matrices have MATLAB's type (a ``double`` is float64 however it is packed), sparse ones
    are CSR. A TableError says that the file is foreign, damaged, declares more than it can hold,
    or has no numeric variable.
    """
    origin = as_source(source)
    head = origin.head(128)
    if head.startswith(b"MATLAB 7.3 MAT-file"):
        return mat73_variables(origin)
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
    if order is None:
        raise origin.error("is not a MATLAB file of version 5 or later, or is damaged")
    found: dict[str, Array] = {}
    others: dict[str, str] = {}
    with origin.open() as file, origin.reading():
        for kind, payload in _elements(memoryview(file.read())[128:], order):
            name, values = _variable(kind, payload, order, origin)
            (others if isinstance(values, str) else found)[name] = values
    if not found:
        listed = listing([f"{name!r} ({kind})" for name, kind in others.items()] or ["nothing"])
        raise origin.error(f"has no matrix of real numbers; it holds {listed}")
    return found


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


def _variable(
    kind: int, payload: memoryview, order: str, origin: Source
) -> tuple[str, Array | str]:
    """Name of a variable, and its values or what it is instead of numbers."""
    if kind == _COMPRESSED:
        payload = _unpack(payload, order, origin)
    elif kind != _MATRIX:
        raise ValueError("no variable")
    if not len(payload):
        return "", "empty variable"
    parts = _elements(payload, order)
    first, extents, label = (part for _, part in islice(parts, 3))
    flags = int(np.frombuffer(first, dtype=f"{order}u4")[0])
    shape = np.frombuffer(extents, dtype=f"{order}i4").tolist()
    name = bytes(label).decode("utf-8", "replace")
    if len(shape) < 2 or min(shape) < 0:
        raise ValueError("impossible dimensions")
    kind = flags & 0xFF
    if kind not in _CLASSES:
        return name, _OTHER.get(kind, "variable of unknown kind")
    if flags & _COMPLEX:
        return name, "matrix of complex numbers"
    part = origin.part(f"variable {name!r}")
    dtype = np.dtype(bool if flags & _LOGICAL else _CLASSES[kind])
    arrays = [np.frombuffer(body, order + _STORED[code]) for code, body in islice(parts, 3)]
    if kind == _SPARSE:
        indices, starts, data = arrays
        shape = [shape[0], math.prod(shape[1:])]
        return name, checked_sparse((data.astype(dtype), indices, starts), shape, "csc", part)
    values = arrays[0] if arrays else np.empty(0)
    if len(values) != math.prod(shape):
        problem = f"declares the shape {tuple(shape)} but holds {len(values):,} values"
        raise part.error(problem, "it is cut short or damaged")
    part.check_memory(len(values) * dtype.itemsize)
    return name, values.astype(dtype).reshape(shape, order="F")


def _unpack(payload: memoryview, order: str, source: Source) -> memoryview:
    """Inflate a compressed matrix, never beyond its own tag."""
    stream = zlib.decompressobj()
    kind, size = np.frombuffer(stream.decompress(payload, 8), dtype=f"{order}u4").tolist()
    if kind != _MATRIX:
        raise ValueError("no matrix in the compressed element")
    source.check_inflation(size, len(payload))
    source.check_memory(size)
    body = stream.decompress(stream.unconsumed_tail, size) if size else b""
    if len(body) < size:
        raise ValueError("compressed element cut short")
    return memoryview(body)
