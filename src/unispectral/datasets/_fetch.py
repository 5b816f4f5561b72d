"""From a file of the registry to the matrix and the labels."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from sklearn.utils import Bunch

from unispectral._errors import InputError
from unispectral.datasets._registry import DATASETS, DatasetInfo, locate
from unispectral.tables._mat import read_mat


def list_datasets() -> list[str]:
    """Return the names that `fetch` knows.

    Examples
    --------
    >>> list_datasets()[:3]
    ['yale', 'jaffe', 'orl']
    """
    return list(DATASETS)


def dataset_info(name: str) -> DatasetInfo:
    """Return the registry's row: files, origin, checksums, shape, citation, licence.

    Examples
    --------
    >>> dataset_info("tdt2").n_classes
    30
    """
    try:
        return DATASETS[name.lower()]
    except (KeyError, AttributeError):
        known = ", ".join(DATASETS)
        raise InputError("name", f"must be one of {known}, but is {name!r}") from None


def fetch(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    raw: bool = False,
    download: bool = True,
) -> Bunch:
    """Return one of the paper's data sets as the paper uses it, MNIST, or one of several views.

    The file is looked for in `data_home`, in the folder named by the environment variable
    ``UNISPECTRAL_DATA`` and in the cache; failing that it is downloaded over https, and kept.
    Every copy is held against the registered sha256.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    data_home : path-like, default=None
        Folder to look in first, and to download to. None downloads to the user's cache.
    raw : bool, default=False
        Return the data without the paper's preprocessing.
    download : bool, default=True
        Whether the network may be used.

    Returns
    -------
    sklearn.utils.Bunch
        ``data`` (float64, CSR for text; float32 for MNIST), ``target`` (0 … c-1),
        ``target_names``, ``name``, ``DESCR``, ``image_shape`` (height and width, or None),
        ``images`` (samples × height × width, or None) and ``frame`` (always None). Sets of
        several views have ``views``, a dict of arrays, in the place of ``data``.

    Raises
    ------
    ValueError
        If the name is unknown, a copy has the wrong content, or the raw data are not public.
    OSError
        If there is no copy and none could be fetched.

    Examples
    --------
    >>> from unispectral.datasets import fetch
    >>> fetch("yale").data.shape  # doctest: +SKIP
    (165, 1024)
    """
    row = dataset_info(name)
    if raw:
        file = row.raw_file
    else:
        file = row.file
    if file is None:
        problem = f"is not possible for {row.name!r}: only its preprocessed file is public"
        raise InputError("raw", problem, value=True)
    paths = [locate(part, data_home, download) for part in (file, *row.more)]
    if row.views:
        return _fetch_views(paths[0], row)
    if row.more:
        data, target = _read_idx(paths)
    else:
        data, target = _read_mat(paths[0], row)
    sizes = data.shape, len(target), len(np.unique(target))
    if sizes != (row.shape, row.shape[0], row.n_classes):
        raise ValueError(f"The file of {row.name!r} does not hold what the registry says.")
    if not raw and row.preparation != "file":
        data = {"unit rows": normalize, "tf-idf": tf_idf}[row.preparation](data)
    images = None
    if row.image_shape is not None and row.image_order == "C":
        images = data.reshape(-1, *row.image_shape)
    elif row.image_shape is not None:  # MATLAB wrote them column by column
        images = data.reshape(-1, *row.image_shape[::-1]).transpose(0, 2, 1)
    return Bunch(
        data=data,
        target=target,
        target_names=np.array(row.target_names or [str(i + 1) for i in range(row.n_classes)]),
        name=row.name,
        DESCR=_describe(row, raw),
        image_shape=row.image_shape,
        images=images,
        frame=None,
    )


def _fetch_views(path: Path, row: DatasetInfo) -> Bunch:
    """A set of several views, from a file whose checksum has been looked at."""
    tables, target = read_views(path)
    widths = [table.shape[1] for table in tables]
    sizes = len(target), len(np.unique(target)), widths
    if sizes != (row.shape[0], row.n_classes, list(row.views.values())):
        raise ValueError(f"The file of {row.name!r} does not hold what the registry says.")
    return Bunch(
        views=dict(zip(row.views, tables, strict=True)),
        target=target,
        target_names=np.array(row.target_names or [str(i + 1) for i in range(row.n_classes)]),
        name=row.name,
        DESCR=_describe(row, raw=False),
        frame=None,
    )


def read_views(path: Path) -> tuple[list[Any], np.ndarray]:
    """The views of a MATLAB file, samples in rows, and the classes as numbers from 0.

    A cell of matrices called ``X``, ``data`` or ``fea``, and labels called ``Y``, ``y``, ``truth``
    or ``truelabel``. Only for files whose content is known: SciPy's reader trusts what it reads.
    """
    import scipy.io

    variables = scipy.io.loadmat(path)
    cell = next(variables[name] for name in ("X", "data", "fea") if name in variables)
    names = ("Y", "y", "truth", "truelabel")
    labels = next(variables[name] for name in names if name in variables)
    while labels.dtype == object:
        labels = labels.ravel()[0]
    target = np.unique(labels.ravel(), return_inverse=True)[1].astype(np.int64)
    tables = []
    for table in cell.ravel():
        if table.shape[0] == len(target):
            rows = table
        else:
            rows = table.T
        if sp.issparse(rows):
            rows = rows.toarray()
        else:
            rows = np.ascontiguousarray(rows)
        tables.append(rows.astype(np.float64))
    return tables, target


def _read_mat(path: Path, row: DatasetInfo) -> tuple[Any, np.ndarray]:
    variables = read_mat(path)
    if "fea" in variables:  # TDT2: the topic and the date stand behind the words
        everything = variables["fea"]
        data = everything[:, : row.shape[1]]
        labels = everything[:, [row.shape[1]]].toarray().ravel()
    else:
        data = variables["X"]
        labels = np.asarray(variables["y"]).ravel()
    if sp.issparse(data):
        data = sp.csr_array(data)
    else:
        data = np.ascontiguousarray(data)
    # As stored, pixels are bytes whose products overflow.
    return data.astype(np.float64), np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _read_idx(paths: list[Path]) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels in turn, each a gzipped array of bytes behind a header of its shape."""
    arrays = []
    for path in paths:
        content = gzip.decompress(path.read_bytes())
        start = 4 + 4 * content[3]
        shape = np.frombuffer(content[4:start], dtype=">i4")
        arrays.append(np.frombuffer(content, np.uint8, offset=start).reshape(shape))
    images = np.concatenate(arrays[::2])
    data = images.reshape(len(images), -1).astype(np.float32)
    return data, np.concatenate(arrays[1::2]).astype(np.int64)


def tf_idf(counts: sp.csr_array) -> sp.csr_array:
    """Weight word counts by (1 + ln tf) · ln(N/df) and scale every document to length 1.

    Words that are in all documents, or in none, carry no weight.
    """
    weights = sp.csr_array(counts, dtype=np.float64, copy=True)
    weights.eliminate_zeros()
    documents = np.bincount(weights.indices, minlength=weights.shape[1])
    rarity = np.log(weights.shape[0] / np.maximum(documents, 1))
    weights.data = (1.0 + np.log(weights.data)) * rarity[weights.indices]
    weights.eliminate_zeros()
    return sp.csr_array(normalize(weights))


def _describe(row: DatasetInfo, raw: bool) -> str:
    if row.image_shape:
        kind = f", images of {row.image_shape[0]} × {row.image_shape[1]}"
    else:
        kind = ""
    if raw and row.raw_file:
        file = row.raw_file
    else:
        file = row.file
    if row.views:
        listed = ", ".join(f"{name} ({width})" for name, width in row.views.items())
        kind = f" in {len(row.views)} views: {listed}"
    return (
        f"{row.title}\n\n"
        f"{row.shape[0]} samples, {row.shape[1]} features{kind}, {row.n_classes} classes.\n"
        f"Preprocessing: {'none (raw)' if raw else row.description}.\n"
        f"Source: {row.citation}\n"
        f"Terms: {row.licence}\n"
        f"File: {file.url}\n"
    )
