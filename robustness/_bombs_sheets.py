"""Workbooks whose meaning is large."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from robustness._bombs import add_bomb

_OOXML = "http://schemas.openxmlformats.org/"
_MAIN = f"{_OOXML}spreadsheetml/2006/main"
_RELATIONS = f"{_OOXML}package/2006/relationships"
_OFFICE = f"{_OOXML}officeDocument/2006/relationships"


def _workbook(rows: str, *, before: str = "", strings: str | None = None, **parts: str) -> bytes:
    related = {"b": ("worksheet", "worksheets/sheet1.xml")}
    if strings is not None:
        related["s"] = ("sharedStrings", "sharedStrings.xml")
    listed = "".join(
        f'<Relationship Id="{key}" Type="{_OFFICE}/{kind}" Target="{place}"/>'
        for key, (kind, place) in related.items()
    )
    types = f"{_OOXML}package/2006/content-types"
    document = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    shared = ""
    if strings is not None:
        shared = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{document}.'
        shared += 'sharedStrings+xml"/>'
    content = {
        "[Content_Types].xml": f'<Types xmlns="{types}"><Override PartName="/xl/workbook.xml" '
        f'ContentType="{document}.sheet.main+xml"/>{shared}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="a" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="s" sheetId="1" r:id="b"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{listed}'
        "</Relationships>",
        "xl/worksheets/sheet1.xml": f'{before}<worksheet xmlns="{_MAIN}"><sheetData>{rows}'
        "</sheetData></worksheet>",
        **parts,
    }
    if strings is not None:
        content["xl/sharedStrings.xml"] = f'<sst xmlns="{_MAIN}">{strings}</sst>'
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    return made.getvalue()


def _cell(place: str, value: Any = 1, kind: str = "n") -> str:
    return f'<c r="{place}" t="{kind}"><v>{value}</v></c>'


def _row(number: int, *cells: str) -> str:
    return f'<row r="{number}">{"".join(cells)}</row>'


_SMALL = _row(1, _cell("A1"), _cell("B1", 2)) + _row(2, _cell("A2", 3), _cell("B2", 4))
_FAR = {1: ("J", 10), 2: ("CV", 100), 3: ("ALL", 1000), 4: ("NTP", 10_000), 5: ("XFD", 2**20)}


@add_bomb("xlsx", "corners")
def _(factor: int) -> bytes:
    column, number = _FAR.get(factor, ("XFD", 999_999_999))
    return _workbook(_row(1, _cell("A1"), _cell(f"{column}1")) + _row(number, _cell(f"A{number}")))


@add_bomb("xlsx", "a row far below")
def _(factor: int) -> bytes:
    number = 10 ** (factor + 3)
    return _workbook(_SMALL + _row(number, _cell(f"A{number}"), _cell(f"B{number}")))


@add_bomb("xlsx", "an empty cell far below")
def _(factor: int) -> bytes:
    number = 10**factor
    return _workbook(_SMALL + _row(max(number, 3), f'<c r="B{max(number, 3)}"/>'))


@add_bomb("xlsx", "wide empty rows")
def _(factor: int) -> bytes:
    rows = (_row(i, f'<c r="XFD{i}"/>') for i in range(3, 4**factor + 3))
    return _workbook(_SMALL + "".join(rows))


@add_bomb("xlsx", "wide filled rows")
def _(factor: int) -> bytes:
    rows = (_row(i, _cell(f"XFD{i}")) for i in range(3, 4**factor + 3))
    return _workbook(_SMALL + "".join(rows))


@add_bomb("xlsx", "one string in all cells")
def _(factor: int) -> bytes:
    rows = "".join(
        _row(i, _cell(f"A{i}", i), _cell(f"B{i}", 0, "s")) for i in range(1, 200 * factor)
    )
    return _workbook(rows, strings=f"<si><t>{'a' * 10 ** min(factor + 2, 7)}</t></si>")


@add_bomb("xlsx", "digits in all cells")
def _(factor: int) -> bytes:
    rows = "".join(
        _row(i, _cell(f"A{i}", i), _cell(f"B{i}", 0, "s")) for i in range(1, 100 * factor)
    )
    return _workbook(rows, strings=f"<si><t>{'1' * 10**factor}</t></si>")


@add_bomb("xlsx", "entities")
def _(factor: int) -> bytes:
    define = "<!DOCTYPE w [<!ENTITY a0 'aaaaaaaaaa'>"
    define += "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 2 * factor))
    return _workbook(_row(1, _cell("A1", f"&a{2 * factor - 1};")), before=f"{define}]>")


@add_bomb("xlsx", "deep strings")
def _(factor: int) -> bytes:
    deep = "<r>" * 10**factor + "</r>" * 10**factor
    return _workbook(_SMALL, strings=f"<si>{deep}</si>")


@add_bomb("xlsx", "many strings")
def _(factor: int) -> bytes:
    return _workbook(_SMALL, strings="<si/>" * 10**factor)


@add_bomb("xlsx", "many sheets")
def _(factor: int) -> bytes:
    sheets = "".join(
        f'<sheet name="{i}" sheetId="{i}" r:id="b"/>' for i in range(1, 2 * 4**factor)
    )
    book = f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets></workbook>'
    return _workbook(_SMALL, **{"xl/workbook.xml": book})


@add_bomb("xlsx", "a false dimension")
def _(factor: int) -> bytes:
    sheet = f'<worksheet xmlns="{_MAIN}"><dimension ref="A1:XFD{10 ** (factor + 1)}"/><sheetData>'
    parts = {"xl/worksheets/sheet1.xml": f"{sheet}{_SMALL}</sheetData></worksheet>"}
    return _workbook("", **parts)


@add_bomb("xlsx", "a part beside")
def _(factor: int) -> bytes:
    return _workbook(_SMALL, **{"xl/styles.xml": "<a/>" * 10**factor})
