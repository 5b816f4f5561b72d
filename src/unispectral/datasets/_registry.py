"""The table of data sets, and their files: in folders first, then from a checked download."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from unispectral._compat import optional
from unispectral._files import atomic_path

_VARIABLE = "UNISPECTRAL_DATA"
#: Seconds without an answer after which a server is given up.
_TIMEOUT = 30.0
#: Bytes of a file, unpacked, beyond which it is none of the registered ones; bytes read at once.
_LARGEST, _CHUNK = 2**30, 2**20


@dataclass(frozen=True)
class File:
    """One file of a data set; the sha256 is that of the content, decompressed if it is ``.gz``."""

    name: str
    sha256: str
    url: str


@dataclass(frozen=True)
class DatasetInfo:
    """One row of the registry.

    Attributes
    ----------
    name, title : str
        Short name for `fetch`, and the name in the paper with a word of explanation.
    file : File
        What the paper's version is made from.
    raw_file : File or None
        What the untouched version is made from; None if only the preprocessed one is public.
    description : str
        The preprocessing in words.
    shape, n_classes : (int, int), int
        Samples and features, classes.
    citation, licence : str
        Who made the data, and what is known of the terms of use.
    preparation : str
        ``"file"`` (the file is as the paper uses it), ``"unit rows"`` or ``"tf-idf"``.
    more : tuple of File
        Further files, where the data come in several.
    image_shape : (int, int) or None
        Height and width where the rows are images.
    image_order : {"F", "C"}
        Whether images are stored column by column, as MATLAB does, or row by row.
    target_names : tuple of str
        Names of the classes, where they are known.
    views : dict of str to int
        Names of the views and their columns, where there are several; empty otherwise.
    """

    name: str
    title: str
    file: File
    raw_file: File | None
    description: str
    shape: tuple[int, int]
    n_classes: int
    citation: str
    licence: str
    preparation: str = "file"
    more: tuple[File, ...] = ()
    image_shape: tuple[int, int] | None = None
    image_order: str = "F"
    target_names: tuple[str, ...] = ()
    views: dict[str, int] = field(default_factory=dict)


def _row(entry: dict[str, Any]) -> DatasetInfo:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    file = File(**fields.pop("file"))
    raw = fields.pop("raw_file", None)
    same = fields.pop("raw_is_file", False)
    more = tuple(File(**entry) for entry in fields.pop("more", ()))
    if same:
        raw_file = file
    elif raw:
        raw_file = File(**raw)
    else:
        raw_file = None
    return DatasetInfo(file=file, raw_file=raw_file, more=more, **fields)


_TABLE = resources.files(__package__).joinpath("registry.toml").read_text("utf-8")
DATASETS = {entry["name"]: _row(entry) for entry in tomllib.loads(_TABLE)["dataset"]}


def locate(file: File, data_home: str | os.PathLike[str] | None, download: bool) -> Path:
    """Return the path of a checked copy of the file, fetching it to ``data_home`` if need be.

    A copy with another content raises ValueError, none at all OSError.
    """
    for folder in _folders(data_home):
        path = folder / file.name
        if path.is_file():
            _check(path, file)
            return path
    if not download:
        where = _list_folders(data_home)
        raise FileNotFoundError(
            f"{file.name!r} is not in {where}; put it there, or allow the download."
        )
    return _download(file, data_home)


def cache_folder() -> Path:
    """Return the folder in which downloads are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    try:
        return Path(optional("pooch", extra="data").os_cache("unispectral"))
    except ImportError:  # looking must work without the package that fetches
        return Path(base) / "unispectral"


def _folders(data_home: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Yield the folders in the order of the search; the cache last, since asking for it costs."""
    for folder in (data_home, os.environ.get(_VARIABLE)):
        if folder:
            yield Path(folder).expanduser()
    yield cache_folder()


def _list_folders(data_home: str | os.PathLike[str] | None) -> str:
    return " or ".join(repr(str(folder)) for folder in _folders(data_home))


def _digest(content: Any) -> str:
    """The sha256 of a file; of what is larger than every registered one, that of the beginning."""
    digest = hashlib.sha256()
    for _ in range(_LARGEST // _CHUNK):
        part = content.read(_CHUNK)
        if not part:
            break
        digest.update(part)
    return digest.hexdigest()


def _check(path: Path, file: File, origin: str | None = None) -> None:
    with (gzip.open if file.name.endswith(".gz") else open)(path, "rb") as content:
        try:
            found = _digest(content)
            problem = f"its sha256 begins {found[:12]}, not {file.sha256[:12]}"
        except (EOFError, gzip.BadGzipFile, zlib.error):
            found = None
            problem = "it is not a whole gzip file"
    if found != file.sha256:
        if origin:
            where = f"What {origin} sent"
            remedy = "nothing was kept"
        else:
            where = f"The file {str(path)!r}"
            remedy = "delete it or put the right one there"
        raise ValueError(f"{where} is not the registered {file.name!r}: {problem}; {remedy}.")


def _download(file: File, data_home: str | os.PathLike[str] | None) -> Path:
    if not file.url.startswith("https://"):
        raise ValueError(f"{file.url!r} is not an https address, so it is not fetched.")
    pooch = optional("pooch", extra="data")
    # A redirection could leave https, and none is needed: what it sends fails the checksum.
    fetch = pooch.HTTPDownloader(timeout=_TIMEOUT, allow_redirects=False)
    if data_home is None:
        folder = cache_folder()
    else:
        folder = Path(data_home).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            f"Cannot make the folder {str(folder)!r} for downloads ({error.strerror}); name "
            "another one as data_home."
        ) from error
    target = folder / file.name
    with atomic_path(target) as temporary:
        try:
            fetch(file.url, str(temporary), None)
        except OSError as error:  # the exceptions of requests are OSErrors too
            if error.errno == errno.ENOSPC:
                raise
            raise ConnectionError(
                f"{file.name!r} is not in {_list_folders(data_home)} and could not be fetched "
                f"from {file.url} ({type(error).__name__}); check the network, or put it into "
                "one of these folders."
            ) from error
        _check(temporary, file, origin=file.url)
    return target
