"""The paper's own tables with our figures in them: its columns, its rows, its protocol."""

from __future__ import annotations

from typing import NamedTuple

from unispectral.bench.results import Results, paper_table
from unispectral.bench.study import METRICS

#: The columns whose purity the paper computed with found and true labels exchanged.
_EXCHANGED = ("SCSK", "SCSK-m", "SCMK")
#: Said where the word first stands.
SWAPPED = (
    "The program of the paper's authors exchanges found and true labels when it scores SCSK and "
    "SCMK. Accuracy and NMI do not change by that, but the purity does: the share of samples in "
    "the largest class of their cluster becomes the share in the largest cluster of their class, "
    "here called swapped purity. The figures marked ˢ, theirs and ours, are swapped; one giant "
    "cluster has a swapped purity of 100, so it is shown at the point of best accuracy."
)


class PaperCell(NamedTuple):
    """The paper's figure and ours, each with whether it is the best of its row, and marks."""

    paper: float | None
    ours: float | None
    paper_best: bool
    ours_best: bool
    marks: str


class PaperTable(NamedTuple):
    """One of the paper's tables: columns as it has them, rows by the title of the data set."""

    metric: str
    title: str
    columns: tuple[str, ...]
    rows: dict[str, list[PaperCell]]


def paper_tables(results: Results) -> list[PaperTable]:
    """Accuracy, NMI and purity in the paper's layout, of what the study has of them.

    Empty if the study has none of the paper's columns under the paper's protocol.
    """
    shown = {column.name: (method, column) for method, column in results.columns("paper")}
    columns = tuple(name for name in paper_table()["columns"] if name in shown)
    sets = {dataset.title: dataset for dataset in results.study.datasets}
    metrics = [m for m in ("accuracy", "nmi", "purity") if m in results.study.metrics]
    tables = []
    for metric in metrics:
        rows = {}
        for title in paper_table()[metric]:
            if title not in sets or not columns:
                continue
            cells = []
            for name in columns:
                swapped = metric == "purity" and name in _EXCHANGED
                score: str = metric
                if swapped and "swapped_purity" in results.study.metrics:
                    score = "swapped_purity"
                figure = results.figure(sets[title], *shown[name], score)
                marks = "ˢ" * swapped + "†" * figure.partial + "‡" * bool(figure.note)
                cells.append((figure.paper, figure.value, marks))
            rows[title] = _mark_best(cells)
        if rows:
            tables.append(PaperTable(metric, METRICS[metric], columns, rows))
    return tables


def _mark_best(cells: list[tuple[float | None, float | None, str]]) -> list[PaperCell]:
    """Mark the best of a row at the precision that is printed."""
    papers = [round(paper, 2) for paper, _, _ in cells if paper is not None]
    values = [round(ours, 2) for _, ours, _ in cells if ours is not None]
    top_paper = max(papers, default=None)
    top = max(values, default=None)
    return [
        PaperCell(
            paper,
            ours,
            paper is not None and round(paper, 2) == top_paper,
            ours is not None and round(ours, 2) == top,
            marks,
        )
        for paper, ours, marks in cells
    ]
