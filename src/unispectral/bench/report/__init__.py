"""The report of a study: one page that needs nothing but itself."""

from __future__ import annotations

from pathlib import Path

from unispectral._files import write_text_atomic
from unispectral.bench.report._payload import payload
from unispectral.bench.results import Results
from unispectral.report._page import asset, build_page

__all__ = ["render", "write_report"]


def write_report(results: Results, path: str | Path, *, command: str = "") -> Path:
    """Write the report of a study as one HTML file.

    Parameters
    ----------
    results : Results
        The figures.
    path : path-like
        The file to write.
    command : str
        The command that made the results, for the last section.

    Returns
    -------
    Path
        The file.
    """
    write_text_atomic(path, render(results, command=command))
    return Path(path)


def render(results: Results, *, command: str = "") -> str:
    """The report as a text."""
    style, script = (asset(name, __name__) for name in ("study.css", "study.js"))
    return build_page(results.study.title, payload(results, command), style, script)
