"""``unispectral profile``: what the columns of a table are, before clustering them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click

from unispectral.cli import _options
from unispectral.cli._outputs import check_outputs, echo_json, say

__all__ = ["profile"]

_EPILOG = """\b
Examples:
  unispectral profile customers.csv
  unispectral profile customers.xlsx --sheet 2024 --report columns.html
  unispectral profile survey.csv --order 'bad,so so,good' --json
"""
_USED = {"use": "yes", "id": "as name", "supplementary": "shown", "leave out": "no"}
#: Columns that are listed where there are more; first those that are not simply used.
_LISTED = 60
#: The widest that a name, or an example, is shown.
_NAME = 24
_EXAMPLE = 16


@click.command(epilog=_EPILOG)
@click.argument("table")
@_options.file_option("--report", help="The same as a page: one HTML file, works offline.")
@_options.json_option
@_options.table_options()
@_options.output_options
def profile(table: str, report: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """Say of each column of a TABLE what it is, and whether it would be clustered by.

    Nothing is clustered. "shown" columns do not make the clusters, but are shown beside them.
    """
    check_outputs({"report": report}, [table], as_json=as_json)
    from unispectral._errors import plural
    from unispectral.cli._input import look
    from unispectral.tables._table import columns_in_words

    found, notes = look(table, options)
    if table == "-":
        name = "standard input"
    else:
        name = Path(table).name
    lines = columns_in_words(found.plans, found.profile)
    if report:
        from unispectral.report import write_profile

        write_profile(report, found.part, found.plans, found.profile, title=name, notes=notes)
    if as_json:
        records = found.profile.to_frame().astype(object)
        records = records.where(records.notna(), None).to_dict("records")
        rows = vars(found.profile.rows)
        echo_json({"table": table, "columns": records, "rows": rows, "notes": notes})
        return
    size = f"{plural(found.profile.rows.n, 'row')}, {plural(len(found.profile), 'column')}"
    click.echo("\n".join([f"{name}: {size}", "", *_lines(found), "", *lines]))
    for note in notes:
        say(note, quiet=quiet)
    if report:
        click.echo(f"\nWrote {report}.")


def _lines(found: Any) -> list[str]:
    """The columns as a table that fits the terminal."""
    heads = ("column", "kind", "used", "missing", "distinct", "example", "why")
    rows = []
    columns = _most_telling(list(found.profile))
    for column in columns:
        if column.missing:
            gaps = f"{100 * column.missing:.1f} %"
        else:
            gaps = ""
        why = column.reason + (f", but {column.doubt}" if column.doubt else "")
        used = _USED[column.role] + ("?" if column.role == "use" and column.doubt else "")
        first = (_cut(column.name, _NAME), column.kind, used, gaps, f"{column.distinct:,}")
        rows.append((*first, _cut(" ".join(column.example.split()), _EXAMPLE), why))
    widths = [max(map(len, cells)) for cells in zip(heads, *rows, strict=True)]
    room = shutil.get_terminal_size().columns - sum(widths[:-1]) - 2 * len(widths)
    widths[-1] = max(20, room)
    lines = [_row(row, widths) for row in (heads, *rows)]
    if len(columns) < len(found.profile):
        lines.append(f"… and {len(found.profile) - len(columns):,} more columns (--json has all)")
    return lines


def _most_telling(columns: list[Any]) -> list[Any]:
    """The first columns in their order, of many rather those that are not simply used."""
    odd = [at for at, column in enumerate(columns) if column.role != "use" or column.doubt]
    first = [*odd[: _LISTED // 2], *range(len(columns))]
    return [columns[at] for at in sorted(list(dict.fromkeys(first))[:_LISTED])]


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    shown = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    for number in (3, 4):
        shown[number] = cells[number].rjust(widths[number])
    shown[-1] = _cut(cells[-1], widths[-1])
    return "  ".join(shown).rstrip()


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: most - 1] + "…"
