"""The tables of a study as Markdown; the paper's own tables first where the study repeats it."""

from __future__ import annotations

from collections.abc import Sequence

from unispectral.bench._latex import TableTests
from unispectral.bench._paper_tables import SWAPPED, PaperCell, PaperTable, paper_tables
from unispectral.bench.results import Figure, Results, ResultTable, paper_table
from unispectral.bench.study import METRICS, PROTOCOLS


def to_markdown(
    results: Results, metrics: Sequence[str] | None = None, reference: str | None = None
) -> str:
    """The tables for people to read."""
    study = results.study
    metrics = metrics or study.metrics
    lines = [f"# {_plain(study.title)}", ""]
    if study.about:
        lines += [_plain(study.about), ""]
    lines += [
        "Per cent. **Best of the row in bold**; ± is the standard deviation over the repeats; "
        "† marks a figure whose cells are not all done, ‡ one with a note below.",
        "",
    ]
    tables = [table for table in paper_tables(results) if table.metric in metrics]
    if tables:
        lines += _repeated_paper(tables)
    lines += _in_short(results)
    for protocol in results.protocols():
        lines += _protocol(results, protocol, metrics, reference, bool(tables))
    return "\n".join(lines + _notes(results)) + "\n"


def _repeated_paper(tables: list[PaperTable]) -> list[str]:
    """The paper's own tables: its figure above, ours below."""
    lines = [
        "## The paper's tables",
        "",
        "Its columns, its rows and its protocol. In each cell the paper's figure stands above "
        "ours; the best of each row is bold, the paper's among the paper's and ours among ours. "
        + PROTOCOLS["paper"],
        "",
    ]
    for table in tables:
        lines += [f"### {table.title}", ""]
        if table.metric == "purity":
            lines += [_plain(SWAPPED), ""]
        rows = [
            [_plain(title), *(_paper_cell(cell) for cell in cells)]
            for title, cells in table.rows.items()
        ]
        rows.append(["*Mean of full rows*", *_paper_means(table)])
        lines += _markdown_table(["Data", *map(_plain, table.columns)], rows)
    return lines


def _paper_cell(cell: PaperCell) -> str:
    above = _number(cell.paper, cell.paper_best)
    below = _number(cell.ours, cell.ours_best)
    return f"{above}<br>{below}{cell.marks}"


def _paper_means(table: PaperTable) -> list[str]:
    """Means of both over the rows in which neither lacks a figure."""
    full = [
        cells
        for cells in table.rows.values()
        if all(cell.paper is not None and cell.ours is not None for cell in cells)
    ]
    means = []
    for column in range(len(table.columns)):
        cells = [row[column] for row in full]
        pair = ([c.paper for c in cells], [c.ours for c in cells])
        means.append("<br>".join(_number(_mean(values)) for values in pair))
    return means


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if known:
        return sum(known) / len(known)
    return None


def _protocol(
    results: Results, protocol: str, metrics: Sequence[str], reference: str | None, told: bool
) -> list[str]:
    """The tables of a protocol; what the paper's tables have told already is left out."""
    heading = f"## Protocol `{protocol}`"
    lines = [PROTOCOLS[protocol], ""]
    left: set[str] = set()
    if protocol == "paper" and told:
        heading = "## Variants, protocol `paper`"
        left = set(paper_table()["columns"])
        lines = [
            "The same models solved in other ways, and what else is tuned with the true labels; "
            "in parentheses the paper's figure and the difference.",
            "",
        ]
    shown = False
    for metric in metrics:
        table = results.table(protocol, metric)
        keep = [j for j, column in enumerate(table.columns) if column not in left]
        if not keep:
            continue
        columns = tuple(table.columns[j] for j in keep)
        kept = {name: [row[j] for j in keep] for name, row in table.rows.items()}
        table = ResultTable(protocol, metric, columns, kept)
        shown = True
        lines += [f"### {METRICS[metric]}, protocol `{protocol}`", ""]
        lines += _result_table(results, table, reference)
    if shown:
        return [heading, "", *lines]
    return []


def _result_table(results: Results, table: ResultTable, reference: str | None) -> list[str]:
    titles = {dataset.name: _plain(dataset.title) for dataset in results.study.datasets}
    rows = []
    for name, row in table.rows.items():
        best = table.best(name)
        rows.append([titles[name], *(_cell(f, f.column in best) for f in row)])
    rows.append(["*Mean of full rows*", *map(_number, table.means().values())])
    tests = TableTests(table, reference)
    for title, *cells in tests.rows(table.columns):
        rows.append([f"*{title.replace('$p$', 'p')}*", *(_untex(cell) for cell in cells)])
    lines = _markdown_table(["Data", *map(_plain, table.columns)], rows)
    if tests.reference is not None:
        lines += [
            f"Win/tie/loss and p are against {_plain(tests.reference)}, over {tests.n_datasets} "
            "data sets: Wilcoxon's signed-rank test, two-sided, corrected by Holm.",
            "",
        ]
    return lines


def _untex(cell: str) -> str:
    return cell.replace("$<$", "< ").replace("--", "–")


def _in_short(results: Results) -> list[str]:
    """One line per column: means over the data sets that a protocol has in full."""
    metric = results.study.metrics[0]
    tables = [results.table(protocol, metric) for protocol in results.protocols()]
    means = [table.means() for table in tables]
    best = [max((m for m in found.values() if m is not None), default=None) for found in means]
    papers: dict[str, float | None] = {}
    for table in tables:
        for column, value in table.means("paper").items():
            if value is not None:
                papers[column] = value
            else:
                papers[column] = papers.get(column)
    beside = any(value is not None for value in papers.values())
    rows = []
    for column, paper in papers.items():
        own = [(found.get(column), top) for found, top in zip(means, best, strict=True)]
        row = [_number(mean, mean is not None and mean == top) for mean, top in own]
        rows.append([_plain(column), *row, *([_number(paper)] if beside else [])])
    counts = ", ".join(f"{len(table.full())} under `{table.protocol}`" for table in tables)
    said = (
        f"{METRICS[metric]}, mean of the data sets on which all methods of a protocol have a "
        f"figure ({counts})"
    )
    if beside:
        said += "; the paper's figure is that of the same sets under `paper`"
    header = ["Method", *(f"`{t.protocol}`" for t in tables), *(["the paper"] if beside else [])]
    return ["## In short", "", f"{said}.", "", *_markdown_table(header, rows)]


def _notes(results: Results) -> list[str]:
    failures = [
        f"{cell.method.name} on {cell.dataset.title}, {cell.kernel or 'no kernel'}: "
        f"{record.reason or record.status}"
        for cell, record in results.failures()[:200]
    ]
    reductions = [f"{method} on {title}. {note}" for title, method, note in results.reductions()]
    sections = {
        "What does not fit together": results.paper_notes(),
        "Where less was run (‡)": reductions,
        "Failures": failures,
    }
    lines: list[str] = []
    for title, notes in sections.items():
        if notes:
            lines += [f"## {title}", "", *(f"- {_plain(note)}" for note in notes), ""]
    return lines


def _markdown_table(header: list[str], rows: list[list[str]]) -> list[str]:
    rule = "|" + "---|" * len(header)
    first, *rest = [f"| {' | '.join(row)} |" for row in (header, *rows)]
    return [first, rule, *rest, ""]


def _number(value: float | None, best: bool = False) -> str:
    if value is None:
        text = "–"
    else:
        text = f"{value:.2f}"
    if best:
        return f"**{text}**"
    return text


def _plain(text: str) -> str:
    """A text in a Markdown table: on one line, with nothing that is markup."""
    text = " ".join(text.split()).replace("\\", "\\\\")
    for mark in "|`*_<>[]":
        text = text.replace(mark, {"<": "&lt;", ">": "&gt;"}.get(mark, "\\" + mark))
    return text


def _cell(figure: Figure, best: bool) -> str:
    text = _number(figure.value, best)
    if figure.spread is not None:
        text += f" ± {figure.spread:.2f}"
    text += ("†" if figure.partial else "") + ("‡" if figure.note else "")
    if figure.paper is not None:
        if figure.difference is None:
            difference = ""
        else:
            difference = f", {figure.difference:+.2f}"
        text += f" ({figure.paper:.2f}{difference})"
    return text
