"""Copy tables of docs/results into the README: ``python docs/fill_readme.py``.

A place for a table is a pair of comments, ``<!-- from docs/results/x.md: heading -->`` and
``<!-- end -->``. Between them stands the first table under that heading, as the file has it, or
that it has not been run yet.
"""

from __future__ import annotations

import re
from pathlib import Path

from unispectral._files import write_text_atomic

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
ABSENT = "*Not run yet.*"
_PLACE = re.compile(r"<!-- from (\S+): (.+?) -->\n.*?<!-- end -->", re.S)


def first_table(text: str, heading: str) -> str:
    """The lines of the first table under a heading; nothing if there is none."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("#") and line.lstrip("# ") == heading:
            break
    table = []
    for line in lines:
        if line.startswith("|"):
            table.append(line)
        elif table or line.startswith("#"):
            break
    return "\n".join(table)


def filled(readme: str, root: Path = ROOT) -> str:
    """The README with every table as its file has it now."""

    def fill(place: re.Match[str]) -> str:
        source, heading = place.groups()
        path = root / source
        table = first_table(path.read_text("utf-8"), heading) if path.is_file() else ""
        return f"<!-- from {source}: {heading} -->\n{table or ABSENT}\n<!-- end -->"

    return _PLACE.sub(fill, readme)


if __name__ == "__main__":
    write_text_atomic(README, filled(README.read_text("utf-8")))
