"""From a file of the registry to the matrix and the labels."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from sklearn.utils import Bunch

from unispectral.datasets._cache import locate
from unispectral.datasets._registry import DATASETS, Dataset
from unispectral.tables._mat import read_mat

__all__ = ["dataset_info", "fetch", "list_datasets", "tf_idf"]


def list_datasets() -> list[str]:
    """Return the names that `fetch` knows.

    Examples
    --------
    >>> list_datasets()[:3]
    ['yale', 'jaffe', 'orl']
    """
    return list(DATASETS)


def dataset_info(name: str) -> Dataset:
    """Return the registry's row: files, origin, checksums, shape, citation, licence.

    Examples
    --------
    >>> dataset_info("tdt2").n_classes
    30
    """
    try:
        return DATASETS[name.lower()]
    except (KeyError, AttributeError):
        raise ValueError(f"name must be one of {', '.join(DATASETS)}, but is {name!r}.") from None


def fetch(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    raw: bool = False,
    download: bool = True,
) -> Bunch:
    """Return one of the paper's data sets, as the paper uses it.

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
        ``data`` (float64; CSR for text), ``target`` (0 … c-1), ``target_names``, ``name``,
        ``DESCR``, ``image_shape`` (height and width, or None), ``images`` (samples × height ×
        width, or None) and ``frame`` (always None).

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
    file = row.raw_file if raw else row.file
    if file is None:
        raise ValueError(
            f"raw=True is not possible for {row.name!r}: only its preprocessed file is public."
        )
    variables = read_mat(locate(file, data_home, download))
    data, target = _split(variables, row)
    if not raw and row.preparation != "file":
        data = _PREPARATIONS[row.preparation](data)
    return Bunch(
        data=data,
        target=target,
        target_names=np.array(row.target_names or [str(i + 1) for i in range(row.n_classes)]),
        name=row.name,
        DESCR=_describe(row, raw),
        image_shape=row.image_shape,
        images=None if row.image_shape is None else as_images(data, row.image_shape),
        frame=None,
    )


def _split(variables: dict[str, Any], row: Dataset) -> tuple[Any, np.ndarray]:
    if "fea" in variables:  # TDT2: the topic and the date stand behind the words
        everything = variables["fea"]
        data = everything[:, : row.shape[1]]
        labels = everything[:, [row.shape[1]]].toarray().ravel()
    else:
        data, labels = variables["X"], np.asarray(variables["y"]).ravel()
    data = sp.csr_array(data) if sp.issparse(data) else np.ascontiguousarray(data)
    data = data.astype(np.float64)  # as stored, pixels are bytes whose products overflow
    classes, target = np.unique(labels, return_inverse=True)
    if data.shape != row.shape or len(classes) != row.n_classes or len(target) != row.shape[0]:
        raise ValueError(f"The file of {row.name!r} does not hold what the registry says.")
    return data, target.astype(np.int64)


def as_images(data: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """View rows as images; MATLAB wrote them column by column.

    Examples
    --------
    >>> as_images(np.arange(6)[np.newaxis], (3, 2))[0]
    array([[0, 3],
           [1, 4],
           [2, 5]])
    """
    height, width = shape
    return data.reshape(len(data), width, height).transpose(0, 2, 1)


def tf_idf(counts: sp.csr_array) -> sp.csr_array:
    """Weight word counts by (1 + ln tf) · ln(N/df) and scale every document to length 1.

    Words that are in all documents, or in none, carry no weight.

    Examples
    --------
    >>> tf_idf(sp.csr_array(np.array([[1.0, 2.0], [1.0, 0.0]]))).toarray()
    array([[0., 1.],
           [0., 0.]])
    """
    weights = sp.csr_array(counts, dtype=np.float64, copy=True)
    weights.eliminate_zeros()
    documents = np.bincount(weights.indices, minlength=weights.shape[1])
    rarity = np.log(weights.shape[0] / np.maximum(documents, 1))
    weights.data = (1.0 + np.log(weights.data)) * rarity[weights.indices]
    weights.eliminate_zeros()
    return sp.csr_array(normalize(weights))


def _describe(row: Dataset, raw: bool) -> str:
    kind = f", images of {row.image_shape[0]} × {row.image_shape[1]}" if row.image_shape else ""
    file = row.raw_file if raw and row.raw_file else row.file
    return (
        f"{row.title}\n\n"
        f"{row.shape[0]} samples, {row.shape[1]} features{kind}, {row.n_classes} classes.\n"
        f"Preprocessing: {'none (raw)' if raw else row.description}.\n"
        f"Source: {row.citation}\n"
        f"Terms: {row.licence}\n"
        f"File: {file.url}\n"
    )


_PREPARATIONS = {"unit rows": normalize, "tf-idf": tf_idf}
