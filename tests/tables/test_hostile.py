"""Files of hostile make: refused in a sentence, before memory is taken or code is run."""

from __future__ import annotations

import io
import pickle
import random
import struct
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from unispectral.tables import TableError, _hdf, read_table
from unispectral.tables._mat import read_mat
from unispectral.tables._source import Source

h5py = pytest.importorskip("h5py")


class Bomb:
    """Would leave a trace if anything unpickled it."""

    gone_off = False

    def __reduce__(self):
        return setattr, (Bomb, "gone_off", True)


def npy_bytes(shape, dtype="<f8", body=b""):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def archive(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return file.getvalue()


def saved(function, *args, **kwargs):
    file = io.BytesIO()
    function(file, *args, **kwargs)
    return file.getvalue()


def test_pickles_are_not_opened():
    objects = saved(np.save, np.array([Bomb()], dtype=object), allow_pickle=True)
    for content, kind in ((objects, "npy"), (archive({"X.npy": objects}), "npz")):
        with pytest.raises(TableError, match=r"Python objects \(a pickle\)"):
            read_table(io.BytesIO(content), format=kind)
    for kind in ("npy", "npz", "mat", "hdf5", "parquet", "excel", "csv"):
        with pytest.raises(TableError):
            read_table(io.BytesIO(pickle.dumps(Bomb())), format=kind)
    assert not Bomb.gone_off


@pytest.mark.parametrize("shape", ["(1000000000000, 1000)", "(2, -3)", "(3, 3)", "(2**62, 2**62)"])
def test_npy_declares_more_than_it_holds(shape):
    content = npy_bytes(shape, body=bytes(16))
    for bad in (content, archive({"X.npy": content})):
        with pytest.raises(TableError):
            read_table(io.BytesIO(bad))


def test_zip_bombs():
    content = archive({"X.npy": npy_bytes("(10, 10)", body=bytes(800))})
    # Claim 64 GB for the member in both of its headers.
    size = struct.pack("<I", len(npy_bytes("(10, 10)", body=bytes(800))))
    lie = content.replace(size, struct.pack("<I", 2**32 - 2))
    assert lie != content
    with pytest.raises(TableError, match=r"declares .* bytes but stores .* damaged or hostile"):
        read_table(io.BytesIO(lie))
    book = archive({"xl/workbook.xml": b"x", "[Content_Types].xml": b"x"})
    size = struct.pack("<II", len(zlib.compress(b"x")) - 6, 1)
    lie = book.replace(size, struct.pack("<II", len(zlib.compress(b"x")) - 6, 2**32 - 2))
    assert lie != book
    with pytest.raises(TableError, match="damaged"):
        read_table(io.BytesIO(lie))


def test_memory_is_asked_for_first():
    with pytest.raises(TableError, match=r"declares .* GiB of values, but .* GiB of memory"):
        Source("The file 'a.npy'").check_memory(2**60)
    with pytest.raises(TableError, match="which cannot be true"):
        Source("The file 'a.npz'").check_inflation(2**40, 100)


def test_path_traversal_in_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = archive({"../../evil.npy": npy_bytes("(2, 1)", body=bytes(16))})
    assert read_table(io.BytesIO(content)).values.shape == (2, 1)
    assert list(tmp_path.parent.glob("evil*")) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("indices", "indptr", "shape"),
    [
        ([0, 9], [0, 1, 2], [2, 2]),
        ([0, -1], [0, 1, 2], [2, 2]),
        ([0, 1], [0, 2, 1], [2, 2]),
        ([0, 1], [0, 2, 0], [2, 2]),
        ([0, 1], [0, 10**9, 0], [2, 2]),
        ([0, 1], [0, 0, -1], [2, 2]),
        ([0, 1], [], [2, 2]),
        ([0, 1], [0, 1, 9], [2, 2]),
        ([0, 1], [1, 1, 2], [2, 2]),
        ([0, 1], [0, 1, 2], [2**40, 2]),
        ([0, 1], [0, 1, 2], [2]),
        ([0.0, 1.0], [0, 1, 2], [2, 2]),
        ([[0, 1]], [0, 1, 2], [2, 2]),
    ],
)
def test_sparse_indices_that_point_outside(indices, indptr, shape):
    parts = {"indices": indices, "indptr": indptr, "shape": shape}
    content = saved(np.savez, format=np.array("csr"), data=np.ones(2), **parts)
    with pytest.raises(TableError, match="indices do not fit"):
        read_table(io.BytesIO(content))


def test_sparse_matrices_may_keep_room_for_more():
    parts = {"indices": [0, 1, 7, 9], "indptr": [0, 1, 2], "shape": [2, 2]}
    content = saved(np.savez, format=np.array("csr"), data=np.ones(3), **parts)
    assert read_table(io.BytesIO(content)).values.toarray().tolist() == [[1, 0], [0, 1]]


def mat5(variable, compress=False):
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    if compress:
        packed = zlib.compress(variable)
        variable = struct.pack("<II", 15, len(packed)) + packed
    return head + variable


def matrix(shape, kind=6, body=None, flags=0):
    parts = struct.pack("<IIII", 6, 8, kind | flags, 0)
    parts += struct.pack("<II", 5, 4 * len(shape)) + struct.pack(f"<{len(shape)}i", *shape)
    parts += bytes(-len(shape) * 4 % 8) + struct.pack("<HHI", 1, 1, ord("X"))
    body = struct.pack("<II", 9, 16) + bytes(16) if body is None else body
    return struct.pack("<II", 14, len(parts + body)) + parts + body


@pytest.mark.parametrize("compress", [False, True])
def test_mat_written_by_hand_is_read(compress):
    content = mat5(matrix((1, 2)), compress)
    assert read_mat(io.BytesIO(content))["X"].tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize(
    ("variable", "sentence"),
    [
        (matrix((2**31 - 1, 2**31 - 1)), "declares the shape .* but holds 2 values"),
        (matrix((-1, 2)), "cut short or damaged"),
        (matrix((1, 2), kind=1), r"it holds 'X' \(cell array\)"),
        (matrix((1, 2), kind=2), r"it holds 'X' \(structure\)"),
        (matrix((1, 2), kind=3), r"it holds 'X' \(object\)"),
        (matrix((1, 2), kind=17), r"it holds 'X' \(object\)"),
        (matrix((1, 2), kind=99), "variable of unknown kind"),
        (matrix((1, 2), flags=0x800), "matrix of complex numbers"),
        (matrix((1, 2), body=struct.pack("<II", 9, 2**31) + bytes(16)), "cut short or damaged"),
        (matrix((1, 2), body=struct.pack("<II", 77, 16) + bytes(16)), "cut short or damaged"),
        (struct.pack("<II", 14, 8) + bytes(8), "cut short or damaged"),
        (struct.pack("<II", 14, 2**32 - 8) + bytes(8), "cut short|cannot be true"),
    ],
)
def test_hostile_mat(variable, sentence, compress):
    with pytest.raises(TableError, match=sentence):
        read_mat(io.BytesIO(mat5(variable, compress)))


def test_mat_bomb_is_not_inflated():
    packed = zlib.compress(struct.pack("<II", 14, 2**32 - 16) + bytes(100))
    content = mat5(struct.pack("<II", 15, len(packed)) + packed)
    with pytest.raises(TableError, match="declares 4,294,967,280 bytes but stores"):
        read_mat(io.BytesIO(content))


def test_mat_names_and_versions():
    content = saved(scipy.io.savemat, {"X": np.eye(2), "s": {"a": 1}, "S": sp.eye(3).tocsc()})
    assert sorted(read_mat(io.BytesIO(content))) == ["S", "X"]
    assert read_mat(io.BytesIO(content))["S"].toarray().tolist() == np.eye(3).tolist()
    old = saved(scipy.io.savemat, {"X": np.eye(2)}, format="4")
    with pytest.raises(TableError, match="not a MATLAB file of version 5 or later"):
        read_mat(io.BytesIO(old))


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "i8", "u8", "?"])
@pytest.mark.parametrize("compress", [False, True])
def test_mat_types_against_scipy(dtype, compress):
    array = (np.arange(12) % 3).astype(dtype).reshape(3, 4)
    content = saved(scipy.io.savemat, {"X": array}, do_compression=compress)
    found = read_mat(io.BytesIO(content))["X"]
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype


def mat73(path):
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("X", data=np.arange(6.0).reshape(2, 3))
        file["X"].attrs["MATLAB_class"] = np.bytes_("double")
        file.create_dataset("t", data=np.array([[97]], "u2"))
        file["t"].attrs["MATLAB_class"] = np.bytes_("char")
        sparse = sp.csc_array(np.array([[0, 1.0], [2, 0], [0, 3]]))
        group = file.create_group("S")
        group.attrs["MATLAB_sparse"] = np.uint64(3)
        group["data"], group["ir"] = sparse.data, sparse.indices.astype("u8")
        group["jc"] = sparse.indptr.astype("u8")
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    path.write_bytes(head + path.read_bytes()[128:])


def test_mat_of_version_73(tmp_path):
    mat73(tmp_path / "x.mat")
    found = read_mat(tmp_path / "x.mat")
    assert sorted(found) == ["S", "X"]
    np.testing.assert_array_equal(found["X"], np.arange(6.0).reshape(2, 3).T)
    np.testing.assert_array_equal(found["S"].toarray(), [[0, 1], [2, 0], [0, 3]])


def test_hdf5_does_not_lead_out_of_its_file(tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["X"] = np.eye(3)
    layout = h5py.VirtualLayout((3, 3), "f8")
    layout[:] = h5py.VirtualSource("secret.h5", "X", (3, 3))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["away"] = h5py.ExternalLink("secret.h5", "X")
        file["soft"] = h5py.SoftLink("/away")
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("outside", (3, 3), "f8", external=[("secret.h5", 0, 72)])
        file.create_dataset("bomb", (10**7, 10**6), "f8", chunks=(1000, 1000))
        file["text"] = "words"
    for key, sentence in {
        "away": "links are not followed",
        "soft": "links are not followed",
        "virtual": "in another file",
        "outside": "in another file",
        "bomb": "stores 0, which cannot be true",
        "text": "not numbers",
    }.items():
        with pytest.raises(TableError, match=sentence):
            read_table(tmp_path / "x.h5", key=key)


def test_hdf5_without_numbers(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["text"] = ["words", "more"]
    with pytest.raises(TableError, match=r"'x.h5' holds no table of numbers\.$"):
        read_table(tmp_path / "x.h5")


def test_what_kills_the_hdf5_library_does_not_kill_us(tmp_path, monkeypatch):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["X"] = np.eye(3)
    monkeypatch.setattr(_hdf, "_TRIAL", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(TableError, match="reading it crashes the HDF5 library"):
        read_table(tmp_path / "x.h5")
    monkeypatch.setattr(_hdf, "_TRIAL", "while True: pass")
    monkeypatch.setattr(_hdf, "_PATIENCE", 0.2)
    with pytest.raises(TableError, match="reading it does not end"):
        read_table(tmp_path / "x.h5")


def frame_bytes(kind):
    frame = pd.DataFrame({"name": list("abc"), "x": [1.0, 2.0, 4.0], "y": [3, 1, 2]})
    return {
        "csv": lambda: frame.to_csv(index=False).encode(),
        "parquet": lambda: saved(lambda f: frame.to_parquet(f)),
        "excel": lambda: saved(lambda f: frame.to_excel(f, index=False)),
        "npy": lambda: saved(np.save, np.eye(3)),
        "npz": lambda: saved(np.savez_compressed, X=np.eye(3), y=np.arange(3)),
        "mat": lambda: saved(scipy.io.savemat, {"X": np.eye(3), "S": sp.eye(3).tocsc()}),
    }[kind]()


@pytest.mark.parametrize("kind", ["csv", "parquet", "excel", "npy", "npz", "mat"])
def test_damaged_bytes(kind):
    """Whatever is changed or cut off: a table, or one sentence; never another error."""
    content, rng = frame_bytes(kind), random.Random(7)
    outcomes, sentences = {"read": 0, "refused": 0}, []
    for _ in range(150):
        damaged = bytearray(content)
        if rng.random() < 0.2:
            damaged = damaged[: rng.randrange(len(damaged))]
        for _ in range(rng.choice([0, 1, 2, 8])):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.choice([0, 255, rng.randrange(256)])
        try:
            table = read_table(io.BytesIO(bytes(damaged)), format=kind, impute="zero")
        except TableError as error:
            outcomes["refused"] += 1
            sentences.append(str(error))
        else:
            outcomes["read"] += 1
            values = table.values.data if sp.issparse(table.values) else table.values
            assert np.isfinite(values).all()
    assert all(sentence.endswith(".") and "\n" not in sentence for sentence in sentences)
    assert min(outcomes.values()) > 0
