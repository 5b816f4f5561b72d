"""The archive of a saved model: written whole, read with suspicion."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unispectral._files import atomic_path
from unispectral.tables._arrays import read_members
from unispectral.tables._source import Source, TableError

FORMAT = "unispectral-model"
VERSION = 1
MANIFEST = "model.json"
#: A manifest holds names and numbers, never data; one of this size is not ours.
_MANIFEST_BYTES = 2**26
#: What a byte of JSON can become: ``[],`` is a list.
_PER_BYTE = 32
_MEMBER = re.compile(r"[A-Za-z0-9_.]{1,120}\.npy")
_SAVED = "give a file written by save_model"


class ModelFileError(ValueError):
    """A file that is not a saved model, or no longer one; the message says which."""


def write_archive(
    path: str | os.PathLike[str], manifest: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write the manifest and the arrays, whole or not at all."""
    manifest = {"format": FORMAT, "version": VERSION, **manifest}
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
    source = Source(repr(os.fspath(path)), Path(path))
    start = source.head(2)
    if start != b"PK":
        if start:
            what = "is not a saved model of this library"
        else:
            what = "is empty"
        raise ModelFileError(f"{source.name} {what}; {_SAVED}.")
    try:
        with (
            source.reading("is damaged or cut short; fetch or save the model again"),
            source.open() as file,
            zipfile.ZipFile(file) as archive,
        ):
            members = _members(archive, source)
            manifest = _manifest(archive, members.pop(MANIFEST), source)
            arrays = read_members(archive, list(members.values()), source)
    except TableError as error:
        raise ModelFileError(str(error)) from error
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf":
            found = f"{source.name} has an array {name!r} of type {array.dtype}"
            raise ModelFileError(f"{found}; a saved model holds numbers only.")
    return manifest, arrays


def _members(archive: zipfile.ZipFile, source: Source) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename
        if not (name == MANIFEST or _MEMBER.fullmatch(name)) or name in members:
            problem = f"holds a member {name!r:.80} that a saved model cannot hold"
            raise source.error(problem, "it was not written by this library")
        members[name] = info
    if MANIFEST not in members:
        problem = f"is a zip file but no saved model (it has no {MANIFEST})"
        raise source.error(problem, _SAVED)
    return members


def _manifest(archive: zipfile.ZipFile, info: zipfile.ZipInfo, source: Source) -> dict[str, Any]:
    if info.file_size > _MANIFEST_BYTES:
        raise source.error(f"has a {MANIFEST} of {info.file_size} bytes, far too many")
    source.check_memory(_PER_BYTE * info.file_size)
    try:
        manifest = json.loads(archive.read(info).decode(), parse_constant=_no_constant)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise source.error(f"has a {MANIFEST} that is not JSON ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise source.error(f"has a {MANIFEST} that is not of the format {FORMAT!r}", _SAVED)
    version = manifest.get("version")
    if version != VERSION or isinstance(version, bool):
        problem = f"is of format version {version!r:.40}, and this library reads version {VERSION}"
        remedy = f"load it with the version that wrote it ({manifest.get('library')!s:.40})"
        raise source.error(problem, remedy)
    for key in ("params", "fitted"):
        if not isinstance(manifest.get(key), dict):
            raise source.error(f"has a {MANIFEST} without {key!r}")
    return manifest


def _no_constant(name: str) -> float:
    raise json.JSONDecodeError(f"the number {name}", "", 0)
