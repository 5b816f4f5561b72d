"""The archive of a saved model: written whole, read with suspicion."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import struct
import textwrap
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from unispectral._files import atomic_path
from unispectral._memory import available_memory

__all__ = ["ModelFileError", "read_archive", "write_archive"]

FORMAT = "unispectral-model"
VERSION = 1
MANIFEST = "model.json"
#: A manifest holds names and numbers, never data; one of this size is not ours.
_MANIFEST_BYTES = 2**26
_MEMBER = re.compile(r"[A-Za-z0-9_.]{1,120}")


class ModelFileError(ValueError):
    """A file that is not a saved model, or no longer one; the message says which."""


def write_archive(
    path: str | os.PathLike[str], manifest: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write the manifest and the arrays, whole or not at all."""
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        **manifest,
        "arrays": {
            name: {"dtype": array.dtype.str, "shape": list(array.shape)}
            for name, array in arrays.items()
        },
    }
    text = json.dumps(manifest, allow_nan=False, ensure_ascii=False, indent=1)
    with (
        atomic_path(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        # Members opened by name carry no date: the same model is the same file.
        with archive.open(MANIFEST, "w") as member:
            member.write(text.encode())
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read manifest and arrays, or say in one sentence why this is no saved model."""
    shown = repr(os.fspath(path))
    try:
        with open(path, "rb") as file:
            return _read(file, shown)
    except (
        zipfile.BadZipFile, zlib.error, EOFError, struct.error, OSError, OverflowError
    ) as error:  # fmt: skip
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise  # no such file, no right to it; a place before its start is damage
        why = textwrap.shorten(str(error), 120, placeholder=" …")
        raise ModelFileError(
            f"{shown} is damaged or cut short ({why}); fetch or save the model again."
        ) from error
    except NotImplementedError as error:  # zipfile: encrypted, or a compression of its future
        raise ModelFileError(f"{shown} is not a saved model of this library ({error}).") from error


def _read(file: IO[bytes], shown: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    start = file.read(4)
    if not start.startswith(b"PK"):
        what = "is empty" if not start else "is not a saved model of this library"
        raise ModelFileError(f"{shown} {what}; give a file written by save_model.")
    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        members = _members(archive, shown)
        if MANIFEST not in members:
            raise ModelFileError(
                f"{shown} is a zip file but no saved model (it has no {MANIFEST}); "
                "give a file written by save_model."
            )
        manifest = _manifest(archive, members[MANIFEST], shown)
        declared = manifest["arrays"]
        found = {name.removesuffix(".npy") for name in members if name != MANIFEST}
        if found != set(declared):
            odd = sorted(found ^ set(declared))[0]
            raise ModelFileError(
                f"{shown} has been changed: the array {odd!r:.80} is either missing or not in the "
                f"list of {MANIFEST}."
            )
        _check_size(members.values(), shown)
        arrays = {
            name: _array(archive, members[f"{name}.npy"], declared[name], shown)
            for name in declared
        }
    return manifest, arrays


def _members(archive: zipfile.ZipFile, shown: str) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename
        wanted = name == MANIFEST or (name.endswith(".npy") and _MEMBER.fullmatch(name))
        if not wanted or name in members or info.flag_bits & 1:
            raise ModelFileError(
                f"{shown} holds a member {name!r} that a saved model cannot hold; "
                "it was not written by this library."
            )
        members[name] = info
    return members


def _manifest(archive: zipfile.ZipFile, info: zipfile.ZipInfo, shown: str) -> dict[str, Any]:
    if info.file_size > _MANIFEST_BYTES:
        raise ModelFileError(f"{shown} has a {MANIFEST} of {info.file_size} bytes, far too many.")
    try:
        manifest = json.loads(archive.read(info).decode(), parse_constant=_no_constant)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ModelFileError(f"{shown} has a {MANIFEST} that is not JSON ({error}).") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFileError(
            f"{shown} has a {MANIFEST} that is not of the format {FORMAT!r}; "
            "give a file written by save_model."
        )
    version = manifest.get("version")
    if version != VERSION or isinstance(version, bool):
        raise ModelFileError(
            f"{shown} is of format version {version!r}, and this library reads version "
            f"{VERSION}; load it with the library that wrote it "
            f"(unispectral {manifest.get('library')!s:.40})."
        )
    for key in ("params", "fitted", "arrays"):
        if not isinstance(manifest.get(key), dict):
            raise ModelFileError(f"{shown} has a {MANIFEST} without {key!r}.")
    return manifest


def _no_constant(name: str) -> float:
    raise json.JSONDecodeError(f"the number {name}", "", 0)


def _check_size(members: Any, shown: str) -> None:
    needed = sum(info.file_size for info in members)
    free = available_memory()
    if free is not None and needed > free:
        raise ModelFileError(
            f"{shown} says that it holds {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB of memory "
            "are free; it is too large for this machine, or has been tampered with."
        )


def _array(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, declared: Any, shown: str
) -> np.ndarray:
    """One array, if header, size of the member and manifest tell the same story."""
    with archive.open(info) as member:
        try:
            shape, fortran, dtype = _header(member)
            consistent = declared == {"dtype": dtype.str, "shape": list(shape)}
        except (ValueError, TypeError, KeyError, OverflowError, SyntaxError) as error:
            raise ModelFileError(
                f"{shown} has a member {info.filename!r} that is not an array ({error})."
            ) from error
        if dtype.hasobject or dtype.kind not in "biuf" or dtype.names is not None:
            raise ModelFileError(
                f"{shown} has an array {info.filename!r} of type {dtype}; "
                "a saved model holds numbers only."
            )
        count = 1
        for length in shape:  # Python's integers do not overflow
            count *= length
        size = count * dtype.itemsize
        if not consistent or min(shape, default=0) < 0 or size != info.file_size - member.tell():
            raise ModelFileError(
                f"{shown} has been changed: the array {info.filename!r} is not of the type and "
                f"shape that {MANIFEST} lists."
            )
        content = bytearray(size)
        _fill(member, content)
    flat = np.frombuffer(content, dtype=dtype, count=count)
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    # The header may be at most 10 kB, which is NumPy's own limit for untrusted files.
    version = np.lib.format.read_magic(member)
    if version != (1, 0):  # later ones are for the names of fields
        raise ValueError(f"NumPy format {version}")
    return np.lib.format.read_array_header_1_0(member)


def _fill(member: IO[bytes], content: bytearray) -> None:
    view = memoryview(content)
    while len(view):
        got = member.read(min(len(view), io.DEFAULT_BUFFER_SIZE * 128))
        if not got:
            raise EOFError("the data end too early")
        view[: len(got)] = got
        view = view[len(got) :]
    member.read(1)  # the end, at which zipfile checks the checksum
