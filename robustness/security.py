"""Attacks: files that want to run code or eat memory, pages that want to run scripts."""

from __future__ import annotations

import io
import os
import pickle
import re
import shutil
import struct
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from robustness._results import Part, Plan, Result

__all__ = ["PARTS", "XSS", "forbidden_calls"]

#: Ways in which text has become a script elsewhere.
XSS = (
    "<script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "'><svg/onload=window.hacked=1>",
    "</script><script>window.hacked=1</script>",
    "</title><script>window.hacked=1</script>",
    "</style><script>window.hacked=1</script>",
    "</textarea><script>window.hacked=1</script>",
    "<!--<script>window.hacked=1</script>-->",
    "-->]]><script>window.hacked=1</script>",
    "javascript:window.hacked=1",
    "{{constructor.constructor('window.hacked=1')()}}",
    "${window.hacked=1}",
    "`;window.hacked=1;//",
    "';window.hacked=1;//",
    '";window.hacked=1;//',
    "\\u003cscript\\u003ewindow.hacked=1\\u003c/script\\u003e",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=window.hacked=1>",
    "<a href='javascript:window.hacked=1' id=x>x</a>",
    "\u2028window.hacked=1\u2029",
    "&lt;script&gt;window.hacked=1&lt;/script&gt;",
    "<base href='https://attacker.invalid/'>",
    "<meta http-equiv=refresh content='0;url=javascript:window.hacked=1'>",
    "__proto__",
)


class _Bomb:
    """Leaves a trace if anything unpickles it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


def _npy(shape: str, dtype: str = "'<f8'", body: bytes = b"") -> bytes:
    header = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header = header.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def _zip(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in members.items():
            made.writestr(name, content)
    return file.getvalue()


def _mat(elements: bytes) -> bytes:
    return b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + elements


def hostile_files(trace: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents of files that a reader must refuse; none may touch `trace`."""
    objects = io.BytesIO()
    np.save(objects, np.array([_Bomb(trace)], dtype=object), allow_pickle=True)
    yield "pickle.npy", objects.getvalue()
    yield "pickle.npz", _zip({"X.npy": objects.getvalue()})
    for suffix in (".npy", ".npz", ".mat", ".h5", ".h5ad", ".parquet", ".xlsx", ".csv", ".pkl"):
        yield f"bare{suffix}", pickle.dumps(_Bomb(trace))
    for shape in ("(10**12, 1000)", "(1000000000000, 1000)", "(2, -3)", "(2**62,)", "(-1,)"):
        yield "huge.npy", _npy(shape, body=bytes(64))
        yield "huge.npz", _zip({"X.npy": _npy(shape, body=bytes(64))})
    yield "code.npy", _npy("(2,)", "__import__('os').mkdir('x')", bytes(16))
    yield "nested.npy", _npy("(" * 40 + "(2,),)" + ",)" * 39, body=bytes(16))
    yield "object.npy", _npy("(2,)", "'|O'", bytes(16))
    yield "zip.npz", _zip({"X.npy": _npy("(20000000,)", "'|u1'") + bytes(20_000_000)})
    large = struct.pack("<II", 14, 2**31 - 1)
    yield "declared.mat", _mat(large + bytes(64))
    packed = zlib.compress(struct.pack("<II", 14, 2**31 - 1) + bytes(1000))
    yield "packed.mat", _mat(struct.pack("<II", 15, len(packed)) + packed)
    bomb = zlib.compress(bytes(50_000_000), 9)
    yield "bomb.mat", _mat(struct.pack("<II", 15, len(bomb)) + bomb)
    cells = io.BytesIO()
    scipy.io.savemat(cells, {"X": np.array([[1, "a"], ["b", 2]], dtype=object)})
    yield "cells.mat", cells.getvalue()
    yield from _hdf5()
    entities = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + i, (b"&%c;" % (97 + i)) * 10) for i in range(9)
    )
    book = entities + b"]><workbook>&j;</workbook>"
    yield "laughs.xlsx", _zip({"xl/workbook.xml": book, "[Content_Types].xml": book})
    outside = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><workbook>&a;</workbook>'
    yield "entity.xlsx", _zip({"xl/workbook.xml": outside, "[Content_Types].xml": outside})


def _hdf5() -> Iterator[tuple[str, bytes]]:
    import h5py

    def made(fill: Any) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.h5")
            with h5py.File(path, "w") as file:
                fill(file)
            return Path(path).read_bytes()

    yield "outside.h5", made(lambda f: f.__setitem__("X", h5py.ExternalLink("/etc/passwd", "/")))
    yield "circle.h5", made(lambda f: f.__setitem__("X", h5py.SoftLink("/X")))
    yield (
        "external.h5",
        made(
            lambda f: f.create_dataset(
                "X", (100, 10), dtype="u1", external=[("/etc/passwd", 0, h5py.h5f.UNLIMITED)]
            )
        ),
    )
    yield (
        "sparse.h5",
        made(lambda f: f.create_dataset("X", (10**9, 10**6), "f4", chunks=(1, 1000))),
    )
    yield (
        "objects.h5",
        made(
            lambda f: f.create_dataset("X", (2, 2), dtype=h5py.special_dtype(ref=h5py.Reference))
        ),
    )


def hostile_models(trace: str) -> Iterator[tuple[str, bytes]]:
    """Saved models of hostile make."""
    from robustness._damaged import valid

    good = zipfile.ZipFile(io.BytesIO(valid("model")))
    members = {name: good.read(name) for name in good.namelist()}
    manifest = next(name for name in members if name.endswith(".json"))
    text = members[manifest].decode()
    objects = io.BytesIO()
    np.save(objects, np.array([_Bomb(trace)], dtype=object), allow_pickle=True)
    array = next(name for name in members if name.endswith(".npy"))
    yield "pickled array", _zip({**members, array: objects.getvalue()})
    yield "traversal", _zip({**members, "../../evil.npy": members[array]})
    yield "absolute", _zip({**members, "/tmp/evil.npy": members[array]})
    yield "a program", _zip({**members, "evil.py": b"import os"})
    for old, new in {
        '"UnifiedSpectralClustering"': '"os.system"',
        '"class"': '"klass"',
        '"KernelGeometry"': '"Popen"',
        '"labels_"': '"fit"',
        '"n_clusters"': '"__class__"',
        '"embedding_"': '"__dict__"',
        '"shape": [': '"shape": [-1, ',
        '"version"': '"versoin"',
    }.items():
        if old in text:
            yield f"{old} → {new}", _zip({**members, manifest: text.replace(old, new).encode()})
    yield "deep", _zip({**members, manifest: b'{"a":' * 100_000 + b"1" + b"}" * 100_000})
    yield "a bare pickle", pickle.dumps(_Bomb(trace))
    yield "a large manifest", _zip({**members, manifest: b" " * 300_000_000})


#: A large file that is what it says.
_ALLOWED = {("read_table", "zip.npz")}


def _files(plan: Plan) -> Result:
    from unispectral.persistence import ModelFileError, load_model
    from unispectral.tables import TableError, read_table

    result = Result("security: files of hostile make", plan.seed)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder) / "room"
        room.mkdir()
        trace = str(Path(folder) / "trace")
        readers = {"read_table": read_table}
        attacks = [(n, c, readers, TableError) for n, c in hostile_files(trace)]
        model = {"load_model": load_model}
        attacks += [(n, c, model, ModelFileError) for n, c in hostile_models(trace)]
        for name, content, functions, refusal in attacks:
            path = room / (name if "." in name and "/" not in name else "model.npz")
            path.write_bytes(content)
            for reader, read in functions.items():
                case = f"{reader}: {name}"
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        read(path)  # type: ignore[operator]
                except refusal as error:
                    good, words = "\n" not in str(error), f"no sentence: {error}"
                except Exception as error:
                    good, words = False, repr(error)
                else:
                    good, words = (reader, name) in _ALLOWED, "it was read"
                if os.path.exists(trace):
                    good, words = False, "CODE WAS RUN"
                    shutil.rmtree(trace)
                result.check(good, case, words)
            path.unlink()
            if os.listdir(folder) != ["room"] or os.listdir(room):
                result.add("failed", name, f"left files behind: {os.listdir(folder)}")
    return result


#: What must not occur in the library, and what it would do.
_FORBIDDEN = {
    r"\bpickle\.loads?\(": "unpickles",
    r"\bjoblib\.load\(": "unpickles",
    r"allow_pickle\s*=\s*True": "unpickles",
    r"(?<![\w.])eval\(": "runs code",
    r"(?<![\w.])exec\(": "runs code",
    r"shell\s*=\s*True": "runs a shell",
    r"\bos\.(system|popen)\(": "runs a shell",
    r"\byaml\.(load|unsafe_load)\(": "makes objects of text",
    r"\b(extractall|unpack_archive)\(": "unpacks to where the archive says",
    r"\bmarshal\.loads?\(": "runs code",
    r"verify\s*=\s*False": "trusts any server",
    r"[\"']http://": "fetches without encryption",
}
_HARMLESS = ("http://graphml.graphdrawing.org", "http://www.w3.org")


def forbidden_calls() -> list[str]:
    """Lines of the library that could run what a user's file says."""
    import unispectral

    found = []
    for path in sorted(Path(unispectral.__file__).parent.rglob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("#")[0]
            for pattern, why in _FORBIDDEN.items():
                if re.search(pattern, code) and not any(word in code for word in _HARMLESS):
                    found.append(f"{path.name}:{number} {why}: {line.strip()}")
    return found


def _source(plan: Plan) -> Result:
    from unispectral.datasets import dataset_info, list_datasets

    result = Result("security: source and downloads", plan.seed)
    found = forbidden_calls()
    for pattern, why in _FORBIDDEN.items():
        hits = [line for line in found if f" {why}: " in line and re.search(pattern, line)]
        result.check(not hits, pattern, "; ".join(hits))
    for name in list_datasets():
        row = dataset_info(name)
        for file in (row.file, row.raw_file):
            if file is not None:
                good = file.url.startswith("https://") and len(file.sha256) == 64
                result.check(good, f"download of {name}", file.url)
    return result


def _pages(plan: Plan) -> Result:
    """Both pages in Chromium, with hostile text wherever text can be."""
    if shutil.which("chromium") is None and shutil.which("chromium-browser") is None:
        result = Result("security: scripts in pages", plan.seed)
        result.facts["not run"] = "there is no Chromium here"
        return result
    from robustness import _pages

    return _pages.look_at_all(plan, XSS)


PARTS: dict[str, Part] = {"files": _files, "source": _source, "pages": _pages}
