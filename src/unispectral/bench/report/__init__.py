"""The report of a study: one page that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib import resources
from pathlib import Path

from unispectral._files import atomic_path
from unispectral.bench.report._payload import payload
from unispectral.bench.results import Results

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
    page = render(results, command=command)
    with atomic_path(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return Path(path)


def render(results: Results, *, command: str = "") -> str:
    """The report as a text.

    The script and the style are allowed by their digests and nothing else is: a value of the data
    could not run even if it got out of the text nodes into which the script puts it.
    """
    folder = resources.files("unispectral.bench.report")
    page, style, script = (
        (folder / name).read_text(encoding="utf-8")
        for name in ("page.html", "page.css", "page.js")
    )
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )
    parts = {
        "CSP": policy,
        "TITLE": html.escape(results.study.title),
        "STYLE": style,
        "DATA": _json(payload(results, command)),
        "SCRIPT": script,
    }
    # One pass from left to right, so that nothing inserted is looked at again.
    pieces = page.split("@@")
    for place in range(1, len(pieces), 2):
        pieces[place] = parts[pieces[place]]
    return "".join(pieces)


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(content: object) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return (
        text.replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
