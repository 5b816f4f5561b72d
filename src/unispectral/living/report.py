"""What a model that was updated can say of itself: its changes in words, and its samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from unispectral._errors import plural
from unispectral.living._record import CHANGES, Record
from unispectral.living._refit import held_tables

if TYPE_CHECKING:
    from unispectral._base import LearnedGraphClustering
    from unispectral._inputs import Layout
    from unispectral._validation import Shift
    from unispectral.kernels._features import Table

__all__ = ["count_born", "describe_changes", "held_columns"]

#: Clusters whose growth is told one by one.
_LISTED = 12
#: What is said of each change.
_SENTENCES = {
    "grew": "{cluster} grew by {rows}.",
    "born": "{cluster} was born: {rows} that fit nowhere else.",
    "drifted": (
        "{cluster} drifts: the {rows} since the last clustering lie {amount} of its spreads "
        "from those of before."
    ),
    "merged": "{cluster} merged into {other}, with {rows}.",
    "split": "{cluster} split from {other}, with {rows}.",
    "ended": "{cluster} ended: its {rows} went to several others.",
    "refitted": "all {samples} rows were clustered anew.",
}


def describe_changes(model: Any) -> list[str]:
    """What the last update changed, in sentences.

    Examples
    --------
    >>> from unispectral import UnifiedSpectralClustering
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0], [9]], 30, axis=0)
    >>> model = UnifiedSpectralClustering(2).fit(X[:59]).update(X[59:])
    >>> describe_changes(model)
    ['Cluster 1 grew by 1 row.']
    """
    record = model._record_
    chosen = record.events[:, 0] == record.n_updates
    names = dict(zip(model.cluster_ids_.tolist(), model.cluster_names_, strict=True))
    grown: list[str] = []
    others: list[str] = []
    for event, amount in zip(record.events[chosen], record.amounts[chosen], strict=True):
        _, what, cluster, other, rows, samples = event.tolist()
        told = _SENTENCES[CHANGES[what]].format(
            cluster=_call(cluster, names),
            other=_call(other, names),
            rows=plural(rows, "row"),
            samples=f"{samples:,}",
            amount=f"{amount:.1f}",
        )
        said = grown if CHANGES[what] == "grew" else others
        said.append(told[0].upper() + told[1:])
    if len(grown) > _LISTED:
        grown = [f"{len(grown)} clusters grew."]
    return [*others, *grown] or ["Nothing changed."]


def count_born(record: Record) -> int:
    """The clusters that were born since all samples were clustered together.

    Examples
    --------
    >>> from unispectral.living._record import Change, begin
    >>> record = begin(2, np.zeros(9)).note([Change("born", 2, 5)], 14)
    >>> count_born(record), count_born(record.note([Change("refitted", -1, 14)], 14))
    (1, 0)
    """
    update, what = record.events.T[:2]
    anew = update[what == CHANGES.index("refitted")].max(initial=0)
    return int(((what == CHANGES.index("born")) & (update > anew)).sum())


def _call(cluster: int, names: dict[int, str]) -> str:
    """A cluster by its lasting number, and its name where it has another."""
    name = names.get(cluster, str(cluster))
    return f"cluster {cluster}" if name == str(cluster) else f"cluster {cluster} ({name})"


def held_columns(model: Any) -> tuple[Any, list[str] | None]:
    """The samples of a model in the units of its input, and the names of the columns.

    Columns that do not vary were not kept, nor were views without weight.
    """
    predictor = model._predictor_
    layout = predictor.layout
    tables = held_tables(predictor, model._record_.sources(len(model.labels_)))
    parts = []
    names: list[str] = []
    for view in sorted(tables):
        table = tables[view]
        shift = layout.shifts[view] if layout.shifts else None
        columns = np.arange(layout.n_features[view])
        if shift is not None and shift.columns is not None:
            columns = shift.columns
        parts.append(_move_back(table, shift))
        names += _name_columns(model, layout, view, columns)
    if all(sp.issparse(part) for part in parts):
        return sp.csr_array(sp.hstack(parts)), names
    dense = [part.toarray() if sp.issparse(part) else part for part in parts]
    return np.nan_to_num(np.hstack(dense)), names


def _move_back(table: Table, shift: Shift | None) -> Any:
    if shift is None:
        return table
    moved = table * (1.0 / np.asarray(shift.factor))
    return moved if shift.offset is None else moved + shift.offset


def _name_columns(
    model: LearnedGraphClustering, layout: Layout, view: int, columns: np.ndarray
) -> list[str]:
    known = getattr(model, "feature_names_in_", None)
    if layout.feature_names and layout.feature_names[view] is not None:
        known = layout.feature_names[view]
    elif layout.kind == "columns" and known is not None:
        known = np.asarray(known)[layout.columns[view]]
    prefix = "" if len(layout.view_names) == 1 else f"{layout.view_names[view]} "
    if known is None:
        return [f"{prefix}column {at}" for at in columns]
    return [f"{prefix}{known[at]}" if layout.kind == "views" else str(known[at]) for at in columns]
