"""Saved models: the same predictions after loading, and one sentence for every bad file."""

from __future__ import annotations

import errno
import io
import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from unispectral import SCMK, SCSK, baselines
from unispectral.kernels import Gaussian, Linear, Metric, Polynomial
from unispectral.persistence import ModelFileError, load_model, save_model
from unispectral.persistence._models import CLASSES

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(centre, 0.3, (12, 4)) for centre in (0.0, 3.0, 6.0)])
NEW = rng.normal(3.0, 2.0, (7, 4))


def same(a, b) -> bool:
    """Equal to the last bit, in type and shape too."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if sp.issparse(a):
        return a.shape == b.shape and all(
            same(getattr(a, part), getattr(b, part)) for part in ("data", "indices", "indptr")
        )
    if isinstance(a, tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


PRIVATE = ("_samples_", "_sources_")


KERNELS = (
    Gaussian(0.3, scale="median"),
    Gaussian(2.0, scale=1.5),
    Linear(),
    Polynomial(2, offset=1.0, scale="mean"),
    Metric("laplacian", {"gamma": 0.5}),
)
VIEWS = [np.where(np.arange(36)[:, None] == 3, np.nan, X), X[:, :2] ** 2]
NEW_VIEWS = [NEW, NEW[:, :2] ** 2]
CASES = {
    "single": (SCSK(3), X, NEW),
    "float32": (SCSK(3), X.astype(np.float32), NEW.astype(np.float32)),
    "kernels": (SCMK(3, kernels=KERNELS), X, NEW),
    "counted": (SCSK("auto", max_clusters=6), X, NEW),
    "no whitening": (SCMK(3, kernels=KERNELS, whiten=None), X, NEW),
    "sparse": (SCMK(3, kernels="linear"), sp.csr_array(abs(X)), sp.csr_array(abs(NEW))),
    "views": (SCMK(3, kernels=["linear", "gaussian_1"]), VIEWS, NEW_VIEWS),
    "columns": (SCMK(3, views={"left": [0, 1], "right": [2, 3]}), X, NEW),
    "precomputed": (SCSK(3, kernel="precomputed"), X @ X.T, NEW @ X.T),
    "paper": (SCSK.paper(3), X, NEW),
    "paper float32": (SCSK.paper(3), X.astype(np.float32), NEW.astype(np.float32)),
    "paper kernels": (SCMK.paper(3, kernels=KERNELS), X, NEW),
    "paper centred": (SCMK.paper(3, normalize=("center", "trace")), X, NEW),
    "paper raw": (SCMK.paper(3, kernels=["gaussian_0.1", "linear"], normalize="none"), X, NEW),
    "paper views": (SCMK.paper(3, kernels=["linear", "gaussian_1"]), VIEWS, NEW_VIEWS),
    "paper precomputed": (
        SCMK.paper(3, kernels="precomputed"),
        [X @ X.T, (X @ X.T) ** 2],
        [NEW @ X.T, (NEW @ X.T) ** 2],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_comes_back_bit_for_bit(case, tmp_path):
    model, data, new = CASES[case]
    model = model.fit(data)
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert type(loaded) is type(model)
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert set(vars(loaded)) == set(vars(model))
    for name, value in vars(model).items():
        if name not in PRIVATE:
            assert same(value, getattr(loaded, name)), name
    assert same(model.transform(new), loaded.transform(new))
    assert same(model.predict(new), loaded.predict(new))
    # Saving again what was loaded gives the same file: nothing was lost on the way.
    save_model(loaded, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()


def test_feature_names_come_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    model = SCSK(3).fit(pandas.DataFrame(X, columns=["a", "b<script>", "ü", ""]))
    save_model(model, tmp_path / "model.npz")
    names = load_model(tmp_path / "model.npz").feature_names_in_
    assert names.dtype == object
    assert names.tolist() == ["a", "b<script>", "ü", ""]


@pytest.mark.parametrize("name", sorted(set(CLASSES) - {"SCSK", "SCMK"}))
def test_every_baseline_can_be_saved(name, tmp_path):
    pytest.importorskip(f"unispectral.baselines.{name.lower()}")
    model = getattr(baselines, name)(n_clusters=3, random_state=0).fit(X)
    save_model(model, tmp_path / "model.npz")
    assert same(load_model(tmp_path / "model.npz").labels_, model.labels_)


def test_same_model_same_file(tmp_path):
    model = SCSK(3).fit(X)
    for name in ("a", "b"):
        save_model(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_opens_in_numpy_without_pickle(tmp_path):
    model = SCSK(3).fit(X)
    save_model(model, tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as archive:
        assert np.array_equal(archive["fitted.labels_"], model.labels_)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SCSK(3, kernel=lambda x, y: float(x @ y)), "kernel.*function"),
        (SCMK(3, kernels=[Metric(lambda x, y: float(x @ y))]), "kernels.*function"),
        (SCSK(3, random_state=np.random.RandomState(0)), "random_state.*set_params"),
        (KMeans(3, n_init=1), "KMeans.*cannot be saved"),
    ],
)
def test_what_cannot_be_saved_is_refused_and_nothing_written(model, words, tmp_path):
    with pytest.raises(TypeError, match=words):
        save_model(model.fit(X), tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_unfitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save_model(SCSK(3), tmp_path / "model.npz")


def test_a_subclass_is_refused(tmp_path):
    class SCSK(globals()["SCSK"]):  # the same name, another class
        pass

    with pytest.raises(TypeError, match="cannot be saved"):
        save_model(SCSK(3).fit(X), tmp_path / "model.npz")


# Bad files


@pytest.fixture(scope="module")
def members(tmp_path_factory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("saved") / "model.npz"
    save_model(SCMK.paper(3, kernels=["gaussian", "linear"]).fit(X), path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(array, *, allow_pickle=False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def refused(tmp_path, content: bytes) -> str:
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    message = str(caught.value)
    assert "\n" not in message
    assert "model.npz" in message
    return message


def manifest_with(members, change) -> dict[str, bytes]:
    manifest = json.loads(members["model.json"])
    change(manifest)
    return {**members, "model.json": json.dumps(manifest).encode()}


def array_with(members, name, array) -> dict[str, bytes]:
    """An array replaced, the manifest telling the same lie."""

    def change(manifest):
        manifest["arrays"][name] = {"dtype": array.dtype.str, "shape": list(array.shape)}

    return {**manifest_with(members, change), f"{name}.npy": npy(array)}


def test_unchanged_copy_loads(members, tmp_path):
    (tmp_path / "model.npz").write_bytes(packed(members))
    assert load_model(tmp_path / "model.npz").n_clusters_ == 3


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,2\n", b"PK", b"PK\x03\x04nonsense", b"\x80\x04."]
)
def test_foreign_files(content, tmp_path):
    refused(tmp_path, content)


def test_another_zip_file(tmp_path):
    assert "no model.json" in refused(tmp_path, packed({"labels.npy": npy(np.arange(3))}))


@pytest.mark.parametrize(
    "error", [OSError(errno.EINVAL, "Invalid argument"), zipfile.BadZipFile("x " + "y" * 5000)]
)
def test_what_the_reader_of_archives_raises_becomes_a_sentence(error, tmp_path, monkeypatch):
    def refuse(*args):
        raise error

    monkeypatch.setattr("unispectral.persistence._archive._read", refuse)
    said = refused(tmp_path, b"PK")
    assert "damaged or cut short" in said
    assert len(said) < 400


def test_every_truncation_is_noticed(members, tmp_path):
    whole = packed(members)
    for length in np.linspace(0, len(whole) - 1, 60).astype(int):
        refused(tmp_path, whole[:length])


def test_flipped_bytes_never_load_something_else(members, tmp_path):
    whole = bytearray(packed(members))
    draw = np.random.default_rng(1)
    path = tmp_path / "model.npz"
    path.write_bytes(whole)
    right = load_model(path)
    for _ in range(200):
        broken = bytearray(whole)
        broken[draw.integers(len(broken))] ^= 1 << draw.integers(8)
        path.write_bytes(broken)
        try:
            loaded = load_model(path)
        except ModelFileError:
            continue
        # A byte that nobody reads, such as a date in the archive's directory.
        assert all(
            same(value, getattr(loaded, name))
            for name, value in vars(right).items()
            if name not in PRIVATE
        )


def test_object_arrays_are_not_unpickled(members, tmp_path):
    hostile = npy(np.array([{"a": 1}], dtype=object), allow_pickle=True)
    name = "fitted.labels_.npy"

    def change(manifest):
        manifest["arrays"]["fitted.labels_"] = {"dtype": "|O", "shape": [1]}

    assert "numbers only" in refused(
        tmp_path, packed({**manifest_with(members, change), name: hostile})
    )


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/tmp/x.npy", "a/../../b.npy", "code.py", "C:\\x.npy", "é.npy"]
)
def test_strange_member_names(members, name, tmp_path):
    assert "cannot hold" in refused(tmp_path, packed({**members, name: b""}))


def test_huge_declared_shape(members, tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<i4", "fortran_order": False, "shape": (10**12, 10**6)}
    )

    def change(manifest):
        manifest["arrays"]["fitted.labels_"] = {"dtype": "<i4", "shape": [10**12, 10**6]}

    changed = {**manifest_with(members, change), "fitted.labels_.npy": header.getvalue()}
    assert "not of the type and shape" in refused(tmp_path, packed(changed))


def test_more_than_the_memory_holds(members, tmp_path, monkeypatch):
    monkeypatch.setattr("unispectral.persistence._archive.available_memory", lambda: 1000)
    assert "too large" in refused(tmp_path, packed(members))


def _set(*path):
    *way, last, value = path

    def change(manifest):
        for key in way:
            manifest = manifest[key]
        manifest[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set("version", 2), "version 2"),
        (_set("version", True), "version True"),
        (_set("format", "other"), "format"),
        (_set("class", "Popen"), "unknown class"),
        (_set("class", ["SCSK"]), "unknown class"),
        (_set("class", "KKM"), "differ in the parameter"),
        (_set("params", "n_clusters", -3), "parameter is wrong"),
        (_set("params", "alpha", {"$eval": "1"}), "unknown kind"),
        (_set("params", "alpha", {"$array": "nothing"}), "does not hold"),
        (_set("params", "extra", 1), "parameter 'extra'"),
        (_set("params", "kernels", {"$kernel": "Popen", "fields": {}}), "kernel"),
        (_set("params", "kernels", {"$kernel": "Gaussian", "fields": {"width": -1}}), "width"),
        (_set("fitted", "fit", 1), "attribute 'fit'"),
        (_set("fitted", "__class__", 1), "attribute '__class__'"),
        (_set("fitted", "__dict__", 1), "attribute '__dict__'"),
        (_set("fitted", "labels_", "0 1 2"), "labels_"),
        (_set("fitted", "n_clusters_", 2), "n_clusters_"),
        (_set("fitted", "kernel_names_", ["a"]), "kernel_names_"),
        (_set("fitted", "graph_", "shape", [36, 10]), r"\$csr"),
        (_set("fitted", None), "without 'fitted'"),
        (_set("params", "alpha", [[[[[[[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]]]]]]]), "deeply"),
        (_set("fitted", "_sources_", [{"$bank": {"$map": []}, "number": 0}]), r"\$bank"),
        (_set("fitted", "_sources_", [{"$same": 99}]), r"\$same"),
        (_set("fitted", "_sources_", [{"$object": "Popen", "state": {}}]), "unknown class"),
        (
            _set("fitted", "_sources_", [{"$object": "Samples", "state": {"n_samples": 1}}]),
            "cannot",
        ),
        (_set("fitted", "_sources_", 0, "state", "nearest", 1), "nearest"),
        (_set("fitted", "_sources_", 0, "state", "__class__", 1), "__class__"),
        (_set("fitted", "_sources_", 0, "state", "weights", None), "fit together"),
    ],
)
def test_tampered_manifest(members, change, words, tmp_path):
    import re

    message = refused(tmp_path, packed(manifest_with(members, change)))
    assert re.search(words, message), message


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("fitted.labels_", np.zeros(35, np.int32)),
        ("fitted.labels_", np.full(36, 7, np.int32)),
        ("fitted.labels_", np.zeros(36)),
        ("fitted.membership_", np.zeros((36, 4))),
        ("fitted.embedding_", np.zeros((30, 3))),
        ("fitted.rotation_", np.zeros((2, 3))),
        ("fitted.kernel_weights_", np.zeros(5)),
        ("fitted.graph_.indptr", np.full(37, 10**6, np.int32)),
        ("fitted.graph_.indices", np.full(3, -1, np.int32)),
        ("fitted._samples_.tables.0", np.zeros((20, 4))),
        ("fitted._samples_.tables.0", np.zeros((36, 4), np.int64)),
        ("fitted._sources_.0.bank.views.0.squared_norms", np.zeros(3)),
        ("fitted._sources_.0.bank.kernels.0.vectors.0", np.zeros(3)),
    ],
)
def test_tampered_arrays(members, name, array, tmp_path):
    assert f"{name}.npy" in members
    refused(tmp_path, packed(array_with(members, name, array)))


def test_indices_beyond_the_graph(members, tmp_path):
    name = "fitted.graph_.indices"
    indices = np.load(io.BytesIO(members[f"{name}.npy"]))
    indices[-1] = 10**6
    assert "out of range" in refused(tmp_path, packed(array_with(members, name, indices)))


def test_array_not_in_the_list(members, tmp_path):
    assert "changed" in refused(tmp_path, packed({**members, "more.npy": npy(np.arange(2))}))


def test_manifest_that_is_not_json(members, tmp_path):
    for text in (b"{", b"\xff", b"[" * 100_000, b'{"format": NaN}'):
        refused(tmp_path, packed({**members, "model.json": text}))


def test_a_failed_save_leaves_the_old_model(tmp_path):
    path = tmp_path / "model.npz"
    save_model(SCSK(3).fit(X), path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        save_model(SCSK(3, kernel=lambda x, y: float(x @ y)).fit(X), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.npz"]


def test_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.npz")
