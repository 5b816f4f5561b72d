"""The page of one clustering: one HTML file that works offline."""

from __future__ import annotations

import os
from typing import Any

from unispectral._files import write_text_atomic
from unispectral.report._clusters import describe
from unispectral.report._data import report_data
from unispectral.report._page import asset, build_page
from unispectral.report._profile import write_profile
from unispectral.report._summary import Summary, summarise

__all__ = [
    "Summary",
    "describe",
    "report_data",
    "summarise",
    "write_profile",
    "write_report",
]


def write_report(
    path: str | os.PathLike[str], estimator: object, X: object = None, **options: Any
) -> None:
    """Write a page about a fitted clustering, to be opened in any browser.

    The page is one file and loads nothing: a map of the samples, the learned graph, sizes, kernel
    weights, spectrum and objective; for each cluster its most typical and most doubtful members
    and the features that set it apart; a table of members; warnings in plain words; and how to do
    it again. Above 20,000 samples it shows an even part of each cluster.

    Parameters
    ----------
    path : path-like
        Where to; ends in ``.html``. The file is there whole or not at all.
    estimator : fitted clusterer, or Pipeline that ends in one
        UnifiedSpectralClustering, SCMK and SCSK have most to show; any clusterer with ``labels_``
        will do. Noise, −1 in some, can be given as a cluster: ``labels=model.labels_ + 1``.
    X : array, frame, sparse matrix, or list or dict of these, default=None
        The samples, from which features and thumbnails are taken; text columns of a frame are
        encoded as :class:`unispectral.tables.TablePreparer` does.
    **options
        ``labels`` (of an estimator without ``labels_``), ``columns`` (names of the features),
        ``names`` (of the samples), ``truth`` (known classes, for scores), ``title``, ``seconds``,
        ``command``, ``preparation`` (of :func:`unispectral.tables.read_table`, to show features
        in their units), ``reading`` (how the tables were read, to show how to do it again),
        ``supplementary`` (a frame of further columns, which describe the clusters and colour the
        map), ``image_shape`` (height and width, where samples are pictures, and "F" as a third if
        their pixels are stored column by column), ``notes``, ``warnings`` and ``max_points``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> X = np.array([[0.0, 0.0], [0.1, 0.2], [5.0, 5.0], [5.1, 5.2]])
    >>> path = Path(tempfile.mkdtemp()) / "page.html"
    >>> write_report(path, KMeans(2, n_init=1, random_state=0).fit(X), X, title="Four points")
    >>> "Four points" in path.read_text(encoding="utf-8")
    True
    """
    data = report_data(estimator, X, **options)
    title = f"{data['title']}: {data['method']}"
    write_text_atomic(
        path, build_page(title, data, asset("clustering.css"), asset("clustering.js"))
    )
