"""The paper's ten data sets, as the paper uses them or raw, MNIST, and five of several views.

`fetch` takes a name; the ``fetch_*`` functions are the same with the name filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils import Bunch

from unispectral.datasets._digits import load_multiview_digits
from unispectral.datasets._fetch import dataset_info, fetch, list_datasets
from unispectral.datasets._registry import DatasetInfo, File

__all__ = [
    "DatasetInfo", "File", "dataset_info", "fetch", "fetch_3sources", "fetch_ar", "fetch_bbc",
    "fetch_bbcsport", "fetch_binary_alphadigits", "fetch_coil20", "fetch_hw2sources",
    "fetch_jaffe", "fetch_mnist", "fetch_msrcv1", "fetch_ngs", "fetch_orl", "fetch_tdt2",
    "fetch_tr11", "fetch_tr41", "fetch_tr45", "fetch_webkb", "fetch_yale", "list_datasets",
    "load_multiview_digits",
]  # fmt: skip


def _fetcher(name: str) -> Callable[..., Bunch]:
    """`fetch` with the name filled in."""

    def fetcher(**options: Any) -> Bunch:
        return fetch(name, **options)

    row = dataset_info(name)
    call = f"fetch_{name}().data.shape"
    shown = str(row.shape)
    if row.views:
        call = f"list(fetch_{name}().views)"
        shown = str(list(row.views))
    fetcher.__name__ = fetcher.__qualname__ = f"fetch_{name}"
    fetcher.__doc__ = f"""{row.title}: {row.shape[0]:,} samples, {row.n_classes} classes.

    Parameters and result are those of `fetch`.

    Examples
    --------
    >>> {call}  # doctest: +SKIP
    {shown}
    """
    return fetcher


fetch_yale = _fetcher("yale")
fetch_jaffe = _fetcher("jaffe")
fetch_orl = _fetcher("orl")
fetch_ar = _fetcher("ar")
fetch_coil20 = _fetcher("coil20")
fetch_binary_alphadigits = _fetcher("binary_alphadigits")
fetch_tr11 = _fetcher("tr11")
fetch_tr41 = _fetcher("tr41")
fetch_tr45 = _fetcher("tr45")
fetch_tdt2 = _fetcher("tdt2")
fetch_mnist = _fetcher("mnist")
fetch_msrcv1 = _fetcher("msrcv1")
fetch_3sources = _fetcher("3sources")
fetch_bbcsport = _fetcher("bbcsport")
fetch_ngs = _fetcher("ngs")
fetch_bbc = _fetcher("bbc")
fetch_webkb = _fetcher("webkb")
fetch_hw2sources = _fetcher("hw2sources")
