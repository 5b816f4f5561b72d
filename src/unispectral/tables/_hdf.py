"""HDF5 files, read without trust: own data only, sizes checked before anything is allocated."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from unispectral._compat import optional
from unispectral.tables._arrays import Array, checked_sparse
from unispectral.tables._limits import TableError, check_inflation, check_memory
from unispectral.tables._probe import probe
from unispectral.tables._source import Source

__all__ = [
    "check_own",
    "dataset_checked",
    "has_member",
    "mat73_variables",
    "numeric_datasets",
    "open_hdf",
    "own_member",
]

_MATRIX = 2


@contextlib.contextmanager
def open_hdf(source: Source, *, parts: tuple[str, ...] = (), values: bool = True) -> Iterator[Any]:
    """Open an HDF5 file after a trial; whatever the C library trips over becomes one sentence.

    `parts` and `values` say what of it will be read, as `probe` takes them.
    """
    h5py = optional("h5py", extra="io")
    probe(source, parts=parts, values=values)
    with contextlib.ExitStack() as stack:
        try:
            origin = source.path if source.path is not None else stack.enter_context(source.open())
            file = stack.enter_context(h5py.File(origin, "r"))
        except Exception as error:  # the bindings do not keep to OSError
            raise TableError(f"{source.name} is not an HDF5 file, or is damaged.") from error
        try:
            yield file
        except (TableError, ImportError, MemoryError):
            raise
        except Exception as error:  # damage shows in the bindings as an error of any kind
            raise TableError(f"{source.name} cannot be read as HDF5: it is damaged.") from error


def own_member(group: Any, name: str, what: str) -> Any:
    """Follow a path inside the file; links, which may lead into other files, are refused."""
    h5py = optional("h5py", extra="io")
    member = group
    for part in name.strip("/").split("/"):
        link = member.get(part, getlink=True) if isinstance(member, h5py.Group) else None
        if link is None:
            raise TableError(f"{what} has no entry {name!r}.")
        if not isinstance(link, h5py.HardLink):
            raise TableError(f"{what} has a link at {name!r}, and links are not followed.")
        member = member[part]
    return member


def has_member(group: Any, name: str) -> bool:
    """Tell whether there is an entry, without following it anywhere."""
    try:
        return group.get(name, getlink=True) is not None
    except (KeyError, ValueError):
        return False


def check_own(group: Any, what: str) -> None:
    """Refuse a group if anything in it is a link or lies in another file."""
    h5py = optional("h5py", extra="io")
    for name in group:
        member = own_member(group, str(name), what)
        if isinstance(member, h5py.Group):
            check_own(member, what)
        elif member.is_virtual or member.external:
            raise TableError(f"{what} keeps its values in another file, which is not followed.")


def dataset_checked(dataset: Any, what: str, *, whole: bool = True) -> Any:
    """Return a data set of real numbers whose values lie in this file and can be held.

    With ``whole=False`` it will be read in blocks, so its size is not held against memory.
    """
    if not hasattr(dataset, "is_virtual"):
        raise TableError(f"{what} is a group, not a data set.")
    if dataset.is_virtual or dataset.external:
        raise TableError(f"{what} keeps its values in another file, which is not followed.")
    if dataset.dtype.kind not in "biuf":
        raise TableError(f"{what} holds values of type {dataset.dtype}, not numbers.")
    if whole:
        declared = dataset.size * dataset.dtype.itemsize
        if dataset.chunks is None or dataset.compression in (None, "gzip", "lzf", "szip"):
            check_inflation(declared, dataset.id.get_storage_size(), what)
        check_memory(dataset.size * max(8, dataset.dtype.itemsize), what)
    return dataset


def numeric_datasets(file: Any) -> list[str]:
    """Names of all data sets of real numbers with two dimensions."""
    h5py = optional("h5py", extra="io")
    found: list[str] = []

    def visit(name: str, entry: Any) -> None:
        if (
            isinstance(entry, h5py.Dataset)
            and entry.ndim == _MATRIX
            and entry.dtype.kind in "biuf"
        ):
            found.append(name)

    file.visititems(visit)
    return found


def mat73_variables(source: Source, names: list[str] | None) -> dict[str, Array]:
    """Read the numeric and sparse variables of a MATLAB file of version 7.3."""
    h5py = optional("h5py", extra="io")
    found: dict[str, Array] = {}
    with open_hdf(source) as file:
        for name in [str(key) for key in file] if names is None else names:
            what = f"{source.name}, variable {name!r},"
            entry = own_member(file, name, what)
            if isinstance(entry, h5py.Group) and "MATLAB_sparse" in entry.attrs:
                found[name] = _mat73_sparse(entry, what)
            elif isinstance(entry, h5py.Dataset) and _is_numeric(entry):
                # MATLAB is column-major and HDF5 row-major: the stored array is the transpose
                found[name] = dataset_checked(entry, what)[()].T
            elif names is not None:
                raise TableError(f"{what} is not a matrix of real numbers.")
    if not found:
        raise TableError(f"{source.name} has no matrix of real numbers.")
    return found


def _is_numeric(entry: Any) -> bool:
    label = entry.attrs.get("MATLAB_class", b"double")
    label = label.decode("ascii", "replace") if isinstance(label, bytes) else str(label)
    return (
        entry.dtype.kind in "biuf"
        and label not in ("char", "cell", "struct", "function_handle")
        and "MATLAB_empty" not in entry.attrs
    )


def _mat73_sparse(group: Any, what: str) -> Array:
    rows = int(group.attrs["MATLAB_sparse"])
    starts = dataset_checked(own_member(group, "jc", what), what)[()]
    if "data" not in group:  # MATLAB leaves the values of an empty matrix out
        return checked_sparse(
            np.empty(0), np.empty(0, int), starts, (rows, len(starts) - 1), "csc", what
        )
    values = dataset_checked(own_member(group, "data", what), what)[()]
    indices = dataset_checked(own_member(group, "ir", what), what)[()]
    return checked_sparse(values, indices, starts, (rows, len(starts) - 1), "csc", what)
