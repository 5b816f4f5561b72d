"""One HTML file that needs nothing else: markup, style, script and data, under a strict policy."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np

from unispectral._version import __version__

# JSON may hold these as escapes, and then no value can end the element that carries it.
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="unispectral {version}">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<noscript>This page draws its pictures and tables with JavaScript, which is switched off here. \
Nothing is loaded from elsewhere: it is safe to switch it on.</noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def build_page(title: str, data: Mapping[str, Any], style: str = "", script: str = "") -> str:
    """Put a page together: the shared style and script, then the page's own.

    The page loads nothing, sends nothing and runs only the scripts given here: its content
    security policy names them by their hashes. Data reach it as JSON in an element of their own;
    the shared script (``UI``) turns them into text nodes, never into markup.
    """
    style = asset("base.css") + "\n" + style
    script = asset("base.js") + "\n" + script
    for name, source in (("style", style), ("script", script)):
        if f"</{name}" in source.lower():
            raise ValueError(f"The {name} of a page must not hold the text '</{name}'.")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    given = {"style": style, "data": to_json(data), "script": script, "policy": policy}
    return _PAGE.format(version=html.escape(__version__), title=html.escape(title), **given)


def to_json(data: object) -> str:
    """Write data as JSON that is safe inside an HTML page.

    NumPy arrays and numbers are taken, fractions get six digits, what is not finite becomes null,
    and the signs that mean something to HTML are written as escapes.
    """
    text = json.dumps(_plain(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Lone surrogates have no encoding.
    return text.translate(_ESCAPES).encode("utf-8", "replace").decode("utf-8")


def asset(name: str) -> str:
    """Read a text file of the folder ``assets``, which has the styles and scripts of all pages."""
    return (resources.files("unispectral.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _plain(value: object) -> Any:
    """The same data made of what JSON knows."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, bool) or value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value)
