"""Tables as files: CSV and Parquet for machines, LaTeX and Markdown in the layout of the paper."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unispectral._files import atomic_path
from unispectral.bench.paper import paper_notes
from unispectral.bench.results import Figure, Results, Table
from unispectral.bench.study import METRICS

__all__ = ["FORMATS", "long_rows", "to_csv", "to_latex", "to_markdown", "write_tables"]

FORMATS = ("csv", "parquet", "latex", "markdown")
_SUFFIX = {"csv": ".csv", "parquet": ".parquet", "latex": ".tex", "markdown": ".md"}
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def write_tables(
    results: Results, folder: str | Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write the tables of a study into a folder.

    Parameters
    ----------
    results : Results
        The figures.
    folder : path-like
        Made if it does not exist.
    formats : sequence of {"csv", "parquet", "latex", "markdown"}
        What to write.

    Returns
    -------
    list of Path
        The files.
    """
    for name in formats:
        if name not in FORMATS:
            raise ValueError(f"format={name!r} is unknown; use one of {', '.join(FORMATS)}.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in formats:
        # The name of a study is a text of the user's: no separator of it may leave the folder.
        stem = "".join(c if c.isalnum() or c in "-_." else "-" for c in results.study.name)
        path = folder / f"{stem.lstrip('.') or 'study'}{_SUFFIX[name]}"
        with atomic_path(path) as temporary:
            if name == "parquet":
                _write_parquet(results, temporary)
            else:
                make = {"csv": to_csv, "latex": to_latex, "markdown": to_markdown}[name]
                temporary.write_text(make(results), encoding="utf-8")
        written.append(path)
    return written


def long_rows(results: Results) -> list[dict[str, Any]]:
    """One row per protocol, metric, data set and column."""
    rows: list[dict[str, Any]] = []
    for table in _tables(results):
        for dataset in table.datasets:
            best = table.best(dataset.name)
            rows += [
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
                    "best": figure.column in best,
                    "kernel": figure.kernel,
                    "parameters": _parameters(figure),
                    "seconds": figure.seconds,
                    "peak_megabytes": figure.peak_bytes and figure.peak_bytes / 2**20,
                    "cells_done": figure.done,
                    "cells_expected": figure.expected,
                    "cells_failed": figure.failed,
                    "note": figure.note,
                }
                for figure in table.row(dataset.name)
            ]
    return rows


def _parameters(figure: Figure) -> str | None:
    from unispectral.bench._cells import canonical

    return canonical(figure.parameters) if figure.parameters else None


def _tables(results: Results) -> list[Table]:
    return [
        results.table(protocol, metric)
        for protocol in results.protocols()
        for metric in results.study.metrics
    ]


def to_csv(results: Results) -> str:
    """All figures in long form; a text that a spreadsheet would run as a formula is quoted."""
    rows = long_rows(results)
    stream = io.StringIO()
    if rows:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: _harmless(value) for key, value in row.items()})
    return stream.getvalue()


def _harmless(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value


def _write_parquet(results: Results, path: Path) -> None:
    from unispectral._compat import optional

    arrow = optional("pyarrow", extra="io")
    parquet = optional("pyarrow.parquet", extra="io")
    parquet.write_table(arrow.Table.from_pylist(long_rows(results)), path)


def to_markdown(results: Results) -> str:
    """The tables in the layout of the paper: our figure, the paper's, the difference."""
    lines = [f"# {_plain(results.study.title)}", ""]
    if results.study.about:
        lines += [_plain(results.study.about.strip()), ""]
    lines += [
        "Per cent. **Best of the row in bold**; in parentheses the paper's figure and the "
        "difference; † marks a figure whose cells are not all done, ‡ one with a note below.",
        "",
        *_in_short(results),
    ]
    for table in _tables(results):
        lines += [f"## {METRICS[table.metric]}, protocol `{table.protocol}`", ""]
        header = ["Data", *table.columns]
        lines += ["| " + " | ".join(_plain(name) for name in header) + " |"]
        lines += ["|" + "---|" * len(header)]
        for dataset in table.datasets:
            best = table.best(dataset.name)
            entries = [_markdown(f, f.column in best) for f in table.row(dataset.name)]
            lines += ["| " + " | ".join([_plain(dataset.title), *entries]) + " |"]
        entries = [_number(mean) for mean in table.means().values()]
        lines += ["| " + " | ".join(["*Mean of full rows*", *entries]) + " |", ""]
    return "\n".join(lines + _markdown_notes(results)) + "\n"


def _in_short(results: Results) -> list[str]:
    """One line per column: means over the data sets that a protocol has in full."""
    metric = results.study.metrics[0]
    tables = [results.table(protocol, metric) for protocol in results.protocols()]
    means = [table.means() for table in tables]
    papers: dict[str, float | None] = {}
    for table in tables:
        for column, mean in table.paper_means().items():
            papers.setdefault(column, mean)
    header = ["Method", *(f"`{table.protocol}`" for table in tables), "the paper"]
    lines = [
        "## In short",
        "",
        f"{METRICS[metric]}, mean of the data sets on which all methods of ",
    ]
    counts = ", ".join(f"{len(table.full())} under `{table.protocol}`" for table in tables)
    lines[-1] += (
        f"a protocol have a figure ({counts}); the paper's figure is that of the same sets."
    )
    lines += ["", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    best = [max((m for m in found.values() if m is not None), default=None) for found in means]
    for column in dict.fromkeys(column for table in tables for column in table.columns):
        row = [
            f"**{_number(mean)}**" if mean is not None and mean == top else _number(mean)
            for mean, top in ((m.get(column), b) for m, b in zip(means, best, strict=True))
        ]
        lines += ["| " + " | ".join([_plain(column), *row, _number(papers[column])]) + " |"]
    return [*lines, ""]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _markdown_notes(results: Results) -> list[str]:
    lines = []
    if results.compares():
        lines += ["## What does not fit together", ""]
        lines += [*(f"- {_plain(note)}" for note in paper_notes()), ""]
    if reductions := results.reductions():
        lines += ["## Where less was run (‡)", ""]
        lines += [
            f"- {_plain(f'{method} on {title}. {note}')}" for title, method, note in reductions
        ]
        lines += [""]
    if failures := results.failures():
        lines += ["## Failures", ""]
        for cell, record in failures[:200]:
            text = f"{cell.method.name} on {cell.dataset.title}, {cell.kernel or 'no kernel'}: "
            lines += [f"- {_plain(text + (record.reason or record.status))}"]
        lines += [""]
    return lines


def _plain(text: str) -> str:
    """A text in a Markdown table: on one line, with nothing that is markup."""
    text = " ".join(text.split()).replace("\\", "\\\\")
    for mark in "|`*_<>[]":
        text = text.replace(mark, {"<": "&lt;", ">": "&gt;"}.get(mark, "\\" + mark))
    return text


def _marks(figure: Figure) -> str:
    return ("†" if figure.partial else "") + ("‡" if figure.note else "")


def _markdown(figure: Figure, best: bool) -> str:
    if figure.value is None:
        text = "–"
    else:
        text = f"**{figure.value:.2f}**" if best else f"{figure.value:.2f}"
    text += _marks(figure)
    if figure.paper is not None:
        text += f" ({figure.paper:.2f}"
        text += f", {figure.difference:+.2f})" if figure.difference is not None else ")"
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
            best = table.best(dataset.name)
            row = table.row(dataset.name)
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
