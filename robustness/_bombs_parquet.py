"""Parquet files whose meaning is large, as Arrow writes them and as it never would.

The second kind is put together byte by byte, so that the summary at the end of the file and the
headers of the pages may say different things.
"""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import numpy as np

from robustness._bombs import BOMBS, add_bomb

# Written by Arrow --------------------------------------------------------------------------------


def _parquet(columns: dict[str, Any], **options: Any) -> bytes:
    import pyarrow as arrow
    from pyarrow import parquet

    made = io.BytesIO()
    names = list(columns)
    table = arrow.Table.from_arrays([arrow.array(columns[name]) for name in names], names=names)
    parquet.write_table(table, made, compression="zstd", store_schema=False, **options)
    return made.getvalue()


def _repeated(count: int, value: Any) -> Any:
    import pyarrow as arrow

    codes = arrow.array(np.zeros(count, np.int32))
    return arrow.DictionaryArray.from_arrays(codes, arrow.array([value]))


@add_bomb("parquet", "one text in all rows")
def _(factor: int) -> bytes:
    count = 100 * factor
    text = "a" * 10 ** min(factor + 1, 7)
    return _parquet({"t": _repeated(count, text), "x": np.arange(count)})


def _equal(value: Any) -> Any:
    """The same value in up to thirty million rows, beside a column of numbers."""

    def make(factor: int) -> bytes:
        count = 3 * 10 ** (factor + 1)
        return _parquet({"t": _repeated(count, value), "x": np.zeros(count, np.int8)})

    return make


def _moment() -> Any:
    import datetime

    return datetime.datetime(2001, 2, 3)


BOMBS["parquet", "one short text in all rows"] = _equal("a")
BOMBS["parquet", "one moment in all rows"] = lambda factor: _equal(_moment())(factor)
BOMBS["parquet", "one day in all rows"] = lambda factor: _equal(_moment().date())(factor)


@add_bomb("parquet", "one decimal in all rows")
def _(factor: int) -> bytes:
    from decimal import Decimal

    return _equal(Decimal("1.23"))(factor)


@add_bomb("parquet", "yes, no and nothing")
def _(factor: int) -> bytes:
    import pyarrow as arrow

    count = 10 ** (factor + 1)
    return _parquet({"b": arrow.array(np.zeros(count, bool), mask=np.arange(count) % 2 == 0)})


@add_bomb("parquet", "plain texts")
def _(factor: int) -> bytes:
    text = ["a" * 10 ** min(factor, 5)] * 100
    return _parquet({"t": text, "x": np.arange(100)}, use_dictionary=False)


@add_bomb("parquet", "texts that share beginnings")
def _(factor: int) -> bytes:
    text = ["a" * 10 ** min(factor, 6)] * (20 * factor)
    kinds = {"t": "DELTA_BYTE_ARRAY", "x": "PLAIN"}
    columns = {"t": text, "x": np.arange(20 * factor)}
    return _parquet(columns, use_dictionary=False, column_encoding=kinds)


@add_bomb("parquet", "bytes of a fixed size")
def _(factor: int) -> bytes:
    import pyarrow as arrow

    size = 10 ** min(factor, 6)
    text = arrow.array([b"a" * size] * 20, arrow.binary(size))
    return _parquet({"t": text, "x": np.arange(20)})


@add_bomb("parquet", "equal rows")
def _(factor: int) -> bytes:
    return _parquet({"x": np.zeros(4 * 10 ** min(factor + 1, 7), np.int8)})


@add_bomb("parquet", "lists")
def _(factor: int) -> bytes:
    import pyarrow as arrow

    many = arrow.array([[0] * 10 ** min(factor, 6)] * 5)
    return _parquet({"l": many, "x": np.arange(5)})


@add_bomb("parquet", "lists of one text")
def _(factor: int) -> bytes:
    import pyarrow as arrow

    inner = _repeated(10 * factor, "a" * 10 ** min(factor, 6)).dictionary_decode()
    lists = arrow.ListArray.from_arrays(arrow.array([0, 10 * factor]), inner)
    return _parquet({"l": lists, "x": [1]})


@add_bomb("parquet", "many columns")
def _(factor: int) -> bytes:
    return _parquet({f"c{i}": [1, 2, 3] for i in range(100 * factor)})


@add_bomb("parquet", "equal names")
def _(factor: int) -> bytes:
    import pyarrow as arrow
    from pyarrow import parquet

    made = io.BytesIO()
    width = 300 * factor
    table = arrow.Table.from_arrays([arrow.array([1, 2, 3])] * width, names=["a"] * width)
    parquet.write_table(table, made)
    return made.getvalue()


@add_bomb("parquet", "deep records")
def _(factor: int) -> bytes:
    import pyarrow as arrow

    kind, value = arrow.int64(), 1
    for _ in range(20 * factor):
        kind, value = arrow.struct([("a", kind)]), {"a": value}
    return _parquet({"d": arrow.array([value, value], kind), "x": [1, 2]})


# Written by hand: structs in Thrift's compact protocol -------------------------------------------


def _number(value: int) -> bytes:
    """A number of variable length."""
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def _value(value: Any) -> tuple[int, bytes]:
    """The kind of a value and its bytes; a struct is a dict of fields, a long one a tuple."""
    if isinstance(value, int):
        return 5, _number(value << 1 if value >= 0 else (-value << 1) - 1)
    if isinstance(value, tuple):
        return 6, _value(value[0])[1]
    if isinstance(value, str):
        return 8, _number(len(value)) + value.encode()
    if isinstance(value, list):
        parts = [_value(part) for part in value]
        kind = parts[0][0] if parts else 12
        if len(parts) < 15:
            head = bytes([len(parts) << 4 | kind])
        else:
            head = bytes([0xF0 | kind]) + _number(len(parts))
        return 9, head + b"".join(part for _, part in parts)
    return 12, _struct(value)


def _struct(fields: dict[int, Any]) -> bytes:
    made = bytearray()
    before = 0
    for field, value in sorted(fields.items()):
        kind, content = _value(value)
        made.append((field - before) << 4 | kind)
        made += content
        before = field
    return bytes([*made, 0])


_INT64, _TEXT = 2, 6
_PLAIN, _RLE_DICTIONARY, _PREFIXED = 0, 8, 7
_NOT_PACKED, _ZSTD = 0, 6


def _zstd(content: bytes) -> bytes:
    import pyarrow as arrow

    return arrow.compress(content, codec="zstd", asbytes=True)


def _page(body: bytes, n_values: int, unpacked: int, encoding: int = _PLAIN) -> bytes:
    own = {1: n_values, 2: encoding, 3: 3, 4: 3}
    return _struct({1: 0, 2: unpacked, 3: len(body), 5: own}) + body


def _dictionary(body: bytes, n_values: int, unpacked: int) -> bytes:
    return _struct({1: 2, 2: unpacked, 3: len(body), 7: {1: n_values, 2: _PLAIN}}) + body


def parquet_file(
    pages: list[bytes],
    *,
    kind: int = _INT64,
    codec: int = _ZSTD,
    n_values: int = 3,
    n_rows: int | None = None,
    n_groups: int = 1,
    n_chunks: int = 1,
    n_columns: int = 1,
    encodings: tuple[int, ...] = (_PLAIN,),
) -> bytes:
    """A file whose summary says so much, and whose pages are as given.

    Every column, every row group, and every chunk of it is the same.
    """
    content = b"PAR1" + b"".join(pages)
    chunk: dict[int, Any] = {
        1: kind, 2: list(encodings), 3: ["x"], 4: codec, 5: (n_values,), 6: (100,),
        7: (len(content) - 4,), 9: (4,),
    }  # fmt: skip
    if len(pages) > 1:
        chunk[9] = (4 + len(pages[0]),)
        chunk[11] = (4,)
    rows = n_values if n_rows is None else n_rows
    group = {1: [{2: (4,), 3: chunk}] * n_chunks, 2: (100,), 3: (rows,)}
    column: dict[int, Any] = {1: kind, 3: 0, 4: "x"}
    if kind == _TEXT:
        column[6] = 0
    schema = [{4: "root", 5: n_columns}, *[column] * n_columns]
    footer = _struct({1: 1, 2: schema, 3: (rows * n_groups,), 4: [group] * n_groups})
    return content + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _numbers(count: int) -> bytes:
    return np.arange(count, dtype="<i8").tobytes()


def _text(size: int) -> bytes:
    return size.to_bytes(4, "little") + b"a" * size


@add_bomb("parquet", "a page header that lies")
def _(factor: int) -> bytes:
    claimed = min(24 * 40 ** (factor - 1), 2**31 - 1)
    return parquet_file([_page(_zstd(_numbers(3)), 3, claimed)])


@add_bomb("parquet", "a page header of no codec that lies")
def _(factor: int) -> bytes:
    claimed = min(24 * 40 ** (factor - 1), 2**31 - 1)
    return parquet_file([_page(_numbers(3), 3, claimed)], codec=_NOT_PACKED)


@add_bomb("parquet", "a page of more than its values")
def _(factor: int) -> bytes:
    more = _numbers(3) + bytes(min(10 ** (factor + 3), 400_000_000))
    return parquet_file([_page(_zstd(more), 3, len(more))])


@add_bomb("parquet", "a dictionary of more than its summary")
def _(factor: int) -> bytes:
    text = _text(min(10 ** (factor + 2), 400_000_000))
    codes = _page(_zstd(b"\x00\x06\x00"), 3, 3, _RLE_DICTIONARY)
    both = (_PLAIN, _RLE_DICTIONARY)
    pages = [_dictionary(_zstd(text), 1, len(text)), codes]
    return parquet_file(pages, kind=_TEXT, encodings=both)


@add_bomb("parquet", "row groups that share a dictionary")
def _(factor: int) -> bytes:
    text = _text(1_000_000)
    codes = _page(_zstd(b"\x00\x06\x00"), 3, 3, _RLE_DICTIONARY)
    pages = [_dictionary(_zstd(text), 1, len(text)), codes]
    groups = 4**factor
    return parquet_file(pages, kind=_TEXT, n_groups=groups, encodings=(_PLAIN, _RLE_DICTIONARY))


@add_bomb("parquet", "row groups that share a page")
def _(factor: int) -> bytes:
    page = _page(_zstd(_numbers(3)), 3, 24)
    return parquet_file([page], n_groups=min(10**factor, 30_000))


@add_bomb("parquet", "encodings that lie")
def _(factor: int) -> bytes:
    """Texts that share their beginning, where the summary speaks of plain ones."""
    count, size = 30 * factor, 10 ** min(factor + 1, 6)
    # Lengths of beginnings and ends as differences: all but the first of one, of the other 0.
    shared = _differences([0] + [size] * (count - 1))
    ends = _differences([size] + [0] * (count - 1))
    body = shared + ends + b"a" * size
    page = _page(_zstd(body), count, len(body), _PREFIXED)
    return parquet_file([page], kind=_TEXT, n_values=count)


def _differences(values: list[int]) -> bytes:
    """DELTA_BINARY_PACKED: blocks of 128 in four parts of 32, whose differences take 32 bits."""

    def signed(value: int) -> bytes:
        return _number(value << 1 if value >= 0 else (-value << 1) - 1)

    made = _number(128) + _number(4) + _number(len(values)) + signed(values[0])
    steps = [after - before for before, after in pairwise(values)]
    for at in range(0, len(steps), 128):
        block = steps[at : at + 128]
        least = min(block)
        packed = [step - least for step in block] + [0] * (128 - len(block))
        made += signed(least) + bytes([32] * 4) + np.array(packed, "<u4").tobytes()
    return made


@add_bomb("parquet", "rows that lie")
def _(factor: int) -> bytes:
    page = _page(_zstd(_numbers(3)), 3, 24)
    return parquet_file([page], n_rows=min(10 ** (2 * factor), 10**11))


@add_bomb("parquet", "values that lie")
def _(factor: int) -> bytes:
    page = _page(_zstd(_numbers(3)), min(10 ** (2 * factor), 2**31 - 1), 24)
    return parquet_file([page], n_values=10 ** (2 * factor), n_rows=3)


@add_bomb("parquet", "pages without values")
def _(factor: int) -> bytes:
    empty = _page(_zstd(b""), 0, 0)
    return parquet_file([empty * 10 ** min(factor, 5) + _page(_zstd(_numbers(3)), 3, 24)])


@add_bomb("parquet", "many chunks of one column")
def _(factor: int) -> bytes:
    page = _page(_zstd(_numbers(3)), 3, 24)
    return parquet_file([page], n_chunks=min(10**factor, 60_000))


@add_bomb("parquet", "a footer of empty chunks")
def _(factor: int) -> bytes:
    page = _page(_zstd(_numbers(3)), 3, 24)
    whole = parquet_file([page])
    count = min(10**factor, 900_000)
    # A group of chunks that have nothing but the field that must be there.
    chunks = bytes([0xFC]) + _number(count) + bytes([0x26, 8, 0]) * count
    group = bytes([0x19]) + chunks + bytes([0x16, 0xC8, 1, 0x16, 6, 0])
    schema = _value([{4: "root", 5: 1}, {1: _INT64, 3: 0, 4: "x"}])[1]
    footer = bytes([0x15, 2, 0x19]) + schema + bytes([0x16, 6, 0x19, 0x1C]) + group + b"\0"
    return whole[: 4 + len(page)] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


@add_bomb("parquet", "columns without rows")
def _(factor: int) -> bytes:
    columns = [{1: _INT64, 3: 0, 4: "x"}] * min(10**factor, 300_000)
    schema = [{4: "root", 5: len(columns)}, *columns]
    footer = _struct({1: 1, 2: schema, 3: (0,), 4: []})
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


@add_bomb("parquet", "columns that share a page")
def _(factor: int) -> bytes:
    page = _page(_zstd(_numbers(3)), 3, 24)
    count = min(10**factor, 60_000)
    return parquet_file([page], n_chunks=count, n_columns=count)
