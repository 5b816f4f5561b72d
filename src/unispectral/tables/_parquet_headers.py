"""What a Parquet file says of itself, read before Arrow believes it.

Arrow makes room for a page as its header asks, up to 2 GiB each, whatever the footer says of the
column, and ends the process where a footer lacks what every one has. Footer and page headers are
therefore read here first; no page is unpacked. They are structs in Thrift's compact protocol, of
which only the fields that matter are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

#: Kinds of values of the protocol.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _TEXT, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
#: What is read of a struct: by field, the kind and, for structs and lists of them, what of these.
_Wanted = Mapping[int, tuple[int, Any]]

_ELEMENT: _Wanted = {1: (_I32, None), 5: (_I32, None)}  # its type, and how many it has below
_CHUNK_DATA: _Wanted = {5: (_I64, None), 7: (_I64, None), 9: (_I64, None), 11: (_I64, None)}
_GROUP: _Wanted = {1: (_LIST, {3: (_STRUCT, _CHUNK_DATA)}), 3: (_I64, None)}
_FOOTER: _Wanted = {2: (_LIST, _ELEMENT), 3: (_I64, None), 4: (_LIST, _GROUP)}
_DATA: _Wanted = {1: (_I32, None), 2: (_I32, None)}
_DATA_2: _Wanted = {1: (_I32, None), 4: (_I32, None)}
_PAGE: _Wanted = {
    1: (_I32, None), 2: (_I32, None), 3: (_I32, None), 5: (_STRUCT, _DATA), 7: (_STRUCT, _DATA),
    8: (_STRUCT, _DATA_2),
}  # fmt: skip

#: For each type of page with values: the field of its own struct, and there that of the encoding.
_OWN = {0: (5, 2), 2: (7, 2), 3: (8, 4)}
_DICTIONARY = 2
#: Names of the encodings, and the type of text, by their number.
_ENCODINGS = {
    0: "PLAIN", 2: "PLAIN_DICTIONARY", 3: "RLE", 4: "BIT_PACKED", 5: "DELTA_BINARY_PACKED",
    6: "DELTA_LENGTH_BYTE_ARRAY", 7: "DELTA_BYTE_ARRAY", 8: "RLE_DICTIONARY",
    9: "BYTE_STREAM_SPLIT",
}  # fmt: skip
_BYTE_ARRAY = 6
#: Elements of a list, as Arrow allows, and structs in structs.
_LONGEST, _DEEPEST = 1_000_000, 16
#: Arrow reads so much of a page header, and so far beyond a chunk's end, where old writers erred.
_LONGEST_HEADER = 2**24
_BEYOND = 100
#: Bytes of a first look, nearly always enough for a page header; none is shorter than the least.
_FIRST_LOOK = 512
_SHORTEST_HEADER = 8


@dataclass(frozen=True)
class Chunk:
    """Values in a row group: of which column, how many, and where.

    Columns of records and lists have several chunks in each row group.
    """

    column: int
    is_text: bool
    n_values: int
    start: int
    size: int


@dataclass(frozen=True)
class Footer:
    """The rows and the column chunks of a file."""

    n_rows: int
    chunks: list[Chunk]


@dataclass(frozen=True)
class Pages:
    """The pages of a column chunk: the bytes they unpack to, and how they are encoded."""

    unpacked: int
    encodings: frozenset[str]


def read_footer(file: IO[bytes], size: int) -> Footer:
    """The footer of a file of so many bytes; ValueError where it is none or lacks something."""
    file.seek(max(0, size - 8))
    ending = file.read(8)
    length = int.from_bytes(ending[:4], "little")
    if ending[4:] != b"PAR1" or length > size - 12:
        raise ValueError("not the end of a Parquet file")
    file.seek(size - 8 - length)
    try:
        found, _ = _read_struct(file.read(length), 0, _FOOTER, 0)
    except IndexError:
        raise ValueError("a footer that does not end") from None
    n_rows = _count(found, 3)
    leaves = _find_leaves(found.get(2, []))
    chunks = []
    for group in found.get(4, []):
        columns = group.get(1, [])
        if len(columns) != len(leaves) or _count(group, 3) > n_rows:
            raise ValueError("a row group that is not one of these columns and rows")
        for (column, is_text), chunk in zip(leaves, columns, strict=True):
            chunks.append(_read_chunk(column, is_text, chunk.get(3, {})))
    return Footer(n_rows, chunks)


def _find_leaves(schema: list[dict[int, Any]]) -> list[tuple[int, bool]]:
    """Of each column that has values: the column of the table it belongs to, and if it is text.

    A schema is a tree whose elements come in the order in which one walks it, the root first.
    """
    if not schema:
        raise ValueError("no schema")
    leaves = []
    column = -1
    waiting: list[int] = []  # elements to come, below each of those that are begun
    for element in schema[1:]:
        if not waiting:
            column += 1
        else:
            waiting[-1] -= 1
        n_below = element.get(5, 0)
        if n_below > 0:
            waiting.append(n_below)
        else:
            leaves.append((column, element.get(1) == _BYTE_ARRAY))
        while waiting and not waiting[-1]:
            waiting.pop()
    return leaves


def _read_chunk(column: int, is_text: bool, data: dict[int, Any]) -> Chunk:
    start = _count(data, 9)
    before = data.get(11, 0)
    if 0 < before < start:
        start = before
    return Chunk(column, is_text, _count(data, 5), start, _count(data, 7))


def walk_pages(file: IO[bytes], size: int, footer: Footer) -> Iterator[tuple[Chunk, Pages]]:
    """Each column chunk with what the headers of its pages say, walked as Arrow walks them.

    ValueError where a header cannot be one, or where chunks claim the same pages again and again.
    """
    allowed = size // _SHORTEST_HEADER
    for chunk in footer.chunks:
        start = chunk.start
        end = min(size, start + chunk.size + _BEYOND)
        unpacked = 0
        seen = 0
        encodings = set()
        while seen < chunk.n_values and start < end:
            allowed -= 1
            if allowed < 0:
                raise ValueError("column chunks that share their pages")
            header, length = _read_page_header(file, start)
            start += length + _count(header, 3)
            unpacked += _count(header, 2)
            if header.get(1) in _OWN:
                own, encoding = _OWN[header[1]]
                page = header.get(own, {})
                encodings.add(_ENCODINGS.get(page.get(encoding), "unknown"))
                seen += 0 if header[1] == _DICTIONARY else _count(page, 1)
        yield chunk, Pages(unpacked, frozenset(encodings))


def _read_page_header(file: IO[bytes], start: int) -> tuple[dict[int, Any], int]:
    """A page header, and how many bytes it takes."""
    look = _FIRST_LOOK
    while True:
        file.seek(start)
        content = file.read(look)
        try:
            return _read_struct(content, 0, _PAGE, 0)
        except IndexError:
            if len(content) < look or look >= _LONGEST_HEADER:
                raise ValueError("a page header that does not end") from None
            look *= 32


def _count(struct: dict[int, Any], field: int) -> int:
    """A number that must be there and cannot be negative."""
    value = struct.get(field, -1)
    if value < 0:
        raise ValueError("a number that is missing or negative")
    return value


# The protocol: a byte beyond the content is an IndexError ----------------------------------------


def _read_number(content: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    number = content[at]
    at += 1
    if number < 128:
        return number, at
    number &= 127
    for shift in range(7, 70, 7):
        byte = content[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("a number without an end")


def _read_integer(content: bytes, at: int) -> tuple[int, int]:
    number, at = _read_number(content, at)
    return (number >> 1) ^ -(number & 1), at


def _read_struct(
    content: bytes, at: int, wanted: _Wanted, depth: int
) -> tuple[dict[int, Any], int]:
    """The fields that are wanted, by number, and where the struct ends."""
    if depth > _DEEPEST:
        raise ValueError("structs that are too deep")
    found: dict[int, Any] = {}
    number = 0
    while head := content[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _read_integer(content, at)
        kind, of = wanted.get(number, (0, None))
        if kind != head & 15:
            at = _skip(content, at, head & 15, depth)
        elif kind in (_I32, _I64):
            found[number], at = _read_integer(content, at)
        elif kind == _LIST:
            found[number], at = _read_list(content, at, of, depth)
        else:
            found[number], at = _read_struct(content, at, of, depth + 1)
    return found, at + 1


def _read_list(content: bytes, at: int, of: _Wanted, depth: int) -> tuple[list[Any], int]:
    """Structs, which are all the lists that are wanted."""
    kind, length, at = _read_list_head(content, at)
    if kind != _STRUCT:
        raise ValueError("a list of something else")
    found: list[Any] = []
    for _ in range(length):
        value, at = _read_struct(content, at, of, depth + 1)
        found.append(value)
    return found, at


def _read_list_head(content: bytes, at: int) -> tuple[int, int, int]:
    head = content[at]
    at += 1
    length = head >> 4
    if length == 15:
        length, at = _read_number(content, at)
    if length > _LONGEST:
        raise ValueError("a list that is too long")
    return head & 15, length, at


def _skip(content: bytes, at: int, kind: int, depth: int) -> int:
    """Where a value ends that nobody wants."""
    if kind in (_TRUE, _FALSE):  # the kind is the value
        return at
    if kind in (_I16, _I32, _I64):
        return _read_number(content, at)[1]
    if kind == _TEXT:
        length, at = _read_number(content, at)
        return at + length
    if kind == _STRUCT:
        return _read_struct(content, at, {}, depth + 1)[1]
    if kind in (_BYTE, _DOUBLE):
        return at + (1 if kind == _BYTE else 8)
    if kind in (_LIST, _SET):
        inner, length, at = _read_list_head(content, at)
        for _ in range(length):
            at = at + 1 if inner in (_TRUE, _FALSE) else _skip(content, at, inner, depth + 1)
        return at
    raise ValueError("a kind of value that no such file has")
