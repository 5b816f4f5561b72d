"""Saved models: the same predictions after loading, and one sentence for every bad file."""

from __future__ import annotations

import errno
import io
import json
import re
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from unispectral import SCMK, SCSK, UnifiedSpectralClustering
from unispectral.baselines import KKM
from unispectral.kernels import Gaussian, Linear, Metric, Polynomial
from unispectral.persistence import ModelFileError, load_model, save_model
from unispectral.persistence._values import Reader, Writer, boolean, integer, real

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(centre, 0.3, (12, 4)) for centre in (0.0, 3.0, 6.0)])
NEW = rng.normal(3.0, 2.0, (7, 4))


def same(a, b) -> bool:
    """Equal to the last bit, in type and shape too."""
    if isinstance(a, np.ndarray) and a.dtype == object:
        return b.dtype == object and a.tolist() == b.tolist()
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if sp.issparse(a):
        return a.shape == b.shape and all(
            same(getattr(a, part), getattr(b, part)) for part in ("data", "indices", "indptr")
        )
    if isinstance(a, dict) and type(a) is type(b):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


PRIVATE = ("_predictor_",)


KERNELS = (
    Gaussian(0.3, scale="median"),
    Gaussian(2.0, scale=1.5),
    Linear(),
    Polynomial(2, offset=1.0, scale="mean"),
    Metric("laplacian", {"gamma": 0.5}),
)
VIEWS = [np.where(np.arange(36)[:, None] == 3, np.nan, X), X[:, :2] ** 2]
NEW_VIEWS = [NEW, NEW[:, :2] ** 2]
U = UnifiedSpectralClustering
EXACT = {"solver": "exact", "alpha": 0.1, "beta": 0.1, "gamma": 0.1}
CASES = {
    "one kernel": (U(3), X, NEW),
    "float32": (U(3), X.astype(np.float32), NEW.astype(np.float32)),
    "kernels": (U(3, kernels=KERNELS), X, NEW),
    "counted": (U("auto", max_clusters=6), X, NEW),
    "no whitening": (U(3, kernels=KERNELS, whiten=None), X, NEW),
    "whitened": (U(3, whiten=1.0), np.hstack([X] * 3) + 1.0, np.hstack([NEW] * 3) + 1.0),
    "standardised": (U(3, scaling="standard"), X, NEW),
    "weighted": (U(3, scaling="counts"), abs(X), abs(NEW)),
    "sparse": (U(3), sp.csr_array(abs(X)), sp.csr_array(abs(NEW))),
    "far away": (U(3), X + 1e9, NEW + 1e9),
    "views": (U(3, kernels=["linear", "gaussian_1"]), VIEWS, NEW_VIEWS),
    "columns": (U(3, views={"left": [0, 1], "right": [2, 3]}), X, NEW),
    "masks": (U(3, views={"left": np.arange(4) < 2, "right": slice(2, None)}), X, NEW),
    "precomputed": (U(3, kernels="precomputed"), X @ X.T, NEW @ X.T),
    "alm": (SCSK(3), X, NEW),
    "alm kernels": (SCMK(3), X, NEW),
    "paper": (SCSK(3, **EXACT), X, NEW),
    "paper float32": (SCSK(3, **EXACT), X.astype(np.float32), NEW.astype(np.float32)),
    "paper local": (SCSK(3, **{**EXACT, "solver": "local"}), X, NEW),
    "paper kernels": (SCMK(3, kernels=KERNELS, **EXACT), X, NEW),
    "paper centred": (SCMK(3, normalize=("center", "trace"), **EXACT), X, NEW),
    "paper raw": (SCMK(3, kernels=["gaussian_0.1", "linear"], normalize="none", **EXACT), X, NEW),
    "paper views": (
        SCMK(3, kernels=["linear", "gaussian_1"], **EXACT),
        [X, X[:, :2] ** 2],
        NEW_VIEWS,
    ),
    "paper precomputed": (
        SCMK(3, kernels="precomputed", **EXACT),
        [X @ X.T, (X @ X.T) ** 2],
        [NEW @ X.T, (NEW @ X.T) ** 2],
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
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
    for mine, theirs in zip(model.predict_all(new), loaded.predict_all(new), strict=True):
        assert same(mine, theirs)
    # Saving again what was loaded gives the same file: nothing was lost on the way.
    save_model(loaded, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()


def test_feature_names_come_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    model = U(3).fit(pandas.DataFrame(X, columns=["a", "b<script>", "ü", ""]))
    save_model(model, tmp_path / "model.npz")
    names = load_model(tmp_path / "model.npz").feature_names_in_
    assert names.dtype == object
    assert names.tolist() == ["a", "b<script>", "ü", ""]


@pytest.mark.parametrize("names", [("größe", "\n0"), ("../x", "a/b"), ("", " "), ("$array", "😀")])
def test_views_of_any_name_can_be_saved(names, tmp_path):
    path = tmp_path / "model.npz"
    tables, new = dict(zip(names, (X[:, :2], X[:, 2:]), strict=True)), (NEW[:, :2], NEW[:, 2:])
    by_columns = U(3, views=dict(zip(names, ([0, 1], [2, 3]), strict=True)))
    for model, data, points in (
        (U(3), tables, dict(zip(names, new, strict=True))),
        (by_columns, X, NEW),
        (SCMK(3, kernels=["gaussian"]), tables, dict(zip(names, new, strict=True))),
    ):
        model.fit(data)
        save_model(model, path)
        loaded = load_model(path)
        assert tuple(loaded.view_weights_) == names
        assert loaded.view_weights_ == model.view_weights_
        assert loaded.kernel_names_ == model.kernel_names_
        assert same(loaded.predict(points), model.predict(points))
        save_model(loaded, tmp_path / "again.npz")
        assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


def test_same_model_same_file(tmp_path):
    model = U(3).fit(X)
    for name in ("a", "b"):
        save_model(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_opens_in_numpy_without_pickle(tmp_path):
    model = U(3).fit(X)
    save_model(model, tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as archive:
        assert np.array_equal(archive["fitted.labels_"], model.labels_)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SCSK(3, kernel=lambda x, y: float(x @ y)), "kernel.*function"),
        (U(3, kernels=lambda x, y: float(x @ y)), "kernels.*function"),
        (SCMK(3, kernels=[Metric(lambda x, y: float(x @ y))]), "kernels.*function"),
        (U(3, random_state=np.random.RandomState(0)), "random_state.*set_params"),
        (KMeans(3, n_init=1), "KMeans.*cannot be saved"),
        (KKM(3), "KKM.*cannot be saved"),  # it could say nothing of new samples
    ],
)
def test_what_cannot_be_saved_is_refused_and_nothing_written(model, words, tmp_path):
    with pytest.raises(TypeError, match=words):
        save_model(model.fit(X), tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_unfitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save_model(U(3), tmp_path / "model.npz")


def test_a_subclass_is_refused(tmp_path):
    class UnifiedSpectralClustering(U):  # the same name, another class
        pass

    with pytest.raises(TypeError, match="cannot be saved"):
        save_model(UnifiedSpectralClustering(3).fit(X), tmp_path / "model.npz")


# Bad files


@pytest.fixture(scope="module")
def members(tmp_path_factory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("saved") / "model.npz"
    return saved(SCMK(3, kernels=["gaussian", "linear"], **EXACT).fit(X), path)


def saved(model, path) -> dict[str, bytes]:
    save_model(model, path)
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
    return {**members, f"{name}.npy": npy(array)}


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

    monkeypatch.setattr("zipfile.ZipFile", refuse)
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
    said = refused(tmp_path, packed({**members, "fitted.labels_.npy": hostile}))
    assert "Python objects (a pickle)" in said
    for array in (np.array(["0"]), np.array([1j]), np.zeros(2, dtype=[("a", "f8")])):
        changed = array_with(members, "fitted.labels_", array)
        assert "numbers only" in refused(tmp_path, packed(changed))


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

    changed = {**members, "fitted.labels_.npy": header.getvalue()}
    assert "declares 4,000,000,000,000,000,000 bytes" in refused(tmp_path, packed(changed))


def test_more_than_the_memory_holds(members, tmp_path, monkeypatch):
    monkeypatch.setattr("unispectral._memory.available_memory", lambda: 1000)
    assert "GiB of memory are free" in refused(tmp_path, packed(members))


def _set(*path):
    *way, last, value = path

    def change(manifest):
        for key in way:
            manifest = manifest[key]
        manifest[last] = value

    return change


def _predictor(*path):
    """Set a value inside the predictor, whose mappings are lists of pairs."""
    *way, last, value = path

    def change(manifest):
        at = manifest["predictor"]
        for key in way:
            at = at[key] if isinstance(key, int) else dict(at["$map"])[key]
        if isinstance(last, int):
            at[last] = value
        else:
            (pair,) = [pair for pair in at["$map"] if pair[0] == last]
            pair[1] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set("version", 2), "version 2"),
        (_set("version", True), "version True"),
        (_set("format", "other"), "format"),
        (_set("class", "Popen"), "unknown class"),
        (_set("class", ["SCSK"]), "unknown class"),
        (_set("class", "UnifiedSpectralClustering"), "no parameter"),
        (_set("class", "SCSK"), "no parameter 'kernels'"),
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
        (_set("fitted", "n_clusters_", 2), "membership_ of SCMK is not of the .* shape"),
        (_set("fitted", "kernel_names_", ["a"]), "kernel_names_"),
        (_set("fitted", "graph_", "shape", [36, 10]), r"\$csr"),
        (_set("fitted", None), "without 'fitted'"),
        (_set("params", "alpha", [[[[[[[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]]]]]]]), "deeply"),
        (_set("fitted", "_predictor_", 1), "predictor|attribute"),
        (_set("fitted", "n_features_in_", 5), "number of its features"),
        (_set("fitted", "n_features_in_", "4"), "n_features_in_"),
        (_set("fitted", "n_iter_", -1), "n_iter_"),
        (lambda manifest: manifest.pop("predictor"), "what it predicts with is missing"),
        (
            _set("fitted", "feature_names_in_", {"$strings": ["a"], "shape": [1], "as": "object"}),
            "feature_names_in_ of SCMK",
        ),
        (_set("predictor", 1), "changed or damaged"),
        (_set("predictor", {"$map": []}), "layout"),
        (_predictor("layout", "kind", "rows"), "kind of its input"),
        (_predictor("layout", "kind", "kernels"), "number of its features"),
        (_predictor("layout", "n_features", [5]), "number of its features"),
        (_predictor("layout", "n_features", []), "changed or damaged"),
        (_predictor("layout", "view_names", [0]), "names of its views"),
        (_predictor("layout", "view_names", ["a", "b"]), "names of its views"),
        (_predictor("layout", "feature_names", [["a"]]), "names of its features"),
        (_predictor("layout", "feature_names", [[0] * 4]), "names of its features"),
        (_predictor("layout", "feature_names", [None, None]), "changed or damaged"),
        (_predictor("layout", "shifts", [[None, 0.0]]), "number 0.0"),
        (_predictor("n_candidates", 0), "number 0"),
        (_predictor("n_candidates", True), "number True"),
        (_predictor("alpha", -1.0), "number -1.0"),
        (_predictor("alpha", {"$float": "nan"}), "number nan"),
        (_predictor("typical_degree", 0), "number 0"),
        (_predictor("parts", []), "weight"),
        (_predictor("parts", 0, "bank", 1), "number 1"),
        (_predictor("parts", 0, "weight", 0.0), "no part of it has a weight"),
        (_predictor("parts", 0, "outlier_weight", 0.0), "no part of it scores"),
        (_predictor("parts", 0, "weights", None), "shape of an array"),
        (_predictor("banks", []), "changed or damaged"),
        (_predictor("banks", 0, "normalize", ["trace", "cosine"]), "normalisation"),
        (_predictor("banks", 0, "normalize", ["eval"]), "normalisation"),
        (_predictor("banks", 0, "views", []), "its kernels"),
        (_predictor("banks", 0, "kernels", []), "its kernels"),
        (_predictor("banks", 0, "kernels", 0, "view", 1), "number 1"),
        (_predictor("banks", 0, "kernels", 0, "spec", None), "a kernel"),
    ],
)
def test_tampered_manifest(members, change, words, tmp_path):
    message = refused(tmp_path, packed(manifest_with(members, change)))
    assert re.search(words, message), message


def test_names_in_a_file_break_no_line():
    wrong = {"$kernel": "Gaussian", "fields": {"\n": 1}}
    with pytest.raises(ModelFileError, match=r"of kind '.kernel' is wrong") as error:
        Reader({}).decode(wrong)
    assert "\n" not in str(error.value)


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
        ("fitted.embedding_", np.zeros((36, 3), np.int64)),
        ("fitted.outlier_score_", np.zeros(35)),
        ("predictor.banks.0.views.0.X", np.zeros((20, 4))),
        ("predictor.banks.0.views.0.X", np.zeros((36, 5))),
        ("predictor.banks.0.views.0.X", np.zeros((36, 4), np.int64)),
        ("predictor.banks.0.views.0.squared_norms", np.zeros(3)),
        ("predictor.banks.0.views.0.squared_norms", np.zeros(36, np.float32)),
        ("predictor.banks.0.kernels.0.vectors.0", np.zeros(3)),
    ],
)
def test_tampered_arrays(members, name, array, tmp_path):
    assert f"{name}.npy" in members
    refused(tmp_path, packed(array_with(members, name, array)))


TAMPERED = {
    "label-free": (U(3, n_init=2), X, NEW),
    "sparse": (U(3, n_init=2), sp.csr_array(abs(X)), sp.csr_array(abs(NEW))),
    "views": (U(3, n_init=2), VIEWS, NEW_VIEWS),
    "whitened": (U(3, whiten=1.0), np.hstack([X] * 3) + 1.0, np.hstack([NEW] * 3) + 1.0),
    "standardised": (U(3, scaling="standard"), X, NEW),
    "weighted": (U(3, scaling="counts"), abs(X), abs(NEW)),
    "columns": (U(3, n_init=2, whiten=None, views={"a": [0, 1], "b": [2, 3]}), X, NEW),
    "paper": (SCMK(3, kernels=["gaussian", "linear"]), X, NEW),
    "matrices": (SCSK(3, kernel="precomputed"), X @ X.T, NEW @ X.T),
}
ODD = (None, "x", True, -1, 0, 7, 60, 2**70, 0.5, {"$float": "inf"}, [], [0], {"$map": []})


def _leaves(value, way=()):
    """Every place of a manifest that holds a value, and the values inside."""
    yield way
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*way, key))
    elif isinstance(value, list):
        for key, item in enumerate(value):
            yield from _leaves(item, (*way, key))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", TAMPERED)
def test_any_changed_value_is_refused_or_harmless(case, tmp_path, thorough):
    """Whatever loads also predicts; nothing but the one sentence is raised."""
    model, data, new = TAMPERED[case]
    path = tmp_path / "model.npz"
    members = saved(model.fit(data), path)
    places = [
        place
        for part in ("fitted", "predictor")
        for place in _leaves(json.loads(members["model.json"])[part], (part,))
    ]
    draw, refusals = np.random.default_rng(2), 0
    tried = 3 if thorough else 1
    for place in places:
        for value in draw.permutation(np.array(ODD, dtype=object))[:tried]:
            changed = manifest_with(members, _set(*place, value)) if len(place) > 1 else members
            path.write_bytes(packed(changed))
            try:
                loaded = load_model(path)
            except ModelFileError:
                refusals += 1
                continue
            if loaded.n_features_in_ != model.n_features_in_:
                assert case == "columns"  # some of more columns, which is nothing wrong
                continue
            found = loaded.predict_all(new)
            assert found.labels.shape == (7,)
            assert 0 <= found.labels.min() <= found.labels.max() < loaded.n_clusters_
    assert 3 * refusals > tried * len(places)


@pytest.mark.parametrize("case", TAMPERED)
def test_every_fitted_attribute_is_needed(case, tmp_path):
    model, data, _ = TAMPERED[case]
    members = saved(model.fit(data), tmp_path / "model.npz")
    needed = set(json.loads(members["model.json"])["fitted"])
    assert len(needed) > 10
    # Files of before these were kept do without them.
    for key in needed - {"diagnostics_", "cluster_names_", "knowledge_"}:

        def change(manifest, key=key):
            del manifest["fitted"][key]

        assert key in refused(tmp_path, packed(manifest_with(members, change)))


def test_features_that_the_samples_do_not_have(tmp_path):
    """Once, sparse rows of the promised width ended in a segmentation fault."""
    wide = sp.random_array(
        (60, 50), density=0.2, random_state=np.random.default_rng(0), format="csr"
    )
    members = saved(U(3, n_init=1).fit(wide), tmp_path / "model.npz")
    for change in (_set("fitted", "n_features_in_", 60), _predictor("layout", "n_features", [60])):
        refused(tmp_path, packed(manifest_with(members, change)))

    def both(manifest):
        _set("fitted", "n_features_in_", 60)(manifest)
        _predictor("layout", "n_features", [60])(manifest)

    assert "features of its samples" in refused(tmp_path, packed(manifest_with(members, both)))


def test_a_parameter_more_is_no_reason_to_refuse(members, tmp_path):
    """A file of a version that had one parameter fewer gets the default."""

    def change(manifest):
        del manifest["params"]["max_time"]

    path = tmp_path / "model.npz"
    path.write_bytes(packed(manifest_with(members, change)))
    loaded = load_model(path)
    assert loaded.max_time is None
    assert loaded.predict(NEW).shape == (7,)


def test_indices_beyond_the_graph(members, tmp_path):
    name = "fitted.graph_.indices"
    indices = np.load(io.BytesIO(members[f"{name}.npy"]))
    indices[-1] = 10**6
    assert "indices must be < 36" in refused(tmp_path, packed(array_with(members, name, indices)))


def test_an_array_that_is_not_there(members, tmp_path):
    del (fewer := dict(members))["fitted.labels_.npy"]
    assert "'fitted.labels_' that it does not hold" in refused(tmp_path, packed(fewer))


def test_manifest_that_is_not_json(members, tmp_path):
    for text in (b"{", b"\xff", b"[" * 100_000, b'{"format": NaN}'):
        refused(tmp_path, packed({**members, "model.json": text}))


def test_a_failed_save_leaves_the_old_model(tmp_path):
    path = tmp_path / "model.npz"
    save_model(U(3).fit(X), path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        save_model(U(3, kernels=lambda x, y: float(x @ y)).fit(X), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.npz"]


def test_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.npz")


def test_a_manifest_of_far_too_many_bytes_is_not_read(members, tmp_path, monkeypatch):
    monkeypatch.setattr("unispectral.persistence._archive._MANIFEST_BYTES", 100)
    assert "far too many" in refused(tmp_path, packed(members))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no array", "is not a NumPy array"),
        (npy(np.arange(3)).replace(b"\x93NUMPY\x01", b"\x93NUMPY\x02"), "is not a NumPy array"),
        (npy(np.arange(3)).replace(b"'descr'", b"'crsed'"), "is not a NumPy array"),
    ],
)
def test_members_that_are_no_arrays(content, words, members, tmp_path):
    name = "fitted.labels_.npy"
    assert re.search(words, refused(tmp_path, packed({**members, name: content})))


def test_data_that_end_before_the_size_that_the_archive_tells(members, tmp_path):
    """The size is changed in the directory of the archive, not the data."""
    short, long = npy(np.zeros(36, np.int32)), npy(np.zeros(40, np.int32))
    header = long[: len(long) - 160]
    whole = packed({**members, "fitted.labels_.npy": header + short[len(short) - 144 :]})
    size = (len(header) + 144).to_bytes(4, "little")
    at = whole.rindex(b"fitted.labels_.npy") - 46 + 24  # its size in the directory
    assert whole[at : at + 4] == size
    wrong = whole[:at] + (len(header) + 160).to_bytes(4, "little") + whole[at + 4 :]
    assert "cut short or damaged" in refused(tmp_path, wrong)


def test_ranges_and_arrays_as_parameters(tmp_path):
    views = {"left": range(2), "right": range(2, 4)}
    model = U(3, views=views).fit(X)
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.views == {"left": [0, 1], "right": [2, 3]}
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    with pytest.raises(TypeError, match="views is an array of complex128, which a saved model"):
        Writer().encode(np.array([1j]), "params.views")
    with pytest.raises(TypeError, match="views is set, which a saved model cannot hold"):
        Writer().encode({1}, "params.views")


_CSR = {"$csr": {"data": "d", "indices": "i", "indptr": "p"}, "shape": [2, 2]}


@pytest.mark.parametrize(
    ("value", "arrays", "words"),
    [
        ({"$strings": ["a", 1], "shape": [2], "as": "str"}, {}, "not all are strings"),
        ({"$scalar": 1, "dtype": "U3"}, {}, "a scalar of type"),
        (_CSR, {"d": [1.0], "i": [0.0], "p": [0, 0, 1]}, "indices are not integers"),
        (_CSR, {"d": [1.0], "i": [0], "p": [0, 1]}, "index pointer size"),
        (_CSR, {"d": [1.0], "i": [0], "p": [0, 2, 1]}, "the pointers do not rise"),
        (_CSR, {"d": [1.0, 2.0], "i": [0, 1, 0], "p": [0, 0, 3]}, "same size"),
        (_CSR, {"d": [1.0], "i": [2], "p": [0, 0, 1]}, "indices must be < 2"),
    ],
)
def test_values_that_contradict_themselves(value, arrays, words):
    reader = Reader({name: np.array(array) for name, array in arrays.items()})
    with pytest.raises(ModelFileError, match=words):
        reader.decode(value)


def test_text_of_a_manifest_has_no_fixed_width(members, tmp_path):
    """One long text among many would make all as wide: 11 kB came to 4 GB."""
    text = {"$strings": ["a" * 50_000] + [""] * 19_999, "as": "str", "shape": [20_000]}
    found = Reader({}).decode(text)
    assert found.dtype == object
    assert len(found[0]) == 50_000
    text["shape"] = [20_001]
    with pytest.raises(ModelFileError, match="cannot reshape"):
        Reader({}).decode(text)
    back = Reader({}).decode(Writer().encode(np.array(["a", "bc"]), "fitted.names_"))
    assert back.tolist() == ["a", "bc"]


@pytest.mark.parametrize("read", [boolean, lambda value: integer(value, 0, 9), real])
def test_an_array_in_the_place_of_a_number_is_told_in_one_line(read):
    with pytest.raises(ModelFileError) as told:
        read(np.eye(3))
    assert "\n" not in str(told.value)
    assert str(told.value).endswith("cannot be right.")
