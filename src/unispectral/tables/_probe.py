"""A trial reading of an HDF5 file in a process of its own.

The HDF5 library, which is written in C, can crash or loop for ever on a damaged file, most of all
in text of variable length. A child process goes through the file first; what kills the child, or
keeps it longer than any honest file would, is not opened here.
"""

from __future__ import annotations

import subprocess
import sys

from unispectral.tables._limits import TableError
from unispectral.tables._source import Source

__all__ = ["probe"]

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


def probe(source: Source, *, parts: tuple[str, ...] = (), values: bool = True) -> None:
    """Refuse a file that would take this process down.

    Parameters
    ----------
    source : Source
        The file.
    parts : tuple of str
        Entries at the top to go through; none means all.
    values : bool, default=True
        Whether to read the values too, or names, shapes and attributes only.

    Raises
    ------
    TableError
        If the trial crashes or does not come to an end.

    Examples
    --------
    >>> probe(Source("standard input", None, b"not HDF5"))
    """
    path = "-" if source.path is None else str(source.path.absolute())
    arguments = [path, "values" if values else "names", *parts]
    try:
        ended = subprocess.run(
            [sys.executable, "-I", "-c", _TRIAL, *arguments],
            input=source.content if source.path is None else b"",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE + source.size / _BYTES_PER_SECOND,
        )
    except subprocess.TimeoutExpired as error:
        raise TableError(f"{source.name} is damaged: reading it does not end.") from error
    if ended.returncode:
        raise TableError(f"{source.name} is damaged: reading it crashes the HDF5 library.")
