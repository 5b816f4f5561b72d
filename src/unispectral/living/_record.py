"""What has happened to the clusters of a model since it was fitted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unispectral._compat import optional

#: What can happen to a cluster.
CHANGES = ("grew", "born", "drifted", "merged", "split", "ended", "refitted")
#: The share of the samples of a clustering whose outlier scores count as usual.
_USUAL = 0.95
#: Columns of the events: the update, what happened, to which cluster, with which other (−1 for
#: none), how many samples it was, and how many there were in all then.
_FIELDS = 6


class Change(NamedTuple):
    """One thing that happened to one cluster, by its lasting number.

    ``other`` is the cluster that it merged into or split from, −1 for none; ``amount`` is how far
    it drifted, in units of its spread.
    """

    what: str
    cluster: int
    rows: int
    other: int = -1
    amount: float = np.nan


class Record(NamedTuple):
    """The life of a model since its fit.

    Attributes
    ----------
    n_clustered : int
        The samples that were there when all were clustered together; the others came later.
    limit : float
        The outlier score above which a sample that came later fits nowhere.
    next_id : int
        The lasting number of the next cluster.
    added : int
        Clusters that were born since the fit.
    n_updates : int
    events : int array of shape (r, 6)
        The update, what happened, the cluster, the other, samples, all samples then.
    amounts : ndarray of shape (r,)
    copies : int array or None
        Of each sample of the last clustering the first that is the same, which alone is kept;
        None where all are.
    """

    n_clustered: int
    limit: float
    next_id: int
    added: int
    n_updates: int
    events: np.ndarray
    amounts: np.ndarray
    copies: np.ndarray | None = None

    def note(self, changes: list[Change], n_samples: int) -> Record:
        """The same with what an update changed, after which there are so many samples."""
        rows = [
            (
                self.n_updates + 1,
                CHANGES.index(change.what),
                change.cluster,
                change.other,
                change.rows,
                n_samples,
            )
            for change in changes
        ]
        events = np.array(rows, dtype=np.int64).reshape(len(rows), _FIELDS)
        amounts = np.array([change.amount for change in changes], dtype=np.float64)
        return self._replace(
            n_updates=self.n_updates + 1,
            events=np.concatenate([self.events, events]),
            amounts=np.concatenate([self.amounts, amounts]),
        )

    def cluster_anew(self, fitted: Record) -> Record:
        """The same once all samples have been clustered together, by the record of that fit."""
        return self._replace(
            n_clustered=fitted.n_clustered, limit=fitted.limit, copies=fitted.copies
        )

    def sources(self, n_samples: int) -> np.ndarray:
        """Of each of so many samples the one whose rows it shares."""
        found = np.arange(n_samples)
        if self.copies is not None:
            found[: len(self.copies)] = self.copies
        return found


def begin(n_clusters: int, outlier_score: np.ndarray, copies: np.ndarray | None = None) -> Record:
    """The record of a model that was fitted just now."""
    return Record(
        n_clustered=len(outlier_score),
        limit=usual_limit(outlier_score),
        next_id=n_clusters,
        added=0,
        n_updates=0,
        events=np.empty((0, _FIELDS), dtype=np.int64),
        amounts=np.empty(0),
        copies=copies,
    )


def usual_limit(outlier_score: np.ndarray) -> float:
    """The outlier score that nearly all samples of a clustering keep to."""
    return float(np.quantile(outlier_score, _USUAL))


def as_frame(record: Record) -> Any:
    """The changes as a frame, one row for each."""
    pandas = optional("pandas", extra="io")
    update, what, cluster, other, rows, samples = record.events.T
    return pandas.DataFrame(
        {
            "update": update,
            "change": np.array(CHANGES, dtype=object)[what],
            "cluster": pandas.array(cluster, dtype="Int64"),
            "other": pandas.array(other, dtype="Int64"),
            "rows": rows,
            "samples": samples,
            "amount": record.amounts,
        }
    ).assign(
        cluster=lambda frame: frame["cluster"].mask(cluster < 0),
        other=lambda frame: frame["other"].mask(other < 0),
    )
