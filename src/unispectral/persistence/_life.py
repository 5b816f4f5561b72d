"""The life of a model since its fit, from plain values, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unispectral.living._record import CHANGES, Record, begin
from unispectral.persistence._values import floats, indices, integer, real, require

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sklearn.base import BaseEstimator

#: More updates and clusters than any model has seen.
_MOST = 2**40
#: The smallest and the largest value of each column of the events.
_BOUNDS = ((0, _MOST), (0, len(CHANGES) - 1), (-1, _MOST), (-1, _MOST), (0, _MOST), (0, _MOST))


def restore_life(estimator: BaseEstimator, state: Mapping[str, Any]) -> None:
    """Set the record of an estimator whose other attributes have been restored and checked.

    Files of before a model could be updated have none: it begins with the fit.
    """
    count = int(estimator.n_clusters_)
    if state is None:
        estimator.cluster_ids_ = np.arange(count)
        estimator._record_ = begin(count, estimator.outlier_score_)
        return
    ids = estimator.cluster_ids_
    next_id = integer(state["next_id"], count, _MOST)
    distinct = len(np.unique(ids)) == count
    require(distinct and ids.min() >= 0 and ids.max() < next_id, "the numbers of its clusters")
    events = state["events"]
    require(isinstance(events, np.ndarray) and events.dtype == np.int64, "its changes")
    require(events.ndim == 2 and events.shape[1] == len(_BOUNDS), "its changes")
    for values, (least, most) in zip(events.T, _BOUNDS, strict=True):
        require(bool(((values >= least) & (values <= most)).all()), "its changes")
    n_clustered = integer(state["n_clustered"], 1, len(estimator.labels_))
    copies = state["copies"]
    if copies is not None:
        copies = indices(copies, n_clustered, n_clustered)
    estimator._record_ = Record(
        n_clustered=n_clustered,
        limit=real(state["limit"]),
        next_id=next_id,
        added=integer(state["added"], 0, next_id),
        n_updates=integer(state["n_updates"], 0, _MOST),
        events=events,
        amounts=floats(state["amounts"], len(events)),
        copies=copies,
    )
