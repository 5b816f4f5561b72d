"""Tables of text whose meaning is large, packed and not."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable

from robustness._bombs import BOMBS, Maker, add_bomb


def _lines(n: int, width: int = 3) -> list[str]:
    return [",".join(str((i * 7 + j) % 13) for j in range(width)) for i in range(n)]


@add_bomb("csv", "one long id")
def _(factor: int) -> bytes:
    lines = [f"r{i},{i % 7},{i % 3}" for i in range(4_000 * factor)]
    lines[-7] = "a" * 50_000 * factor + ",1,2"
    return "\n".join(["id,x,y", *lines]).encode()


@add_bomb("csv", "equal names")
def _(factor: int) -> bytes:
    width = 1_500 * factor
    return "\n".join([",".join(["a"] * width), *_lines(3, width)]).encode()


@add_bomb("csv", "names that count")
def _(factor: int) -> bytes:
    width = 700 * factor
    names = ["a", *(f"a_{i}" for i in range(2, width)), *["a"] * width]
    return "\n".join([",".join(names), *_lines(3, len(names))]).encode()


@add_bomb("csv", "long names")
def _(factor: int) -> bytes:
    return ("a" * 10**factor + ",b\n1,2\n3,4\n5,6\n").encode()


@add_bomb("csv", "one long cell")
def _(factor: int) -> bytes:
    return ("a,b\n1," + "9" * 10**factor + "\n3,4\n5,6\n").encode()


@add_bomb("csv", "an open quote")
def _(factor: int) -> bytes:
    return ('a,b\n1,"' + "\n".join(_lines(5_000 * factor))).encode()


@add_bomb("csv", "empty lines")
def _(factor: int) -> bytes:
    return b"a,b\n1,2\n" + b"\n" * 10**factor + b"3,4\n"


@add_bomb("csv", "separators")
def _(factor: int) -> bytes:
    return b"a" + b"," * 20_000 * factor + b"\n1" + b"," * 20_000 * factor + b"\n"


def _packed(pack: Callable[[bytes], bytes]) -> Maker:
    def make(factor: int) -> bytes:
        return pack(b"a,b\n" + b"1,2\n" * (10**factor * 30))

    return make


BOMBS["csv.gz", "equal lines"] = _packed(gzip.compress)
BOMBS["csv.bz2", "equal lines"] = _packed(bz2.compress)
BOMBS["csv.xz", "equal lines"] = _packed(lzma.compress)


def _zstd(content: bytes) -> bytes:
    import pyarrow as arrow

    made = arrow.BufferOutputStream()
    with arrow.CompressedOutputStream(made, "zstd") as stream:
        stream.write(content)
    return made.getvalue().to_pybytes()


BOMBS["csv.zst", "equal lines"] = _packed(_zstd)


@add_bomb("csv.zst", "zeros")
def _(factor: int) -> bytes:
    return _zstd(b"0" * 10 ** (factor + 2))


@add_bomb("csv.zst", "packed by all")
def _(factor: int) -> bytes:
    """Only the outermost is unpacked: what is inside is no table."""
    return _zstd(gzip.compress(lzma.compress(bz2.compress(b"1,2\n" * 10 ** (factor + 1)))))


@add_bomb("csv.zst", "many frames")
def _(factor: int) -> bytes:
    return _zstd(b"1,2\n") * 10 ** min(factor, 5)


@add_bomb("csv.gz", "many members")
def _(factor: int) -> bytes:
    return gzip.compress(b"1,2\n") * 10 ** min(factor, 5)


@add_bomb("csv.gz", "zeros")
def _(factor: int) -> bytes:
    return gzip.compress(b"0" * 10 ** (factor + 2))


@add_bomb("csv.gz", "packed twice")
def _(factor: int) -> bytes:
    return gzip.compress(gzip.compress(b"1,2\n" * 10 ** (factor + 1)))


@add_bomb("csv.xz", "zeros")
def _(factor: int) -> bytes:
    return lzma.compress(b"0," * 10 ** (factor + 1))
