"""HDF5 files, read without trust: own data only, sizes checked before anything is allocated.

The HDF5 library, which is written in C, can crash or loop for ever on a damaged file, most of all
in text of variable length, and a few bytes can refer to one large text a million times. A child
process goes through the file first, with limits of time and memory; what kills the child, or keeps
it longer or makes it larger than any honest file would, is not opened here.
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

#: Seconds that the trial may take, of which one is the start of the interpreter, and bytes of
#: the file for each second more.
_PATIENCE = 20.0
_BYTES_PER_SECOND = 10e6
#: Memory of the child, and text of variable length, that any file may come to; more with its size.
_MEMORY, _PER_BYTE = 2**30, 32
_TOO_MUCH = 3  # what the child returns then
_NO_NUMBERS = ("char", "cell", "struct", "function_handle")  # classes of MATLAB

# It leaves out what the reader does not read, such as text where no parts are named, or refuses
# anyway: links, values in other files, claims without bytes.
_TRIAL = """
import io, sys
import h5py

def limit(most):
    try:
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (ImportError, OSError, ValueError):
        pass  # not on this system; the time is limited all the same

def count_text(member, most):
    # Each row may refer to text of any length, however little it stores itself.
    found = 0
    for start in range(0, member.shape[0], 64):
        part = member[start : start + 64]
        flat = part.ravel().tolist()
        found += sum(len(one) if hasattr(one, "__len__") else 8 for one in flat)
        if found > most:
            raise MemoryError
    return found

def walk(group, parts):
    global text
    dict(group.attrs)
    for name in parts or group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        member = group[name]
        if isinstance(member, h5py.Group):
            walk(member, [])
            continue
        dict(member.attrs)
        if not isinstance(member, h5py.Dataset) or member.is_virtual or member.external:
            continue
        stored = member.id.get_storage_size()
        if not member.shape or member.nbytes > 1032 * stored + 65536:
            continue
        if member.dtype.hasobject:
            if texts:
                text += count_text(member, room - text)
            continue
        step = max(1, 2**22 * member.shape[0] // max(1, member.nbytes))
        for start in range(0, member.shape[0], step):
            member[start : start + step]

text = 0
try:
    memory, path, *parts = sys.argv[1:]
    room, texts = int(memory) // 4, bool(parts)
    origin = io.BytesIO(sys.stdin.buffer.read()) if path == "-" else path
    limit(int(memory))
    with h5py.File(origin, "r") as file:
        walk(file, parts)
except MemoryError:
    sys.exit(3)
except Exception as error:
    if "alloc" in str(error):
        sys.exit(3)
"""


@contextlib.contextmanager
def open_hdf(source: Source, parts: tuple[str, ...] = ()) -> Iterator[Any]:
    """Open an HDF5 file after a trial; whatever the C library trips over becomes one sentence.

    `parts` are the entries at the top that will be read (none: all).
    """
    h5py = optional("h5py", extra="io")
    path = "-" if source.path is None else str(source.path.absolute())
    memory = _MEMORY + _PER_BYTE * source.size
    command = [sys.executable, "-I", "-c", _TRIAL, str(memory), path, *parts]
    silent: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    limit = _PATIENCE + source.size / _BYTES_PER_SECOND
    try:
        ended = subprocess.run(command, input=source.content, timeout=limit, **silent)
    except subprocess.TimeoutExpired as error:
        raise source.error("is damaged: reading it does not end") from error
    if ended.returncode == _TOO_MUCH:
        problem = f"stores {source.size:,} bytes but needs more than {memory / 2**30:,.1f} GiB"
        raise source.error(problem, "the file is damaged or hostile")
    if ended.returncode:
        raise source.error("is damaged: reading it crashes the HDF5 library")
    with contextlib.ExitStack() as stack:
        with source.reading("is not an HDF5 file, or is damaged"):
            file = stack.enter_context(h5py.File(source.path or source.open(), "r"))
        with source.reading("cannot be read as HDF5: it is damaged"):
            yield file


def _is_dataset(entry: object) -> bool:
    return hasattr(entry, "is_virtual")


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
    """Refuse what lies in another file or cannot be held, here or in any entry below."""
    if not _is_dataset(entry):
        for name in entry:
            check_own(member(entry, str(name), source), source)
        return
    if entry.is_virtual or entry.external:
        raise source.error("keeps its values in another file, which is not followed")
    if entry.chunks is None or entry.compression in (None, "gzip", "lzf", "szip"):
        source.check_inflation(entry.nbytes, entry.id.get_storage_size())
    source.check_memory(entry.size * max(8, entry.dtype.itemsize))


def read_numbers(group: object, name: str, source: Source) -> np.ndarray:
    """The values of a data set of real numbers that lie in this file and can be held."""
    dataset = member(group, name, source)
    if not _is_dataset(dataset):
        raise source.error("is a group, not a data set")
    if dataset.dtype.kind not in "biuf":
        raise source.error(f"holds values of type {dataset.dtype}, not numbers")
    check_own(dataset, source)
    return dataset[()]


def matrix_names(file: Any) -> list[str]:
    """Names of all data sets of real numbers with two dimensions."""
    found: list[str] = []

    def visit(name: str, entry: Any) -> None:
        if _is_dataset(entry) and entry.ndim == 2 and entry.dtype.kind in "biuf":
            found.append(name)

    file.visititems(visit)
    return found


def mat73_variables(source: Source) -> dict[str, Array]:
    """Read the numeric and sparse variables of a MATLAB file of version 7.3."""
    found: dict[str, Array] = {}
    with open_hdf(source) as file:
        for name in map(str, file):
            part = source.part(f"variable {name!r}")
            entry = member(file, name, part)
            label = entry.attrs.get("MATLAB_class", b"double")
            label = label.decode("ascii", "replace") if isinstance(label, bytes) else str(label)
            numeric = _is_dataset(entry) and entry.dtype.kind in "biuf"
            if "MATLAB_sparse" in entry.attrs:
                found[name] = _mat73_sparse(entry, part)
            elif numeric and label not in _NO_NUMBERS and "MATLAB_empty" not in entry.attrs:
                # MATLAB is column-major and HDF5 row-major: the stored array is the transpose
                found[name] = read_numbers(file, name, part).T
    if not found:
        raise source.error("has no matrix of real numbers")
    return found


def _mat73_sparse(group: Any, source: Source) -> Array:
    starts = read_numbers(group, "jc", source)
    data, indices = np.empty(0), np.empty(0, int)
    if "data" in group:  # MATLAB leaves the values of an empty matrix out
        data, indices = (read_numbers(group, part, source) for part in ("data", "ir"))
    shape = (int(group.attrs["MATLAB_sparse"]), len(starts) - 1)
    return checked_sparse((data, indices, starts), shape, "csc", source)
