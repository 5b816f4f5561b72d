"""Files of NumPy and MATLAB whose meaning is large."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from typing import Any

import numpy as np

from robustness._bombs import BOMBS, Maker

# NumPy ------------------------------------------------------------------------------------------


def npy_file(shape: Any, kind: str = "<f8", body: bytes = b"") -> bytes:
    """A file that says so of its array."""
    head = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(head)) + head + body


def zip_file(members: dict[str, bytes]) -> bytes:
    """An archive of packed members."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def saved_array(array: Any) -> bytes:
    """A file as NumPy writes it."""
    made = io.BytesIO()
    np.save(made, array)
    return made.getvalue()


def _npz(**arrays: Any) -> bytes:
    return zip_file({f"{name}.npy": saved_array(array) for name, array in arrays.items()})


BOMBS["npy", "a false shape"] = lambda factor: npy_file((10 ** (3 * factor), 3), body=bytes(240))
BOMBS["npy", "no columns"] = lambda factor: npy_file((10 ** (3 * factor), 0))
BOMBS["npy", "no rows"] = lambda factor: npy_file((0, 10 ** (3 * factor)))
BOMBS["npy", "empty items"] = lambda factor: npy_file((10 ** (2 * factor), 2), "|S0")
BOMBS["npy", "void items"] = lambda factor: npy_file((10 ** (2 * factor), 2), "|V0")
BOMBS["npy", "a wide item"] = lambda factor: npy_file((2, 2), f"<U{10 ** (factor + 3)}", bytes(64))
BOMBS["npy", "many axes"] = lambda factor: npy_file((1,) * 10**factor, body=bytes(8))
BOMBS["npy", "deep header"] = lambda factor: (
    b"\x93NUMPY\x02\x00"
    + struct.pack("<I", 2 * 10**factor)
    + b"(" * 10**factor
    + b")" * 10**factor
)
BOMBS["npy", "a long header"] = lambda factor: (
    b"\x93NUMPY\x02\x00" + struct.pack("<I", 10 ** (factor + 2)) + b" " * 10 ** (factor + 2)
)
BOMBS["npy", "deep fields"] = lambda factor: npy_file(
    (2,), "[('a', " * 30 * factor + "'<f8'" + ")]" * 30 * factor
)
BOMBS["npz", "zeros"] = lambda factor: _npz(X=np.zeros((10 ** min(factor + 1, 7), 3), np.int8))
BOMBS["npz", "wide names"] = lambda factor: _npz(
    X=np.ones((200, 3)), names=np.array(["a" * 10 ** min(factor, 5)] + ["b"] * 199)
)
BOMBS["npz", "many members"] = lambda factor: _npz(
    **{f"a{i}": np.ones((2, 2)) for i in range(100 * factor)}
)
BOMBS["npz", "a false shape"] = lambda factor: zip_file(
    {"X.npy": npy_file((10 ** (3 * factor), 3))}
)


BOMBS["npy.gz", "zeros"] = lambda factor: gzip.compress(
    saved_array(np.zeros((10 ** min(factor + 1, 7), 3)))
)
BOMBS["npy.gz", "a false shape"] = lambda factor: gzip.compress(npy_file((10 ** (3 * factor), 3)))


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
