"""The tables of a study as files: Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unispectral._errors import InputError
from unispectral._files import write_text_atomic
from unispectral.bench._csv import to_csv
from unispectral.bench._fields import check_choice
from unispectral.bench._latex import to_latex
from unispectral.bench._markdown import to_markdown
from unispectral.bench.results import Results

__all__ = ["FORMATS", "to_csv", "to_latex", "to_markdown", "write_tables"]

#: Formats, and how their files end.
FORMATS = {"markdown": ".md", "latex": ".tex", "csv": ".csv"}


def write_tables(
    results: Results,
    path: str | Path,
    format: str = "markdown",
    *,
    metrics: Sequence[str] | None = None,
    reference: str | None = None,
) -> Path:
    """Write the tables of a study.

    Parameters
    ----------
    results : Results
        The figures.
    path : path-like
        The file to write.
    format : {"markdown", "latex", "csv"}
        Markdown for people; LaTeX with ``booktabs``, for a paper; CSV with one line for each
        figure, for other programs.
    metrics : sequence of str
        Which scores; by default all of the study.
    reference : str
        The column that the others are compared with, by wins, ties and losses and by Wilcoxon's
        signed-rank test with Holm's correction; by default the one of the best average rank.

    Returns
    -------
    Path
        The file.
    """
    check_choice(format, FORMATS, "format")
    metrics = tuple(results.study.metrics if metrics is None else metrics)
    for metric in metrics:
        check_choice(metric, results.study.metrics, "metric")
    names = {c.name for protocol in results.protocols() for _, c in results.columns(protocol)}
    if reference is not None and reference not in names:
        listed = ", ".join(sorted(names))
        raise InputError("reference", "is no column", f"those are {listed}", value=reference)
    write = {"markdown": to_markdown, "latex": to_latex, "csv": to_csv}[format]
    write_text_atomic(path, write(results, metrics, reference))
    return Path(path)
