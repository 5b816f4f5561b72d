"""Markdown files of the repository as parts of the manual.

``.. results:: file.md`` shows what a command wrote to docs/results, as it stands; a file that has
not been made yet is replaced by a sentence with the command that makes it. ``.. markdown:: file``
shows any other. Headings, paragraphs, lists, tables and code are known, which is what these files
are made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, directives

_INLINE = re.compile(
    r"\\([\\`*_\[\]|])"  # an escaped mark
    r"|`([^`]+)`|\*\*([^*]+)\*\*|(?<!\w)\*(?=\S)([^*]+)(?<=\S)\*(?!\w)"
    r"|\[([^\]]+)\]\([^)]*\)"
)
_RULE = re.compile(r"^\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?$")


def inline(text: str) -> Iterator[nodes.Node]:
    """Code, bold, emphasis, escaped marks and the words of links; everything else as it is."""
    start = 0
    for found in _INLINE.finditer(text):
        if found.start() > start:
            yield nodes.Text(unescape(text[start : found.start()]))
        escaped, code, bold, stressed, link = found.groups()
        if code is not None:
            yield nodes.literal(text=code)
        elif bold is not None:
            yield nodes.strong(text=unescape(bold))
        elif stressed is not None:
            yield nodes.emphasis(text=unescape(stressed))
        else:
            yield nodes.Text(escaped or unescape(link))
        start = found.end()
    if start < len(text):
        yield nodes.Text(unescape(text[start:]))


def cells(line: str) -> list[str]:
    """The cells of one line of a table."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def entry(cell: str) -> nodes.entry:
    """A cell of a table, of one line or of several."""
    parts = cell.split("<br>")
    if len(parts) == 1:
        return nodes.entry("", nodes.paragraph("", "", *inline(cell)))
    return nodes.entry("", nodes.line_block("", *(nodes.line("", "", *inline(p)) for p in parts)))


def table(lines: list[str]) -> nodes.table:
    """A table of Markdown lines, the second of which is its rule."""
    head, *body = [cells(line) for line in lines if not _RULE.match(line)]
    width = len(head)
    group = nodes.tgroup(cols=width)
    group += [nodes.colspec(colwidth=1) for _ in head]
    for part, rows in ((nodes.thead(), [head]), (nodes.tbody(), body)):
        for row in rows:
            entries = nodes.row()
            for cell in (row + [""] * width)[:width]:
                entries += entry(cell)
            part += entries
        group += part
    return nodes.table("", group, classes=["results"])


def convert(text: str) -> Iterator[nodes.Node]:
    """The nodes of a Markdown file; pictures and raw HTML are left out."""
    block: list[str] = []
    fenced = False
    for line in [*text.splitlines(), ""]:
        if line.startswith("```"):
            if not fenced:
                yield from _block(block)
                block = []
            fenced = not fenced
            if not fenced:
                yield nodes.literal_block(text="\n".join(block))
                block = []
        elif line.strip() or fenced:
            block.append(line)
        else:
            yield from _block(block)
            block = []


def _block(lines: list[str]) -> Iterator[nodes.Node]:
    while lines and lines[0].startswith("#"):
        depth = len(lines[0]) - len(lines[0].lstrip("#"))
        if depth > 1:  # the page that shows the file has a title of its own
            yield nodes.rubric("", "", *inline(lines[0].lstrip("# ")))
        lines = lines[1:]
    if not lines or lines[0].startswith(("![", "<")):
        return
    if lines[0].startswith("|") and len(lines) > 1:
        yield table(lines)
    elif lines[0].startswith(("- ", "* ")):
        items = nodes.bullet_list()
        for item in re.split(r"\n(?=[-*] )", "\n".join(lines)):
            words = " ".join(item[2:].split())
            items += nodes.list_item("", nodes.paragraph("", "", *inline(words)))
        yield items
    else:
        yield nodes.paragraph("", "", *inline(" ".join(line.strip() for line in lines)))


class Results(Directive):
    """``.. results:: speed.md`` with ``:command: make bench``."""

    required_arguments = 1
    option_spec = {"command": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        path = Path(env.srcdir) / "results" / self.arguments[0]
        env.note_dependency(str(path))
        command = nodes.literal(text=self.options["command"])
        if not path.is_file():
            sentence = nodes.paragraph("", "The table is written by ")
            sentence += [command, nodes.Text("; it has not been run here yet.")]
            return [sentence]
        origin = nodes.paragraph("", "Written by ")
        origin += [command, nodes.Text(f" to docs/results/{path.name}.")]
        return [origin, *convert(path.read_text(encoding="utf-8"))]


class Markdown(Directive):
    """``.. markdown:: ../CHANGELOG.md``, without its title."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        path = Path(env.srcdir) / self.arguments[0]
        env.note_dependency(str(path))
        return list(convert(path.read_text(encoding="utf-8")))


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("results", Results)
    app.add_directive("markdown", Markdown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
