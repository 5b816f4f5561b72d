"""Findings of the robustness suite, each a test: works, or refused with the argument's name."""

from __future__ import annotations

import multiprocessing
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from robustness import _trial
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from unispectral import SCMK, SCSK, UnifiedSpectralClustering
from unispectral._validation import recentre
from unispectral.baselines import AASC, KKM, SC, ClustRF
from unispectral.persistence import load_model, save_model

X, Y = make_blobs(60, centers=3, cluster_std=0.6, random_state=0)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "abc",
        3.5,
        [1.0, 2.0, 3.0],
        [[1.0, 2.0], [3.0]],
        [{"a": 1.0}],
        X.astype(complex),
        np.asmatrix(X) if hasattr(np, "asmatrix") else None,
        X[:0],
        X[:, :0],
        np.zeros(4, dtype=[("a", "f8")]),
        np.array([[1, 10**400], [2, 3], [4, 5]], dtype=object),
        pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": list("xyz")}),
        pd.DataFrame({"a": [1.0, 2.0], "day": pd.date_range("2020-01-01", periods=2)}),
        pd.DataFrame(X[:5], columns=["same", "same"]),
        pd.Series(X[:3, 0]),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "estimator", [UnifiedSpectralClustering(2), SCSK(2), SCMK(2), KKM(2), ClustRF(2)], ids=repr
)
def test_the_sentence_names_the_argument(estimator, bad):
    with pytest.raises((ValueError, TypeError), match=r"\bX\b") as told:
        estimator.fit(bad)
    assert len(str(told.value)) < 2000


def broken(**parts):
    S = sp.csr_array(X)
    for name, (position, value) in parts.items():
        getattr(S, name)[position] = value
    return S


@pytest.mark.parametrize(
    "S",
    [
        broken(indices=(3, 7)),
        broken(indices=(3, -1)),
        broken(indptr=(4, 10**6)),
        broken(indptr=(4, -1)),
        broken(indptr=(0, 1)),
        broken(indices=(3, 10**9)).tocsr(copy=True),
    ],
)
@pytest.mark.parametrize("estimator", [UnifiedSpectralClustering(2), SCSK(2), KKM(2)], ids=repr)
def test_sparse_matrix_that_points_outside_itself(estimator, S):
    with pytest.raises(ValueError, match="X is a sparse matrix whose indices point outside"):
        estimator.fit(S)


@pytest.mark.parametrize("offset", [1e6, 1e9, 1e12])
@pytest.mark.parametrize(
    "estimator",
    [
        UnifiedSpectralClustering(3),
        UnifiedSpectralClustering(3, kernels="gaussian"),
        SCSK(3, kernel="gaussian"),
        SCSK(3, kernel="gaussian", solver="exact"),
        KKM(3, random_state=0),
    ],
    ids=repr,
)
def test_far_from_the_origin(estimator, offset):
    grid = np.round(X * 1024) / 1024  # so that the offset itself loses nothing
    alone = estimator.fit(grid).labels_
    assert adjusted_rand_score(alone, estimator.fit(grid + offset).labels_) == 1.0
    if hasattr(estimator, "predict"):
        assert (estimator.predict(grid + offset) == estimator.labels_).all()


@pytest.mark.parametrize("power", [-120, -30, 30, 120])
@pytest.mark.parametrize(
    "estimator",
    [
        UnifiedSpectralClustering(3),
        UnifiedSpectralClustering(3, kernels="gaussian"),
        SCSK(3, kernel="gaussian"),
    ],
    ids=repr,
)
def test_any_scale(estimator, power):
    alone = estimator.fit(X).labels_
    assert (estimator.fit(X * 10.0**power).labels_ == alone).all()
    assert (estimator.predict(X * 10.0**power) == alone).all()


def test_columns_whose_squared_variances_overflow():
    wide = 1e100 * np.column_stack([X, 1000 * X[:, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = UnifiedSpectralClustering(3, random_state=0).fit(wide)
    assert found.scaling_["X"].startswith("standardised: 1 of 3 columns")


def test_a_shifted_model_is_saved_with_its_shift(tmp_path):
    model = UnifiedSpectralClustering(3).fit(X + 1e9)
    save_model(model, tmp_path / "m.npz")
    assert (load_model(tmp_path / "m.npz").predict(X + 1e9) == model.labels_).all()


def test_tables_near_the_origin_are_left_alone():
    assert recentre(X)[0] is X
    assert recentre(X)[1] is None
    S = sp.csr_array(X)
    assert recentre(S)[0] is S
    assert np.isfinite(recentre(S * 1e100)[0].data).all()
    table, shift = recentre(np.array([[1e9], [1e9 + 1]]))
    assert table.tolist() == [[-0.5], [0.5]]
    assert recentre(np.array([[1e9 + 2]]), shift)[0].tolist() == [[1.5]]


def test_a_kernel_that_overflows_is_refused():
    with pytest.raises(ValueError, match=r"X has values so large that the kernel 'polyplus_4'"):
        SCSK(2, kernel="polyplus_4").fit(X * 1e90)
    with pytest.raises(ValueError, match=r"X has values so large that the kernel 'polyplus_4'"):
        UnifiedSpectralClustering(2, kernels="polyplus_4").fit(X * 1e90)


def test_sparse_cross_kernels():
    K = X @ X.T
    for model in (UnifiedSpectralClustering, SCMK):
        fitted = model(3, kernels="precomputed").fit([sp.csr_array(K), K])
        assert (fitted.predict([sp.csr_array(K), K]) == fitted.predict([K, K])).all()


def test_affinities_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AASC(2, kernels="precomputed", random_state=0).fit([np.zeros((8, 8))] * 2)
        SC(2, kernel="precomputed", random_state=0).fit(np.zeros((8, 8)))
        ClustRF(2, n_estimators=5, random_state=0).fit(X[:12] * 1e38)


def test_one_thread_and_no_warning_in_a_worker_of_a_pool():
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_trial.count_threads, args=(theirs,), daemon=True)
    process.start()
    theirs.close()  # so that a process that ends without a word is noticed
    assert ours.recv() == (1, 0)
    process.join()


def test_no_threads_at_all():
    with pytest.raises(ValueError, match="n_jobs=0 has no meaning"):
        UnifiedSpectralClustering(2, n_jobs=0).fit(X)


def test_codes_that_do_not_converge_stay_inside_the_matrix():
    """An indefinite kernel exhausts the rounds; what was let in last used to be left unset."""
    from unispectral.graph import codes

    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.standard_normal((40, 40))
        found = codes(A + A.T, 0.01).matrix
        assert found.indices.size == 0 or 0 <= found.indices.min() <= found.indices.max() < 40
        assert np.isfinite(found.data).all()


@pytest.mark.filterwarnings("ignore:X lies .* times its spread")
def test_a_centred_kernel_without_digits_is_refused():
    with pytest.raises(ValueError, match="X lies so far from the origin"):
        SCSK(2, kernel="linear", normalize="center").fit(X[:20] + 1e15)


def test_long_indices():
    S = sp.csr_array(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    for model in (
        UnifiedSpectralClustering(2, kernels="laplacian"),
        SCSK(2, kernel="laplacian", solver="exact"),
    ):
        assert len(model.fit(S).labels_) == len(X)


def test_samples_that_differ_in_their_last_digits():
    rng = np.random.default_rng(0)
    for _ in range(30):
        twins = 1.0 + np.finfo(float).eps * rng.integers(0, 3, (24, 4))
        assert (
            len(
                np.unique(
                    UnifiedSpectralClustering(2, n_init=1).fit_predict(sp.csr_array(2 * twins))
                )
            )
            == 2
        )


def test_a_row_of_results_that_is_no_longer_text(tmp_path):
    from unispectral.bench import Store, Study, StudyMethod, run

    study = Study(
        "s",
        datasets=["iris"],
        methods=[StudyMethod("k-means", "sklearn.cluster.KMeans", parameters={"n_init": 1})],
    )
    path = tmp_path / "results.jsonl"
    with Store(path) as store:
        run(study, store, processes=1)
        (key,) = store.records()
    path.write_bytes(path.read_bytes().replace(b'"job":{', b'"job":\xff{'))
    with Store(path) as store:
        assert store.records() == {}
        run(study, store, processes=1)
        assert list(store.records()) == [key]


def test_memory_limits_of_groups_inside_groups(tmp_path, monkeypatch):
    """A container's own group may lie deep below the root; its caches count as free."""
    from unispectral import _memory

    inner = tmp_path / "groups" / "pod" / "container"
    inner.mkdir(parents=True)
    (tmp_path / "own").write_text("0::/pod/container\n")
    (inner.parent / "memory.max").write_text("max\n")
    (inner.parent / "memory.current").write_text("5\n")
    (inner / "memory.max").write_text("1000\n")
    (inner / "memory.current").write_text("900\n")
    monkeypatch.setattr(_memory, "_CGROUPS", tmp_path / "groups")
    monkeypatch.setattr(_memory, "_OWN", tmp_path / "own")
    assert _memory.available_memory() == 100
    (inner / "memory.stat").write_text("anon 1\ninactive_file 300\n")
    assert _memory.available_memory() == 400
    monkeypatch.setattr(_memory, "_SMALL", 0)
    with pytest.raises(MemoryError, match=r"needs about .* are available; use solver='local'"):
        SCSK(2, kernel="gaussian").fit(X)
    (tmp_path / "own").write_text("nonsense\n4:memory:/\n")
    assert _memory.available_memory() == pytest.approx(_memory._machine(), rel=0.05)


def test_only_columns_that_may_be_wrong_are_looked_at_one_by_one():
    """A frame of 100,000 columns was refused after ten seconds, each column taken by itself."""
    from unispectral.tables._faults import _columns, table_fault

    frame = pd.DataFrame(np.zeros((3, 2000))).rename(columns=str)
    frame["flag"], frame["count"] = [True, False, True], [1, 2, 3]
    assert list(_columns(frame)) == []
    frame = pd.concat([frame, pd.DataFrame({"end": [0.0, np.inf, 1.0]})], axis=1)
    assert [position for position, _ in _columns(frame)] == [2002]
    assert table_fault(frame)[0] == "contains infinity in column 'end'"
    frame["name"] = ["a", "b", "c"]
    assert table_fault(frame)[0] == "holds text, not numbers, in column 'name', for example 'a'"
    same = pd.DataFrame([[1.0, np.nan], [2.0, 3.0]], columns=["same", "same"], dtype="float32")
    assert table_fault(same)[0] == "contains NaN, a missing value, in column 'same'"


def test_a_sparse_matrix_that_ends_below_zero_is_refused():
    """SciPy looks no further into a matrix of fewer than no entries."""
    broken = sp.csr_array(np.ones((1, 1)))
    broken.indptr[1] = -1
    with pytest.raises(ValueError, match="X is a sparse matrix whose indices point outside"):
        UnifiedSpectralClustering(2).fit(broken)


def test_equal_samples_far_away_divide_by_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        SCMK(2, kernels=["linear", "polynomial"], max_iter=3).fit(np.full((6, 2), 1e20))
