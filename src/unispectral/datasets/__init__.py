"""The paper's ten data sets, as the paper uses them or raw, and one of several views.

`fetch` takes a name; the ``fetch_*`` functions are the same with the name filled in.
"""

from __future__ import annotations

import os

from sklearn.utils import Bunch

from unispectral.datasets._digits import load_multiview_digits
from unispectral.datasets._fetch import dataset_info, fetch, list_datasets
from unispectral.datasets._registry import Dataset, File

__all__ = [
    "Dataset",
    "File",
    "dataset_info",
    "fetch",
    "fetch_ar",
    "fetch_binary_alphadigits",
    "fetch_coil20",
    "fetch_jaffe",
    "fetch_orl",
    "fetch_tdt2",
    "fetch_tr11",
    "fetch_tr41",
    "fetch_tr45",
    "fetch_yale",
    "list_datasets",
    "load_multiview_digits",
]


def fetch_yale(
    *, data_home: str | os.PathLike[str] | None = None, raw: bool = False, download: bool = True
) -> Bunch:
    """YALE: 165 face images of 15 people, 32 × 32 pixels.

    Parameters and result are those of `fetch`.

    Examples
    --------
    >>> fetch_yale().data.shape  # doctest: +SKIP
    (165, 1024)
    """
    return fetch("yale", data_home=data_home, raw=raw, download=download)


def fetch_jaffe(
    *, data_home: str | os.PathLike[str] | None = None, raw: bool = False, download: bool = True
) -> Bunch:
    """JAFFE: 213 face images of 10 women, 26 × 26 pixels.

    Parameters and result are those of `fetch`.

    Examples
    --------
    >>> fetch_jaffe().data.shape  # doctest: +SKIP
    (213, 676)
    """
    return fetch("jaffe", data_home=data_home, raw=raw, download=download)


def fetch_orl(
    *, data_home: str | os.PathLike[str] | None = None, raw: bool = False, download: bool = True
) -> Bunch:
    """ORL: 400 face images of 40 people, 32 × 32 pixels.

    Parameters and result are those of `fetch`.

    Examples
    --------
    >>> fetch_orl().data.shape  # doctest: +SKIP
    (400, 1024)
    """
    return fetch("orl", data_home=data_home, raw=raw, download=download)


def fetch_ar(
    *, data_home: str | os.PathLike[str] | None = None, raw: bool = False, download: bool = True
) -> Bunch:
    """AR: 840 face images of 120 people, 32 × 24 pixels.

    Parameters and result are those of `fetch`.

    Examples
    --------
    >>> fetch_ar().data.shape  # doctest: +SKIP
    (840, 768)
    """
    return fetch("ar", data_home=data_home, raw=raw, download=download)


def fetch_coil20(
    *, data_home: str | os.PathLike[str] | None = None, raw: bool = False, download: bool = True
) -> Bunch:
    """COIL20: 1,440 images of 20 objects on a turntable, 32 × 32 pixels.

    Parameters and result are those of `fetch`.

    Examples
    --------
    >>> fetch_coil20().data.shape  # doctest: +SKIP
    (1440, 1024)
    """
    return fetch("coil20", data_home=data_home, raw=raw, download=download)


def fetch_binary_alphadigits(
    *, data_home: str | os.PathLike[str] | None = None, raw: bool = False, download: bool = True
) -> Bunch:
    """Binary Alphadigits: 1,404 images of 10 digits and 26 capitals, 20 × 16 pixels.

    Parameters and result are those of `fetch`.

    Examples
    --------
    >>> fetch_binary_alphadigits().data.shape  # doctest: +SKIP
    (1404, 320)
    """
    return fetch("binary_alphadigits", data_home=data_home, raw=raw, download=download)


def fetch_tr11(
    *, data_home: str | os.PathLike[str] | None = None, raw: bool = False, download: bool = True
) -> Bunch:
    """TR11: 414 news documents in 9 topics, tf-idf weights of 6,429 words.

    Parameters and result are those of `fetch`.

    Examples
    --------
    >>> fetch_tr11().data.shape  # doctest: +SKIP
    (414, 6429)
    """
    return fetch("tr11", data_home=data_home, raw=raw, download=download)


def fetch_tr41(
    *, data_home: str | os.PathLike[str] | None = None, raw: bool = False, download: bool = True
) -> Bunch:
    """TR41: 878 news documents in 10 topics, tf-idf weights of 7,454 words.

    Parameters and result are those of `fetch`.

    Examples
    --------
    >>> fetch_tr41().data.shape  # doctest: +SKIP
    (878, 7454)
    """
    return fetch("tr41", data_home=data_home, raw=raw, download=download)


def fetch_tr45(
    *, data_home: str | os.PathLike[str] | None = None, raw: bool = False, download: bool = True
) -> Bunch:
    """TR45: 690 news documents in 10 topics, tf-idf weights of 8,261 words.

    Parameters and result are those of `fetch`.

    Examples
    --------
    >>> fetch_tr45().data.shape  # doctest: +SKIP
    (690, 8261)
    """
    return fetch("tr45", data_home=data_home, raw=raw, download=download)


def fetch_tdt2(
    *, data_home: str | os.PathLike[str] | None = None, raw: bool = False, download: bool = True
) -> Bunch:
    """TDT2: 9,394 news documents in 30 topics, 36,771 words.

    Parameters and result are those of `fetch`.

    Examples
    --------
    >>> fetch_tdt2().data.shape  # doctest: +SKIP
    (9394, 36771)
    """
    return fetch("tdt2", data_home=data_home, raw=raw, download=download)
