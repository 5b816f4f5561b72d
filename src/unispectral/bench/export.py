"""The tables of a study as Markdown, in the layout of the paper."""

from __future__ import annotations

from pathlib import Path

from unispectral._files import write_text_atomic
from unispectral.bench.results import Figure, Results
from unispectral.bench.study import METRICS

__all__ = ["to_markdown", "write_tables"]


def write_tables(results: Results, path: str | Path) -> Path:
    """Write the tables of a study as a Markdown file; its path is returned."""
    write_text_atomic(path, to_markdown(results))
    return Path(path)


def to_markdown(results: Results) -> str:
    """The tables in the layout of the paper: our figure, the paper's, the difference."""
    study = results.study
    titles = {dataset.name: _plain(dataset.title) for dataset in study.datasets}
    lines = [f"# {_plain(study.title)}", ""]
    if study.about:
        lines += [_plain(study.about), ""]
    lines += [
        "Per cent. **Best of the row in bold**; in parentheses the paper's figure and the "
        "difference; † marks a figure whose cells are not all done, ‡ one with a note below.",
        "",
        *_in_short(results),
    ]
    for table in (results.table(p, m) for p in results.protocols() for m in study.metrics):
        rows = []
        for name, row in table.rows.items():
            best = table.best(name)
            rows.append([titles[name], *(_markdown(f, f.column in best) for f in row)])
        rows.append(["*Mean of full rows*", *map(_number, table.means().values())])
        lines += [f"## {METRICS[table.metric]}, protocol `{table.protocol}`", ""]
        lines += _markdown_table(["Data", *map(_plain, table.columns)], rows)
    return "\n".join(lines + _markdown_notes(results)) + "\n"


def _markdown_table(header: list[str], rows: list[list[str]]) -> list[str]:
    rule = "|" + "---|" * len(header)
    first, *rest = [f"| {' | '.join(row)} |" for row in (header, *rows)]
    return [first, rule, *rest, ""]


def _in_short(results: Results) -> list[str]:
    """One line per column: means over the data sets that a protocol has in full."""
    metric = results.study.metrics[0]
    tables = [results.table(protocol, metric) for protocol in results.protocols()]
    means = [table.means() for table in tables]
    best = [max((m for m in found.values() if m is not None), default=None) for found in means]
    papers: dict[str, float | None] = {}
    for table in tables:  # those under `paper` are the last
        papers.update(table.means("paper"))
    rows = []
    for column in papers:
        own = [(found.get(column), top) for found, top in zip(means, best, strict=True)]
        row = [_number(mean, mean is not None and mean == top) for mean, top in own]
        rows.append([_plain(column), *row, _number(papers[column])])
    counts = ", ".join(f"{len(table.full())} under `{table.protocol}`" for table in tables)
    return [
        "## In short",
        "",
        f"{METRICS[metric]}, mean of the data sets on which all methods of a protocol have a "
        f"figure ({counts}); the paper's figure is that of the same sets, of those under `paper` "
        "where a method has both.",
        "",
        *_markdown_table(["Method", *(f"`{t.protocol}`" for t in tables), "the paper"], rows),
    ]


def _number(value: float | None, best: bool = False) -> str:
    text = "–" if value is None else f"{value:.2f}"
    return f"**{text}**" if best else text


def _markdown_notes(results: Results) -> list[str]:
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


def _plain(text: str) -> str:
    """A text in a Markdown table: on one line, with nothing that is markup."""
    text = " ".join(text.split()).replace("\\", "\\\\")
    for mark in "|`*_<>[]":
        text = text.replace(mark, {"<": "&lt;", ">": "&gt;"}.get(mark, "\\" + mark))
    return text


def _markdown(figure: Figure, best: bool) -> str:
    marks = ("†" if figure.partial else "") + ("‡" if figure.note else "")
    text = _number(figure.value, best) + marks
    if figure.paper is not None:
        difference = "" if figure.difference is None else f", {figure.difference:+.2f}"
        text += f" ({figure.paper:.2f}{difference})"
    return text
