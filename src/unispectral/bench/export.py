"""Tables as files: CSV for machines, LaTeX and Markdown in the layout of the paper."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from unispectral._files import write_text_atomic
from unispectral.bench._cells import canonical
from unispectral.bench.method import check_choice
from unispectral.bench.paper import paper_notes
from unispectral.bench.results import Figure, Results, ResultTable, Setting
from unispectral.bench.study import METRICS
from unispectral.tables._write import escape_formula

__all__ = ["FORMATS", "long_rows", "to_csv", "to_latex", "to_markdown", "write_tables"]

#: What can be written, with the suffix of its file.
FORMATS = {"csv": ".csv", "latex": ".tex", "markdown": ".md"}
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def write_tables(
    results: Results, folder: str | Path, formats: Iterable[str] = FORMATS
) -> list[Path]:
    """Write the tables of a study into a folder.

    Parameters
    ----------
    results : Results
        The figures.
    folder : path-like
        Made if it does not exist.
    formats : sequence of {"csv", "latex", "markdown"}
        What to write.

    Returns
    -------
    list of Path
        The files.
    """
    for name in formats:
        check_choice(name, FORMATS, "format")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # The name of a study is a text of the user's: no separator of it may leave the folder.
    stem = "".join(c if c.isalnum() or c in "-_." else "-" for c in results.study.name)
    makers = {"csv": to_csv, "latex": to_latex, "markdown": to_markdown}
    written = []
    for name in formats:
        written.append(folder / f"{stem.lstrip('.') or 'study'}{FORMATS[name]}")
        write_text_atomic(written[-1], makers[name](results))
    return written


def long_rows(results: Results) -> list[dict[str, Any]]:
    """One row per protocol, metric, data set and column."""
    return [
        {
            "study": results.study.name,
            "protocol": table.protocol,
            "metric": table.metric,
            "dataset": dataset.title,
            "column": figure.column,
            "value": figure.value,
            "spread": figure.spread,
            "paper": figure.paper,
            "difference": figure.difference,
            "best": figure.column in table.best(dataset.name),
            "kernel": setting.kernel,
            "bank": setting.bank,
            "parameters": canonical(setting.parameters) if setting.parameters else None,
            "seconds": figure.seconds,
            "peak_megabytes": figure.peak_bytes and figure.peak_bytes / 2**20,
            "cells_done": figure.done,
            "cells_expected": figure.expected,
            "cells_failed": figure.failed,
            "note": figure.note,
        }
        for table in _tables(results)
        for dataset in table.datasets
        for figure in table.row(dataset.name)
        for setting in [figure.setting or Setting(None, {})]
    ]


def _tables(results: Results) -> list[ResultTable]:
    return [results.table(p, m) for p in results.protocols() for m in results.study.metrics]


def to_csv(results: Results) -> str:
    """All figures in long form; a text that a spreadsheet would run as a formula is quoted."""
    rows = long_rows(results)
    stream = io.StringIO()
    if rows:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            short = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}
            writer.writerow({key: escape_formula(value) for key, value in short.items()})
    return stream.getvalue()


def to_markdown(results: Results) -> str:
    """The tables in the layout of the paper: our figure, the paper's, the difference."""
    study = results.study
    lines = [f"# {_plain(study.title)}", ""]
    if study.about:
        lines += [_plain(study.about), ""]
    lines += [
        "Per cent. **Best of the row in bold**; in parentheses the paper's figure and the "
        "difference; † marks a figure whose cells are not all done, ‡ one with a note below.",
        "",
        *_in_short(results),
    ]
    for table in _tables(results):
        rows = []
        for dataset in table.datasets:
            best = table.best(dataset.name)
            figures = [_markdown(f, f.column in best) for f in table.row(dataset.name)]
            rows.append([_plain(dataset.title), *figures])
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
    for table in sorted(tables, key=lambda table: table.protocol == "paper"):
        papers.update(table.paper_means())
    rows = []
    for column in dict.fromkeys(column for table in tables for column in table.columns):
        row = [_plain(column)]
        for found, top in zip(means, best, strict=True):
            mean = found.get(column)
            text = _number(mean)
            row.append(f"**{text}**" if mean is not None and mean == top else text)
        rows.append([*row, _number(papers[column])])
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


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _markdown_notes(results: Results) -> list[str]:
    failures = [
        f"{cell.method.name} on {cell.dataset.title}, {cell.kernel or 'no kernel'}: "
        f"{record.reason or record.status}"
        for cell, record in results.failures()[:200]
    ]
    reductions = [f"{method} on {title}. {note}" for title, method, note in results.reductions()]
    sections = {
        "What does not fit together": paper_notes() if results.compares() else [],
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
    text = f"**{_number(figure.value)}**" if best else _number(figure.value)
    text += ("†" if figure.partial else "") + ("‡" if figure.note else "")
    if figure.paper is not None:
        difference = "" if figure.difference is None else f", {figure.difference:+.2f}"
        text += f" ({figure.paper:.2f}{difference})"
    return text


def to_latex(results: Results) -> str:
    """The tables for a paper of one's own; needs the packages booktabs and graphicx."""
    lines = ["% Needs \\usepackage{booktabs,graphicx}."]
    for table in _tables(results):
        caption = (
            f"{METRICS[table.metric]} (per cent), protocol {table.protocol}; below each figure "
            "the paper's and the difference."
        )
        lines += [
            r"\begin{table}",
            r"  \centering",
            f"  \\caption{{{_tex(caption)}}}",
            r"  \resizebox{\textwidth}{!}{%",
            f"  \\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
            r"    \toprule",
            "    Data & " + " & ".join(_tex(name) for name in table.columns) + r" \\",
            r"    \midrule",
        ]
        for dataset in table.datasets:
            best, row = table.best(dataset.name), table.row(dataset.name)
            ours = " & ".join(_latex(f, f.column in best) for f in row)
            lines += [f"    {_tex(dataset.title)} & {ours}" + r" \\"]
            if any(figure.paper is not None for figure in row):
                papers = " & ".join(_latex_paper(f) for f in row)
                lines += [f"     & {papers}" + r" \\"]
        lines += [r"    \bottomrule", r"  \end{tabular}}", r"\end{table}", ""]
    return "\n".join(lines) + "\n"


def _tex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def _latex(figure: Figure, best: bool) -> str:
    if figure.value is None:
        return "--"
    text = f"\\textbf{{{figure.value:.2f}}}" if best else f"{figure.value:.2f}"
    return text + (r"$^\dagger$" if figure.partial else "")


def _latex_paper(figure: Figure) -> str:
    if figure.paper is None:
        return ""
    difference = "" if figure.difference is None else f" ({figure.difference:+.2f})"
    return f"\\scriptsize {figure.paper:.2f}{difference}"
