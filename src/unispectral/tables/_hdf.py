"""HDF5 files, read without trust: own data only, sizes checked before anything is allocated.

The HDF5 library, which is written in C, can crash or loop for ever on a damaged file, most of all
in text of variable length. A child process goes through the file first; what kills the child, or
keeps it longer than any honest file would, is not opened here.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from unispectral._compat import optional
from unispectral.tables._arrays import Array, checked_sparse
from unispectral.tables._source import Source

__all__ = ["check_own", "checked_dataset", "mat73_variables", "matrix_names", "member", "open_hdf"]

_PATIENCE = 20.0  # seconds, of which a second is the start of the interpreter
_BYTES_PER_SECOND = 10e6

# It leaves out what the reader refuses anyway: links, values in other files, claims without bytes.
_TRIAL = """
import io, sys
import h5py

def walk(group, parts, values):
    dict(group.attrs)
    for name in parts or group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        member = group[name]
        if isinstance(member, h5py.Group):
            walk(member, [], values)
            continue
        dict(member.attrs)
        if not isinstance(member, h5py.Dataset) or member.is_virtual or member.external:
            continue
        stored = member.id.get_storage_size()
        if not values or not member.shape or member.nbytes > 1032 * stored + 65536:
            continue
        step = max(1, 2**22 * member.shape[0] // max(1, member.nbytes))
        for start in range(0, member.shape[0], step):
            member[start : start + step]

try:
    path, values, *parts = sys.argv[1:]
    origin = io.BytesIO(sys.stdin.buffer.read()) if path == "-" else path
    with h5py.File(origin, "r") as file:
        walk(file, parts, values == "values")
except Exception:
    pass
"""


@contextlib.contextmanager
def open_hdf(source: Source, *, parts: tuple[str, ...] = (), values: bool = True) -> Iterator[Any]:
    """Open an HDF5 file after a trial; whatever the C library trips over becomes one sentence.

    `parts` are the entries at the top that will be read (none: all); with ``values=False`` only
    names, shapes and attributes are.
    """
    h5py = optional("h5py", extra="io")
    _try_in_child(source, parts, values)
    with contextlib.ExitStack() as stack:
        with source.reading("is not an HDF5 file, or is damaged"):
            file = stack.enter_context(h5py.File(source.path or source.open(), "r"))
        with source.reading("cannot be read as HDF5: it is damaged"):
            yield file


def _try_in_child(source: Source, parts: tuple[str, ...], values: bool) -> None:
    path = "-" if source.path is None else str(source.path.absolute())
    command = [sys.executable, "-I", "-c", _TRIAL, path, "values" if values else "names", *parts]
    silent: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    limit = _PATIENCE + source.size / _BYTES_PER_SECOND
    try:
        ended = subprocess.run(command, input=source.content, timeout=limit, **silent)
    except subprocess.TimeoutExpired as error:
        raise source.error("is damaged: reading it does not end") from error
    if ended.returncode:
        raise source.error("is damaged: reading it crashes the HDF5 library")


def member(group: Any, name: str, source: Source) -> Any:
    """Follow a path inside the file; links, which may lead into other files, are refused."""
    h5py = optional("h5py", extra="io")
    found = group
    for part in name.strip("/").split("/"):
        link = found.get(part, getlink=True) if isinstance(found, h5py.Group) else None
        if link is None:
            raise source.error(f"has no entry {name!r}")
        if not isinstance(link, h5py.HardLink):
            raise source.error(f"has a link at {name!r}, and links are not followed")
        found = found[part]
    return found


def check_own(entry: Any, source: Source) -> None:
    """Refuse what lies in another file, here or in any entry below."""
    if getattr(entry, "is_virtual", False) or getattr(entry, "external", None):
        raise source.error("keeps its values in another file, which is not followed")
    if not hasattr(entry, "is_virtual"):
        for name in entry:
            check_own(member(entry, str(name), source), source)


def checked_dataset(group: Any, name: str, source: Source, *, whole: bool = True) -> Any:
    """Return a data set of real numbers whose values lie in this file and can be held.

    With ``whole=False`` it will be read in blocks, so its size is not held against memory.
    """
    dataset = member(group, name, source)
    if not hasattr(dataset, "is_virtual"):
        raise source.error("is a group, not a data set")
    check_own(dataset, source)
    if dataset.dtype.kind not in "biuf":
        raise source.error(f"holds values of type {dataset.dtype}, not numbers")
    if whole:
        if dataset.chunks is None or dataset.compression in (None, "gzip", "lzf", "szip"):
            source.check_inflation(dataset.nbytes, dataset.id.get_storage_size())
        source.check_memory(dataset.size * max(8, dataset.dtype.itemsize))
    return dataset


def matrix_names(file: Any) -> list[str]:
    """Names of all data sets of real numbers with two dimensions."""
    found: list[str] = []

    def visit(name: str, entry: Any) -> None:
        if hasattr(entry, "is_virtual") and entry.ndim == 2 and entry.dtype.kind in "biuf":
            found.append(name)

    file.visititems(visit)
    return found


def mat73_variables(source: Source, names: list[str] | None) -> dict[str, Array]:
    """Read the numeric and sparse variables of a MATLAB file of version 7.3."""
    found: dict[str, Array] = {}
    with open_hdf(source) as file:
        for name in [str(key) for key in file] if names is None else names:
            part = source.part(f"variable {name!r}")
            entry = member(file, name, part)
            if "MATLAB_sparse" in entry.attrs:
                found[name] = _mat73_sparse(entry, part)
            elif _is_numeric(entry):
                # MATLAB is column-major and HDF5 row-major: the stored array is the transpose
                found[name] = checked_dataset(file, name, part)[()].T
            elif names is not None:
                raise part.error("is not a matrix of real numbers")
    if not found:
        raise source.error("has no matrix of real numbers")
    return found


def _is_numeric(entry: Any) -> bool:
    label = entry.attrs.get("MATLAB_class", b"double")
    label = label.decode("ascii", "replace") if isinstance(label, bytes) else str(label)
    return (
        hasattr(entry, "dtype")
        and entry.dtype.kind in "biuf"
        and label not in ("char", "cell", "struct", "function_handle")
        and "MATLAB_empty" not in entry.attrs
    )


def _mat73_sparse(group: Any, source: Source) -> Array:
    starts = checked_dataset(group, "jc", source)[()]
    data, indices = np.empty(0), np.empty(0, int)
    if "data" in group:  # MATLAB leaves the values of an empty matrix out
        data, indices = (checked_dataset(group, part, source)[()] for part in ("data", "ir"))
    shape = (int(group.attrs["MATLAB_sparse"]), len(starts) - 1)
    return checked_sparse((data, indices, starts), shape, "csc", source)
