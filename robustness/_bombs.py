"""Small files whose meaning is large, for every reader and loader.

A bomb is made from its name alone. A factor 1 to 6 makes the same kind of file larger: the small
ones should be read, the large ones refused, and none may take the machine down.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

__all__ = ["BOMBS", "FACTORS", "bomb"]

#: How large a bomb is meant to be, from harmless to absurd.
FACTORS = (1, 2, 3, 4, 5, 6)
Maker = Callable[[int], bytes]
#: By format and kind; the name of a format is also the ending of the file.
BOMBS: dict[tuple[str, str], Maker] = {}


def _bomb(format: str, kind: str) -> Callable[[Maker], Maker]:
    def add(maker: Maker) -> Maker:
        BOMBS[format, kind] = maker
        return maker

    return add


def bomb(format: str, kind: str, factor: int) -> bytes:
    """The bytes of one file."""
    return BOMBS[format, kind](factor)


# Text -------------------------------------------------------------------------------------------


def _lines(n: int, width: int = 3) -> list[str]:
    return [",".join(str((i * 7 + j) % 13) for j in range(width)) for i in range(n)]


@_bomb("csv", "one long id")
def _(factor: int) -> bytes:
    lines = [f"r{i},{i % 7},{i % 3}" for i in range(4_000 * factor)]
    lines[-7] = "a" * 50_000 * factor + ",1,2"
    return "\n".join(["id,x,y", *lines]).encode()


@_bomb("csv", "equal names")
def _(factor: int) -> bytes:
    width = 1_500 * factor
    return "\n".join([",".join(["a"] * width), *_lines(3, width)]).encode()


@_bomb("csv", "names that count")
def _(factor: int) -> bytes:
    width = 700 * factor
    names = ["a", *(f"a_{i}" for i in range(2, width)), *["a"] * width]
    return "\n".join([",".join(names), *_lines(3, len(names))]).encode()


@_bomb("csv", "long names")
def _(factor: int) -> bytes:
    return ("a" * 10**factor + ",b\n1,2\n3,4\n5,6\n").encode()


@_bomb("csv", "one long cell")
def _(factor: int) -> bytes:
    return ("a,b\n1," + "9" * 10**factor + "\n3,4\n5,6\n").encode()


@_bomb("csv", "an open quote")
def _(factor: int) -> bytes:
    return ('a,b\n1,"' + "\n".join(_lines(5_000 * factor))).encode()


@_bomb("csv", "empty lines")
def _(factor: int) -> bytes:
    return b"a,b\n1,2\n" + b"\n" * 10**factor + b"3,4\n"


@_bomb("csv", "separators")
def _(factor: int) -> bytes:
    return b"a" + b"," * 20_000 * factor + b"\n1" + b"," * 20_000 * factor + b"\n"


def _packed(pack: Callable[[bytes], bytes]) -> Maker:
    def make(factor: int) -> bytes:
        return pack(b"a,b\n" + b"1,2\n" * (10**factor * 30))

    return make


BOMBS["csv.gz", "equal lines"] = _packed(gzip.compress)
BOMBS["csv.bz2", "equal lines"] = _packed(bz2.compress)
BOMBS["csv.xz", "equal lines"] = _packed(lzma.compress)


@_bomb("csv.gz", "zeros")
def _(factor: int) -> bytes:
    return gzip.compress(b"0" * 10 ** (factor + 2))


@_bomb("csv.gz", "packed twice")
def _(factor: int) -> bytes:
    return gzip.compress(gzip.compress(b"1,2\n" * 10 ** (factor + 1)))


@_bomb("csv.xz", "zeros")
def _(factor: int) -> bytes:
    return lzma.compress(b"0," * 10 ** (factor + 1))


# Excel ------------------------------------------------------------------------------------------

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


@_bomb("xlsx", "corners")
def _(factor: int) -> bytes:
    column, number = _FAR.get(factor, ("XFD", 999_999_999))
    return _workbook(_row(1, _cell("A1"), _cell(f"{column}1")) + _row(number, _cell(f"A{number}")))


@_bomb("xlsx", "a row far below")
def _(factor: int) -> bytes:
    number = 10 ** (factor + 3)
    return _workbook(_SMALL + _row(number, _cell(f"A{number}"), _cell(f"B{number}")))


@_bomb("xlsx", "an empty cell far below")
def _(factor: int) -> bytes:
    number = 10**factor
    return _workbook(_SMALL + _row(max(number, 3), f'<c r="B{max(number, 3)}"/>'))


@_bomb("xlsx", "wide empty rows")
def _(factor: int) -> bytes:
    rows = (_row(i, f'<c r="XFD{i}"/>') for i in range(3, 4**factor + 3))
    return _workbook(_SMALL + "".join(rows))


@_bomb("xlsx", "wide filled rows")
def _(factor: int) -> bytes:
    rows = (_row(i, _cell(f"XFD{i}")) for i in range(3, 4**factor + 3))
    return _workbook(_SMALL + "".join(rows))


@_bomb("xlsx", "one string in all cells")
def _(factor: int) -> bytes:
    rows = "".join(
        _row(i, _cell(f"A{i}", i), _cell(f"B{i}", 0, "s")) for i in range(1, 200 * factor)
    )
    return _workbook(rows, strings=f"<si><t>{'a' * 10 ** min(factor + 2, 7)}</t></si>")


@_bomb("xlsx", "digits in all cells")
def _(factor: int) -> bytes:
    rows = "".join(
        _row(i, _cell(f"A{i}", i), _cell(f"B{i}", 0, "s")) for i in range(1, 100 * factor)
    )
    return _workbook(rows, strings=f"<si><t>{'1' * 10**factor}</t></si>")


@_bomb("xlsx", "entities")
def _(factor: int) -> bytes:
    define = "<!DOCTYPE w [<!ENTITY a0 'aaaaaaaaaa'>"
    define += "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 2 * factor))
    return _workbook(_row(1, _cell("A1", f"&a{2 * factor - 1};")), before=f"{define}]>")


@_bomb("xlsx", "deep strings")
def _(factor: int) -> bytes:
    deep = "<r>" * 10**factor + "</r>" * 10**factor
    return _workbook(_SMALL, strings=f"<si>{deep}</si>")


@_bomb("xlsx", "many strings")
def _(factor: int) -> bytes:
    return _workbook(_SMALL, strings="<si/>" * 10**factor)


@_bomb("xlsx", "many sheets")
def _(factor: int) -> bytes:
    sheets = "".join(
        f'<sheet name="{i}" sheetId="{i}" r:id="b"/>' for i in range(1, 2 * 4**factor)
    )
    book = f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets></workbook>'
    return _workbook(_SMALL, **{"xl/workbook.xml": book})


@_bomb("xlsx", "a false dimension")
def _(factor: int) -> bytes:
    sheet = f'<worksheet xmlns="{_MAIN}"><dimension ref="A1:XFD{10 ** (factor + 1)}"/><sheetData>'
    parts = {"xl/worksheets/sheet1.xml": f"{sheet}{_SMALL}</sheetData></worksheet>"}
    return _workbook("", **parts)


@_bomb("xlsx", "a part beside")
def _(factor: int) -> bytes:
    return _workbook(_SMALL, **{"xl/styles.xml": "<a/>" * 10**factor})


# Parquet ----------------------------------------------------------------------------------------


def _parquet(columns: dict[str, Any], **options: Any) -> bytes:
    import pyarrow as arrow
    from pyarrow import parquet

    made = io.BytesIO()
    names = list(columns)
    table = arrow.Table.from_arrays([arrow.array(columns[name]) for name in names], names=names)
    parquet.write_table(table, made, compression="zstd", store_schema=False, **options)
    return made.getvalue()


def _repeated(count: int, size: int) -> Any:
    import pyarrow as arrow

    codes = arrow.array(np.zeros(count, np.int32))
    return arrow.DictionaryArray.from_arrays(codes, ["a" * size])


@_bomb("parquet", "one text in all rows")
def _(factor: int) -> bytes:
    count = 100 * factor
    return _parquet({"t": _repeated(count, 10 ** min(factor + 1, 7)), "x": np.arange(count)})


@_bomb("parquet", "plain texts")
def _(factor: int) -> bytes:
    text = ["a" * 10 ** min(factor, 5)] * 100
    return _parquet({"t": text, "x": np.arange(100)}, use_dictionary=False)


@_bomb("parquet", "texts that share beginnings")
def _(factor: int) -> bytes:
    text = ["a" * 10 ** min(factor, 6)] * (20 * factor)
    kinds = {"t": "DELTA_BYTE_ARRAY", "x": "PLAIN"}
    columns = {"t": text, "x": np.arange(20 * factor)}
    return _parquet(columns, use_dictionary=False, column_encoding=kinds)


@_bomb("parquet", "bytes of a fixed size")
def _(factor: int) -> bytes:
    import pyarrow as arrow

    size = 10 ** min(factor, 6)
    text = arrow.array([b"a" * size] * 20, arrow.binary(size))
    return _parquet({"t": text, "x": np.arange(20)})


@_bomb("parquet", "equal rows")
def _(factor: int) -> bytes:
    return _parquet({"x": np.zeros(4 * 10 ** min(factor + 1, 7), np.int8)})


@_bomb("parquet", "lists")
def _(factor: int) -> bytes:
    import pyarrow as arrow

    many = arrow.array([[0] * 10 ** min(factor, 6)] * 5)
    return _parquet({"l": many, "x": np.arange(5)})


@_bomb("parquet", "lists of one text")
def _(factor: int) -> bytes:
    import pyarrow as arrow

    inner = _repeated(10 * factor, 10 ** min(factor, 6)).dictionary_decode()
    lists = arrow.ListArray.from_arrays(arrow.array([0, 10 * factor]), inner)
    return _parquet({"l": lists, "x": [1]})


@_bomb("parquet", "many columns")
def _(factor: int) -> bytes:
    return _parquet({f"c{i}": [1, 2, 3] for i in range(100 * factor)})


@_bomb("parquet", "equal names")
def _(factor: int) -> bytes:
    import pyarrow as arrow
    from pyarrow import parquet

    made = io.BytesIO()
    width = 300 * factor
    table = arrow.Table.from_arrays([arrow.array([1, 2, 3])] * width, names=["a"] * width)
    parquet.write_table(table, made)
    return made.getvalue()


@_bomb("parquet", "deep records")
def _(factor: int) -> bytes:
    import pyarrow as arrow

    kind, value = arrow.int64(), 1
    for _ in range(20 * factor):
        kind, value = arrow.struct([("a", kind)]), {"a": value}
    return _parquet({"d": arrow.array([value, value], kind), "x": [1, 2]})


# NumPy ------------------------------------------------------------------------------------------


def _npy(shape: Any, kind: str = "<f8", body: bytes = b"") -> bytes:
    head = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(head)) + head + body


def _archive(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def _saved(array: Any) -> bytes:
    made = io.BytesIO()
    np.save(made, array)
    return made.getvalue()


def _npz(**arrays: Any) -> bytes:
    return _archive({f"{name}.npy": _saved(array) for name, array in arrays.items()})


BOMBS["npy", "a false shape"] = lambda factor: _npy((10 ** (3 * factor), 3), body=bytes(240))
BOMBS["npy", "no columns"] = lambda factor: _npy((10 ** (3 * factor), 0))
BOMBS["npy", "no rows"] = lambda factor: _npy((0, 10 ** (3 * factor)))
BOMBS["npy", "empty items"] = lambda factor: _npy((10 ** (2 * factor), 2), "|S0")
BOMBS["npy", "void items"] = lambda factor: _npy((10 ** (2 * factor), 2), "|V0")
BOMBS["npy", "a wide item"] = lambda factor: _npy((2, 2), f"<U{10 ** (factor + 3)}", bytes(64))
BOMBS["npy", "many axes"] = lambda factor: _npy((1,) * 10**factor, body=bytes(8))
BOMBS["npy", "deep header"] = lambda factor: (
    b"\x93NUMPY\x02\x00"
    + struct.pack("<I", 2 * 10**factor)
    + b"(" * 10**factor
    + b")" * 10**factor
)
BOMBS["npy", "a long header"] = lambda factor: (
    b"\x93NUMPY\x02\x00" + struct.pack("<I", 10 ** (factor + 2)) + b" " * 10 ** (factor + 2)
)
BOMBS["npy", "deep fields"] = lambda factor: _npy(
    (2,), "[('a', " * 30 * factor + "'<f8'" + ")]" * 30 * factor
)
BOMBS["npz", "zeros"] = lambda factor: _npz(X=np.zeros((10 ** min(factor + 1, 7), 3), np.int8))
BOMBS["npz", "wide names"] = lambda factor: _npz(
    X=np.ones((200, 3)), names=np.array(["a" * 10 ** min(factor, 5)] + ["b"] * 199)
)
BOMBS["npz", "many members"] = lambda factor: _npz(
    **{f"a{i}": np.ones((2, 2)) for i in range(100 * factor)}
)
BOMBS["npz", "a false shape"] = lambda factor: _archive({"X.npy": _npy((10 ** (3 * factor), 3))})


def _sparse(layout: str, tall: bool) -> Maker:
    def make(factor: int) -> bytes:
        size = 10 ** (factor + 3)
        shape = (size, 3) if tall else (3, size)
        starts = min((shape[0] if layout == "csr" else shape[1]) + 1, 10**7)
        return _npz(
            format=np.array(layout.encode()), shape=np.array(shape), data=np.ones(2),
            indices=np.array([0, 1], np.int32), indptr=np.r_[0, np.full(starts - 1, 2)],
        )  # fmt: skip

    return make


BOMBS["npz", "tall CSR"] = _sparse("csr", True)
BOMBS["npz", "wide CSR"] = _sparse("csr", False)
BOMBS["npz", "tall CSC"] = _sparse("csc", True)
BOMBS["npz", "wide CSC"] = _sparse("csc", False)


# MATLAB -----------------------------------------------------------------------------------------


def _element(kind: int, body: bytes) -> bytes:
    return struct.pack("<II", kind, len(body)) + body + b"\0" * (-len(body) % 8)


def _variable(shape: Any, body: bytes, flags: int = 6, name: bytes = b"X") -> bytes:
    extents = np.array(shape, "<i4").tobytes()
    head = _element(6, struct.pack("<II", flags, 0)) + _element(5, extents) + _element(1, name)
    return _element(14, head + body)


def _mat(*variables: bytes, pack: bool = True) -> bytes:
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    if not pack:
        return head + b"".join(variables)
    packed = [zlib.compress(variable) for variable in variables]
    return head + b"".join(struct.pack("<II", 15, len(one)) + one for one in packed)


BOMBS["mat", "zeros"] = lambda factor: _mat(
    _variable((10 ** min(factor + 1, 7), 2), _element(2, bytes(2 * 10 ** min(factor + 1, 7))))
)
BOMBS["mat", "a false shape"] = lambda factor: _mat(
    _variable((10 ** min(factor + 2, 9), 1000), _element(9, bytes(64)))
)
BOMBS["mat", "many variables"] = lambda factor: _mat(
    *(_variable((2, 2), _element(9, bytes(32)), name=b"v%d" % i) for i in range(300 * factor))
)
BOMBS["mat", "a long name"] = lambda factor: _mat(
    _variable((2, 2), _element(9, bytes(32)), name=b"a" * 10 ** (factor + 1))
)
BOMBS["mat", "many axes"] = lambda factor: _mat(
    _variable((2,) * (10 * factor), _element(9, bytes(32)))
)
BOMBS["mat", "tall sparse"] = lambda factor: _mat(
    _variable(
        (10 ** min(factor + 3, 9), 1),
        _element(5, bytes(4)) + _element(5, struct.pack("<ii", 0, 1)) + _element(9, bytes(8)),
        flags=5,
    )
)
BOMBS["mat", "packed twice"] = lambda factor: _mat(
    struct.pack("<II", 15, 10**factor) + zlib.compress(bytes(10 ** (factor + 2)))
)
BOMBS["mat", "a tag that lies"] = lambda factor: _mat(
    struct.pack("<II", 14, 10 ** (factor + 3)) + bytes(8)
)


# HDF5 -------------------------------------------------------------------------------------------


def _hdf(fill: Callable[[Any], None], **options: Any) -> bytes:
    import h5py

    made = io.BytesIO()
    with h5py.File(made, "w", **options) as file:
        fill(file)
    return made.getvalue()


def _hdf_bomb(kind: str) -> Callable[[Callable[[Any, int], None]], Any]:
    def add(fill: Callable[[Any, int], None]) -> Any:
        BOMBS["h5", kind] = lambda factor: _hdf(lambda file: fill(file, factor))
        return fill

    return add


@_hdf_bomb("values that are not stored")
def _(file: Any, factor: int) -> None:
    file.create_dataset("X", shape=(10 ** (2 * factor), 3), dtype="f8", chunks=(100, 3))


@_hdf_bomb("packed zeros")
def _(file: Any, factor: int) -> None:
    file.create_dataset(
        "X", data=np.zeros((10 ** min(factor + 1, 6), 3)), compression="gzip", chunks=True
    )


@_hdf_bomb("a chunk of all")
def _(file: Any, factor: int) -> None:
    rows = 10 ** min(factor + 1, 6)
    file.create_dataset("X", data=np.zeros((rows, 8)), compression="gzip", chunks=(rows, 8))


@_hdf_bomb("deep groups")
def _(file: Any, factor: int) -> None:
    group = file
    for _ in range(3**factor):
        group = group.create_group("g")
    group["X"] = np.ones((3, 2))


@_hdf_bomb("a group in itself")
def _(file: Any, factor: int) -> None:
    file["X"] = np.ones((3, 2))
    group = file.create_group("g")
    for i in range(factor):
        group[f"again{i}"] = file["/"]


@_hdf_bomb("many data sets")
def _(file: Any, factor: int) -> None:
    for i in range(100 * factor):
        file[f"d{i}"] = np.ones((2, 2))


@_hdf_bomb("links to one data set")
def _(file: Any, factor: int) -> None:
    file["X"] = np.ones((10_000, 8))
    for i in range(100 * factor):
        file[f"x{i}"] = file["X"]


@_hdf_bomb("an attribute")
def _(file: Any, factor: int) -> None:
    file["X"] = np.ones((3, 2))
    file["X"].attrs["a"] = "a" * min(10 ** (factor + 1), 60_000)


@_hdf_bomb("texts")
def _(file: Any, factor: int) -> None:
    file["X"] = np.ones((3, 2))
    file["t"] = ["a" * 10 ** min(factor, 5)] * 20


def _references(factor: int) -> bytes:
    """An AnnData file in which all rows refer to one stored text."""
    import anndata
    import h5py

    count, size = 200 * factor, 10 ** min(factor + 1, 7)
    made = io.BytesIO()
    names = anndata.AnnData(np.ones((count, 2)))
    names.obs["note"] = [str(i) for i in range(count)]
    with h5py.File(made, "w") as file:
        for part in ("X", "var", "obs"):
            anndata.io.write_elem(file, part, getattr(names, part))
        one = file.create_dataset("one", shape=(1,), dtype=h5py.string_dtype())
        one[0] = "a" * size
        file.flush()
        at = one.id.get_offset()
        reference = made.getvalue()[at : at + 16]
        attributes = dict(file["obs/note"].attrs)
        del file["obs/note"]
        many = file.create_dataset(
            "obs/note", (count,), h5py.string_dtype(), chunks=(count,), compression="gzip"
        )
        many.id.write_direct_chunk((0,), zlib.compress(reference * count))
        many.attrs.update(attributes)
    return made.getvalue()


BOMBS["h5ad", "references to one text"] = _references
BOMBS["h5ad.gz", "references to one text"] = lambda factor: gzip.compress(_references(factor))


@_bomb("h5ad", "a sparse matrix")
def _(factor: int) -> bytes:
    import anndata

    def fill(file: Any) -> None:
        data = anndata.AnnData(np.ones((4, 2)))
        anndata.io.write_elem(file, "obs", data.obs)
        anndata.io.write_elem(file, "var", data.var)
        group = file.create_group("X")
        group.attrs.update(
            {"encoding-type": "csr_matrix", "encoding-version": "0.1.0",
             "shape": np.array([4, 10 ** (2 * factor)])}
        )  # fmt: skip
        group["data"], group["indices"] = np.ones(2), np.array([0, 1])
        group.create_dataset("indptr", (10 ** min(2 * factor, 9),), "i8", chunks=(100,))

    return _hdf(fill)


# Saved models -----------------------------------------------------------------------------------


@cache
def _model() -> tuple[dict[str, Any], dict[str, bytes]]:
    from robustness._damaged import valid

    with zipfile.ZipFile(io.BytesIO(valid("model"))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def _changed(change: Callable[[dict[str, Any], dict[str, bytes]], None]) -> bytes:
    manifest, members = _model()
    manifest, members = json.loads(json.dumps(manifest)), dict(members)
    change(manifest, members)
    return _archive({"model.json": json.dumps(manifest).encode(), **members})


def _model_bomb(kind: str) -> Callable[[Callable[[dict, dict, int], None]], Any]:
    def add(change: Callable[[dict, dict, int], None]) -> Any:
        BOMBS["model.npz", kind] = lambda factor: _changed(
            lambda manifest, members: change(manifest, members, factor)
        )
        return change

    return add


@_model_bomb("one long text")
def _(manifest: dict, members: dict, factor: int) -> None:
    texts = ["a" * 10 ** min(factor + 1, 5)] + [""] * (5_000 * factor - 1)
    manifest["fitted"]["names_"] = {"$strings": texts, "as": "str", "shape": [len(texts)]}


@_model_bomb("a false shape of texts")
def _(manifest: dict, members: dict, factor: int) -> None:
    manifest["fitted"]["names_"] = {"$strings": [""], "shape": [10 ** (3 * factor)]}


@_model_bomb("deep values")
def _(manifest: dict, members: dict, factor: int) -> None:
    value: Any = 1
    for _ in range(min(10 * factor, 900)):
        value = [value]
    manifest["fitted"]["deep_"] = value


@_model_bomb("many empty lists")
def _(manifest: dict, members: dict, factor: int) -> None:
    manifest["fitted"]["many_"] = [[] for _ in range(10 ** min(factor, 6))]


@_model_bomb("many pairs")
def _(manifest: dict, members: dict, factor: int) -> None:
    manifest["fitted"]["many_"] = {"$map": [[i, {}] for i in range(10 ** min(factor, 5))]}


@_model_bomb("a long number")
def _(manifest: dict, members: dict, factor: int) -> None:
    manifest["fitted"]["n_iter_"] = 10 ** min(10**factor, 4_000)


@_model_bomb("a large number")
def _(manifest: dict, members: dict, factor: int) -> None:
    for name in ("n_features_in_", "n_clusters_"):
        manifest["fitted"][name] = 10 ** (3 * factor)


@_model_bomb("a large parameter")
def _(manifest: dict, members: dict, factor: int) -> None:
    manifest["params"]["n_clusters"] = 10 ** (3 * factor)


@_model_bomb("zeros")
def _(manifest: dict, members: dict, factor: int) -> None:
    members["fitted.labels_.npy"] = _saved(np.zeros(10 ** min(factor + 1, 7), np.int32))


@_model_bomb("a false shape")
def _(manifest: dict, members: dict, factor: int) -> None:
    members["fitted.labels_.npy"] = _npy((10 ** (3 * factor),), "<i4")


@_model_bomb("empty items")
def _(manifest: dict, members: dict, factor: int) -> None:
    members["fitted.labels_.npy"] = _npy((10 ** (2 * factor),), "|S0")


@_model_bomb("a wide graph")
def _(manifest: dict, members: dict, factor: int) -> None:
    graph = manifest["fitted"].get("graph_", {})
    graph["shape"] = [10 ** (2 * factor)] * 2


@_model_bomb("many members")
def _(manifest: dict, members: dict, factor: int) -> None:
    for i in range(100 * factor):
        members[f"a{i}.npy"] = _saved(np.zeros(3))


@_model_bomb("one array everywhere")
def _(manifest: dict, members: dict, factor: int) -> None:
    members["big.npy"] = _saved(np.zeros(10**5))
    manifest["fitted"]["many_"] = [{"$array": "big"} for _ in range(1_000 * factor)]
