"""From stored cells to figures: repeats, then the grid, then the kernels, as a column says.

The paper's figures, which ours are shown beside, are those of the table of results in Z. Kang,
C. Peng, Q. Cheng and Z. Xu, "Unified Spectral Clustering with Optimal Graph", Proceedings of the
AAAI Conference on Artificial Intelligence 32 (2018).
"""

from __future__ import annotations

import itertools
import math
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from unispectral._errors import plural
from unispectral.bench._cells import Cell, canonical, expand
from unispectral.bench.store import Record, Store
from unispectral.bench.study import PROTOCOLS, Column, Study, StudyDataset, StudyMethod

__all__ = [
    "Figure",
    "ResultTable",
    "Results",
    "Setting",
    "comparable",
    "mean_seconds",
    "paper_figure",
    "paper_table",
]


@lru_cache(maxsize=1)
def paper_table() -> dict[str, Any]:
    """The paper's figures by metric and data set, their columns, and notes on contradictions."""
    path = resources.files("unispectral.bench") / "paper_table.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def paper_figure(metric: str, dataset: str, column: str) -> float | None:
    """A figure of the paper in per cent, or None where it has none."""
    content = paper_table()
    # The purity of the authors' own methods is the swapped one, see the notes.
    if metric == "swapped_purity" and column in ("SCSK", "SCSK-m", "SCMK"):
        metric = "purity"
    row = content.get(metric, {}).get(dataset)
    if row is None or column not in content["columns"]:
        return None
    value = row[content["columns"].index(column)]
    if value < 0:
        return None
    return float(value)


@dataclass
class Setting:
    """The repeats of one method with one kernel and one set of parameters on one data set.

    Its number is its place among the settings of the method there.
    """

    number: int
    kernel: str | None
    parameters: dict[str, Any]
    bank: str | None
    expected: int = 0
    done: list[Record] = field(default_factory=list)
    failed: list[Record] = field(default_factory=list)

    def value(self, metric: str, rule: str) -> float:
        """The repeats as one number, NaN if there is none."""
        values = [record.scores[metric] for record in self.done] or [math.nan]
        if rule == "best":
            return max(values)
        if rule == "objective" and self.done and self.has_objectives():
            return values[int(np.argmin([record.facts["objective"] for record in self.done]))]
        return float(np.mean(values))

    def has_objectives(self) -> bool:
        return all("objective" in record.facts for record in self.done)


@dataclass(frozen=True)
class Figure:
    """One figure of a table, with the one setting it shows, where it does not mix several.

    ``value`` and ``paper`` are per cent; both may be None.
    """

    column: str
    value: float | None
    paper: float | None = None
    note: str | None = None
    spread: float | None = None
    setting: Setting | None = None
    seconds: float | None = None
    peak_bytes: int | None = None
    done: int = 0
    expected: int = 0
    failed: int = 0

    @property
    def difference(self) -> float | None:
        """Our figure minus the paper's."""
        if self.value is None or self.paper is None:
            return None
        return self.value - self.paper

    @property
    def partial(self) -> bool:
        """Whether cells are missing, so that the figure may still change."""
        return self.done < self.expected


@dataclass(frozen=True)
class ResultTable:
    """One metric under one protocol: a row of figures for each data set, columns as listed."""

    protocol: str
    metric: str
    columns: tuple[str, ...]
    rows: dict[str, list[Figure]]

    def best(self, dataset: str) -> set[str]:
        """The columns with the highest figure of a row, at the precision that is printed."""
        values = {f.column: round(f.value, 2) for f in self.rows[dataset] if f.value is not None}
        top = max(values.values(), default=None)
        return {column for column, value in values.items() if value == top}

    def full(self) -> list[list[Figure]]:
        """The rows in which all columns have a figure."""
        return [row for row in self.rows.values() if all(f.value is not None for f in row)]

    def means(self, of: str = "value") -> dict[str, float | None]:
        """The mean of each column over the full rows; ``of="paper"``: where the paper has all."""
        full = self.full()
        found = {c: [getattr(row[j], of) for row in full] for j, c in enumerate(self.columns)}
        return {c: None if None in values else _mean(values) for c, values in found.items()}


def comparable(table: ResultTable) -> tuple[np.ndarray, np.ndarray] | None:
    """The figures that can be ranked, as printed, and which columns they are of.

    A column without a figure on more than a third of the data sets is left out, then every data
    set on which one of the others has none. None if fewer than two of either are left.
    """
    rows = [[figure.value for figure in row] for row in table.rows.values()]
    values = np.array(rows, dtype=float).round(2)
    values = values[~np.isnan(values).all(axis=1)]
    if values.size == 0:
        return None
    present = np.isnan(values).mean(axis=0) <= 1 / 3
    complete = values[:, present]
    complete = complete[~np.isnan(complete).any(axis=1)]
    if min(complete.shape) < 2:
        return None
    return complete, present


class Results:
    """The figures of a study, read from a store.

    Parameters
    ----------
    study : Study
        What was run.
    store : Store
        Where the cells are.
    """

    def __init__(self, study: Study, store: Store) -> None:
        self.study = study
        self.cells = expand(study)
        # A result without one of the scores that are shown, or compared, counts as not there.
        needed = {*study.metrics, *(["accuracy"] if "swapped_purity" in study.metrics else [])}
        stored = store.records()
        self.records: dict[str, Record] = {}
        self._settings: dict[tuple[str, str], dict[tuple[Any, ...], Setting]] = {}
        for cell in self.cells:
            settings = self._settings.setdefault((cell.dataset.name, cell.method.name), {})
            new = Setting(len(settings), cell.kernel, cell.parameters, cell.bank_name)
            setting = settings.setdefault(cell.setting, new)
            setting.expected += 1
            record = stored.get(cell.key)
            if record and (record.status != "done" or needed <= record.scores.keys()):
                self.records[cell.key] = record
                (setting.done if record.status == "done" else setting.failed).append(record)

    def settings(self, dataset: str, method: str) -> list[Setting]:
        """All settings of a method on a data set."""
        return list(self._settings.get((dataset, method), {}).values())

    def columns(self, protocol: str) -> list[tuple[StudyMethod, Column]]:
        """The columns shown under a protocol."""
        return [(m, c) for m in self.study.methods for c in m.columns if protocol in c.protocols]

    def protocols(self) -> list[str]:
        """The protocols under which the study shows anything; the paper's first, if it is one."""
        shown = [protocol for protocol in PROTOCOLS if self.columns(protocol)]
        return sorted(shown, key=lambda protocol: protocol != "paper" or not self.repeats_paper)

    def table(self, protocol: str, metric: str) -> ResultTable:
        """All figures of one metric under one protocol."""
        columns = self.columns(protocol)
        # The paper's figures were tuned with labels: beside defaults they would mislead.
        beside = protocol == "paper"
        rows = {
            dataset.name: [self.figure(dataset, *column, metric, beside) for column in columns]
            for dataset in self.study.datasets
        }
        return ResultTable(protocol, metric, tuple(column.name for _, column in columns), rows)

    @property
    def repeats_paper(self) -> bool:
        """Whether the paper has a figure for anything that is shown under its protocol."""
        columns = [column for _, column in self.columns("paper")]
        every = itertools.product(self.study.metrics, self.study.datasets, columns)
        return any(paper_figure(m, d.title, c.paper or c.name) is not None for m, d, c in every)

    def paper_notes(self) -> list[str]:
        """What is contradictory in the paper, if it has a figure for anything that is shown."""
        if self.repeats_paper:
            return paper_table()["notes"]
        return []

    def figure(
        self,
        dataset: StudyDataset,
        method: StudyMethod,
        column: Column,
        metric: str,
        beside: bool = True,
    ) -> Figure:
        """One figure, with the paper's beside it if it is asked for."""
        every = self.settings(dataset.name, method.name)
        settings = [setting for setting in every if column.bank in (None, setting.bank)]
        value, best = _reduce(settings, column, metric)
        records = [record for setting in settings for record in setting.done]
        if best is not None:
            shown = best.done
            scores = [record.scores[metric] for record in best.done]
        else:
            shown = records
            scores = []
        notes = _reduction(method, dataset)
        if column.repeats == "objective" and not all(s.has_objectives() for s in settings):
            notes.append("The method has no objective; the mean of the repeats is shown.")
        return Figure(
            column=column.name,
            value=None if math.isnan(value) else 100.0 * value,
            paper=paper_figure(metric, dataset.title, column.paper or column.name)
            if beside
            else None,
            note=" ".join(notes) or None,
            spread=100.0 * float(np.std(scores, ddof=1)) if len(scores) > 1 else None,
            setting=best,
            seconds=mean_seconds(shown),
            peak_bytes=max((record.peak_bytes or 0 for record in shown), default=None),
            done=len(records),
            expected=sum(setting.expected for setting in settings),
            failed=sum(len(setting.failed) for setting in settings),
        )

    def failures(self) -> list[tuple[Cell, Record]]:
        """The cells that failed, in order."""
        pairs = ((cell, self.records[cell.key]) for cell in self.cells if cell.key in self.records)
        return [(cell, record) for cell, record in pairs if record.status != "done"]

    def reductions(self) -> list[tuple[str, str, str]]:
        """Data set, method and note of every place where less was run."""
        return [
            (dataset.title, method.name, note)
            for method in self.study.methods
            for dataset in self.study.datasets
            for note in _reduction(method, dataset)
        ]


def _reduction(method: StudyMethod, dataset: StudyDataset) -> list[str]:
    """In a sentence, what is left of a method on a data set, if it is not all of it."""
    local, reduction = method.on(dataset.name)
    if reduction is None:
        return []
    if reduction.get("skip"):
        return [f"Not run: {reduction['reason']}"]
    parts = []
    if local.repeats != method.repeats:
        parts.append(f"{local.repeats} of {method.repeats} repeats")
    if local.kernels != method.kernels and local.kernels is not None:
        parts.append(plural(len(local.kernels), "kernel"))
    if local.banks != method.banks:
        parts.append(f"{len(local.banks or ()) or 1} of {len(method.banks or ())} kernel banks")
    if local.grid != method.grid:
        parts.append(f"{local.grid_size} of {method.grid_size} grid points")
    if local.parameters != method.parameters:
        changed = {k: v for k, v in local.parameters.items() if method.parameters.get(k) != v}
        parts.append(", ".join(f"{key} = {canonical(value)}" for key, value in changed.items()))
    return [f"{', '.join(parts) or 'Other limits'}: {reduction['reason']}"]


def mean_seconds(records: list[Record]) -> float | None:
    """How long a fit took, as far as it is known."""
    return _mean([record.seconds for record in records if record.seconds is not None])


def _mean(values: list[float]) -> float | None:
    if values:
        return float(np.mean(values))
    return None


def _reduce(settings: list[Setting], column: Column, metric: str) -> tuple[float, Setting | None]:
    """The figure, and the setting it comes from if it comes from one."""
    # One giant cluster has a swapped purity of one hundred per cent: to look for the best would
    # find that. It is shown where the accuracy is best.
    if metric == "swapped_purity":
        criterion = "accuracy"
    else:
        criterion = metric
    groups: dict[tuple[Any, ...], list[Setting]] = {}
    for setting in settings:
        if setting.done:
            groups.setdefault((setting.bank, setting.kernel), []).append(setting)
    best = [
        max(group, key=lambda s: s.value(criterion, column.repeats)) for group in groups.values()
    ]
    if best and column.kernels == "best":
        best = [max(best, key=lambda s: s.value(criterion, column.repeats))]
    values = [setting.value(metric, column.repeats) for setting in best]
    return float(np.mean(values or [math.nan])), best[0] if len(best) == 1 else None
