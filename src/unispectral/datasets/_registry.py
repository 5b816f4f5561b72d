"""The table of data sets, read from ``registry.toml``: files, origins, shapes, sources."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

__all__ = ["DATASETS", "DatasetInfo", "File"]


@dataclass(frozen=True)
class File:
    """One file of a data set; the sha256 is that of the content, decompressed if it is ``.gz``.

    Examples
    --------
    >>> DATASETS["yale"].file.name
    'YALE_165n_1024d_15c_zscore_uni.mat'
    """

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


def _read() -> dict[str, DatasetInfo]:
    text = resources.files(__package__).joinpath("registry.toml").read_text("utf-8")
    return {entry["name"]: _row(entry) for entry in tomllib.loads(text)["dataset"]}


def _row(entry: dict[str, Any]) -> DatasetInfo:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    file, raw = File(**fields.pop("file")), fields.pop("raw_file", None)
    same = fields.pop("raw_is_file", False)
    more = tuple(File(**entry) for entry in fields.pop("more", ()))
    raw_file = file if same else File(**raw) if raw else None
    return DatasetInfo(file=file, raw_file=raw_file, more=more, **fields)


DATASETS = _read()
