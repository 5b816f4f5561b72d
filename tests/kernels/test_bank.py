"""Kernels against closed forms, the recorded kernels of the paper, and each other."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import laplacian_kernel

from unispectral.kernels import (
    Gaussian,
    KernelBank,
    Linear,
    Metric,
    Polynomial,
    as_kernel,
    as_kernels,
    paper_kernels,
)
from unispectral.kernels._loops import sparse_pairs
from unispectral.kernels._sums import sum_rule


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(23, 5))


def test_the_twelve_are_those_of_the_recorded_trace(reference):
    trace = np.load(reference / "alm_trace_yale66.npz")
    bank = KernelBank(trace["X"], "paper")
    for r in range(12):
        np.testing.assert_allclose(bank.matrix(r), trace["kernels"][r], atol=1e-12)


def test_gaussian_is_the_formula_in_both_forms(X):
    squared = cdist(X, X, "sqeuclidean")
    largest = squared.max()
    data = KernelBank(X, Gaussian(0.3), normalize="none").matrix(0)
    text = KernelBank(X, Gaussian(0.3, form="text"), normalize="none").matrix(0)
    np.testing.assert_allclose(data, np.exp(-squared / (2 * 0.3**2 * largest)), atol=1e-12)
    np.testing.assert_allclose(text, np.exp(-squared / (0.3 * largest)), atol=1e-12)


def test_median_width_is_the_median_distance(X):
    squared = cdist(X, X, "sqeuclidean")
    median = np.median(squared[np.triu_indices(len(X), 1)])
    K = KernelBank(X, Gaussian(1.0, scale="median"), normalize="none").matrix(0)
    np.testing.assert_allclose(K, np.exp(-squared / (2 * median)), atol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7])
def test_polynomial_powers(X, degree):
    K = KernelBank(X, Polynomial(degree, offset=1.0), normalize="none").matrix(0)
    np.testing.assert_allclose(K, (X @ X.T + 1) ** degree, rtol=1e-10)


def test_any_metric_or_function_is_a_kernel(X):
    named = KernelBank(X, Metric("laplacian", {"gamma": 0.2}), normalize="none").matrix(0)
    own = KernelBank(X, lambda x, y: float(x @ y), normalize="none").matrix(0)
    np.testing.assert_allclose(named, laplacian_kernel(X, gamma=0.2))
    np.testing.assert_allclose(own, X @ X.T)


def test_normalisations_are_what_they_are_called(X):
    cosine = KernelBank(X, "linear", normalize="cosine").matrix(0)
    centred = KernelBank(X, "linear", normalize="center").matrix(0)
    traced = KernelBank(X, "linear", normalize=("center", "trace")).matrix(0)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    shifted = X - X.mean(axis=0)
    np.testing.assert_allclose(cosine, unit @ unit.T, atol=1e-12)
    np.testing.assert_allclose(centred, shifted @ shifted.T, atol=1e-10)
    assert np.trace(traced) == pytest.approx(len(X))
    scaled = KernelBank(X, "polynomial_2", normalize="max").matrix(0)
    plain = KernelBank(X, "polynomial_2", normalize="none").matrix(0)
    np.testing.assert_allclose(scaled, plain / plain.max(), atol=1e-12)


@pytest.mark.parametrize("normalize", ["none", "cosine", ("center", "trace")])
def test_sparse_and_blockwise_agree_with_dense(X, normalize):
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    X[0] = 0.0
    dense = KernelBank(X, "paper", normalize=normalize)
    sparse = KernelBank(sp.csr_array(X), "paper", normalize=normalize)
    lazy = KernelBank(X, "paper", normalize=normalize, gram=False)
    rows, cols = np.array([3, 0, 7]), np.array([1, 3])
    for r in range(12):
        whole = dense.matrix(r)
        np.testing.assert_allclose(sparse.matrix(r), whole, atol=1e-10)
        np.testing.assert_allclose(
            lazy.block(r, rows, cols), whole[np.ix_(rows, cols)], atol=1e-10
        )
        np.testing.assert_allclose(dense.diagonal(r), np.diagonal(whole), atol=1e-10)


@pytest.mark.parametrize("gram", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_neighbourhoods_are_pieces_of_the_matrix(X, gram, kind):
    bank = KernelBank(kind(X), ["linear", "gaussian"], gram=gram)
    rows = np.array([0, 5])
    neighbours = np.array([[1, 2, 3], [9, 5, 4]])
    for r in range(2):
        near, among = bank.combine_neighbourhoods(np.eye(2)[r], rows, neighbours)
        whole = bank.matrix(r)
        np.testing.assert_allclose(near, whole[rows[:, None], neighbours], atol=1e-12)
        np.testing.assert_allclose(
            among, whole[neighbours[:, :, None], neighbours[:, None, :]], atol=1e-12
        )
    weights = [0.3, 0.7]
    near, _ = bank.combine_neighbourhoods(weights, rows, neighbours)
    np.testing.assert_allclose(near, bank.combine(weights)[rows[:, None], neighbours], atol=1e-12)


@pytest.mark.parametrize("normalize", ["none", "cosine", "center", ("center", "trace")])
def test_cross_kernel_of_the_training_points_is_the_kernel(X, normalize):
    bank = KernelBank(X, ["linear", "gaussian", "polyplus_2", "laplacian"], normalize=normalize)
    for r in range(len(bank)):
        cross = bank.combine_cross(np.eye(len(bank))[r], X)[0]
        np.testing.assert_allclose(cross, bank.matrix(r), atol=1e-9)
    between, own = bank.combine_cross([1, 2, 3, 4], X)
    whole = bank.combine([1, 2, 3, 4])
    np.testing.assert_allclose(between, whole, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(own, np.diagonal(whole), rtol=1e-8, atol=1e-8)


def test_float32_goes_through(X):
    bank = KernelBank(X.astype(np.float32), "paper")
    assert bank.combine(np.ones(12) / 12).dtype == np.float32


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 12), st.integers(1, 4), st.integers(0, 10**6), st.sampled_from([1e-3, 1e3]))
def test_scale_free_kernels_do_not_see_the_unit(n, d, seed, unit):
    X = np.random.default_rng(seed).normal(size=(n, d))
    specs = [Gaussian(0.5, "median"), Gaussian(0.1), Linear(), Polynomial(2, 1.0, "mean")]
    one, other = KernelBank(X, specs), KernelBank(unit * X, specs)
    for r in range(len(specs)):
        np.testing.assert_allclose(one.matrix(r), other.matrix(r), atol=1e-6)


def test_a_sum_without_any_weight_is_zero(X):
    """As the weights of a saved model may be, if somebody changes it."""
    bank, none = KernelBank(X, ["linear", "gaussian"]), np.zeros(2)
    everyone = np.arange(len(X))
    near, among = bank.combine_neighbourhoods(none, everyone[:2], np.array([[1, 2], [0, 3]]))
    between, own = bank.combine_cross(none, X[:4])
    for found, shape in (
        (bank.combine(none), (len(X), len(X))),
        (bank.combine_block(none, everyone, everyone[:3]), (len(X), 3)),
        (bank.combine_diagonal(none), (len(X),)),
        (near, (2, 2)),
        (among, (2, 2, 2)),
        (between, (4, len(X))),
        (own, (4,)),
    ):
        assert found.shape == shape
        assert not found.any()


def test_views_are_named_and_summed(X):
    second = X[:, :2].copy()
    bank = KernelBank([X, second], "linear")
    assert bank.names == ("view0:linear", "view1:linear")
    expected = [KernelBank(table, "linear").matrix(0) for table in (X, second)]
    np.testing.assert_allclose(
        bank.combine([0.25, 0.5]), 0.25 * expected[0] + 0.5 * expected[1], atol=1e-12
    )


def test_names_and_errors():
    assert [kernel.name for kernel in paper_kernels()][:2] == ["gaussian_0.01", "gaussian_0.05"]
    assert paper_kernels("text")[0].form == "text"
    assert len(as_kernels("paper-text")) == 12
    with pytest.raises(ValueError, match="kernel='gausian' is not a known kernel"):
        as_kernel("gausian")
    with pytest.raises(TypeError, match="must be a kernel name"):
        as_kernel(3)
    with pytest.raises(ValueError, match="kernels is empty"):
        as_kernels([])
    with pytest.raises(ValueError, match="normalize='unit' is unknown"):
        KernelBank(np.eye(3), normalize="unit")
    with pytest.raises(ValueError, match="width=-1"):
        Gaussian(-1)
    with pytest.raises(ValueError, match="degree=0"):
        Polynomial(0)
    with pytest.raises(ValueError, match="offset=-1"):
        Polynomial(2, -1)


@pytest.mark.parametrize("kind", ["gram", "dense", "sparse", "views", "matrices"])
def test_pairs_are_entries_of_the_matrices(kind):
    X = np.abs(np.random.default_rng(5).normal(size=(20, 4)))
    kernels = ["linear", "gaussian", "laplacian"]
    if kind == "views":
        bank = KernelBank([X, X[:, :2]], kernels)
    elif kind == "matrices":
        bank = KernelBank.from_matrices([X @ X.T, np.eye(20)], normalize="center")
    else:
        table = sp.csr_array(X) if kind == "sparse" else X
        bank = KernelBank(table, kernels[: 2 if kind == "sparse" else 3], gram=kind == "gram")
    left = np.array([0, 3, 3, 3, 7, 19])
    right = np.array([0, 3, 4, 19, 2, 19])
    for r, values in enumerate(bank.pairs(left, right)):
        exact = bank.block(r, np.arange(20), np.arange(20))[left, right]
        np.testing.assert_allclose(values, exact, atol=1e-12)


@pytest.mark.parametrize("normalize", ["none", "cosine", "trace", ("cosine", "trace")])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_sum_at_once_is_the_sum_of_the_kernels(X, normalize, dtype, sparse):
    X = X.astype(dtype)
    X[3] = X[4]  # a distance of zero off the diagonal
    kernels = [
        *paper_kernels(),
        *paper_kernels("text")[:3],
        Gaussian(0.3, scale="median"),
        Gaussian(1e4, scale=1.0),
        Polynomial(3, offset=2.0, scale="mean"),
    ]
    bank = KernelBank(sp.csr_array(X) if sparse else X, kernels, normalize=normalize)
    weights = np.random.default_rng(1).dirichlet(np.ones(len(bank)))
    weights[2] = 0.0
    assert sum_rule(bank._bound, weights) is not None
    whole = sum(
        weight * bank.matrix(r).astype(np.float64) for r, weight in enumerate(weights) if weight
    )
    found = bank.combine(weights)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, found.T)
    tolerance = 1e-12 if dtype == np.float64 else 2e-6
    np.testing.assert_allclose(found, whole, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e30])
def test_a_sum_at_once_holds_at_any_scale(X, scale):
    bank = KernelBank(X * scale, "paper")
    weights = np.full(12, 1 / 12)
    whole = sum(bank.matrix(r) for r in range(12)) / 12
    np.testing.assert_allclose(bank.combine(weights), whole, rtol=1e-11, atol=1e-12)


def test_the_twelve_share_their_costly_parts():
    """Four wide Gaussians are one polynomial, two narrow ones powers, five products two bases."""
    found = sum_rule(KernelBank(np.eye(3), "paper")._bound, np.ones(12))
    assert found.powers.tolist() == [0, 4, 25]
    assert found.offsets.tolist() == [0.0, 1.0]
    assert found.coefficients.tolist() == [[1.0, 0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0, 0.0]]


def test_a_sum_takes_each_kernel_by_itself_where_it_must(X):
    weights = np.full(12, 1 / 12)
    assert sum_rule(KernelBank(X, "paper", normalize="center")._bound, weights) is None
    for kernels in ([Metric("laplacian")] * 12, [Metric("rbf"), *paper_kernels()[1:]]):
        bank = KernelBank(X, kernels)
        assert sum_rule(bank._bound, weights) is None
        whole = sum(bank.matrix(r) for r in range(12)) / 12
        np.testing.assert_allclose(bank.combine(weights), whole)
    X[0] = 0.0  # no cosine: its row stays zero
    bank = KernelBank(X, "paper")
    assert sum_rule(bank._bound, weights) is None
    np.testing.assert_allclose(bank.combine(weights), sum(bank.matrix(r) for r in range(12)) / 12)


def test_dot_products_of_sparse_pairs():
    """What one sample has spread out must be gone before the next, also of sample 0."""
    X = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0], [5.0, 0.0, 7.0, 0.0]])
    S = sp.csr_array(X)
    left, right = np.array([0, 0, 1, 1, 2, 0]), np.array([1, 2, 2, 0, 0, 2])
    dots = sparse_pairs(S.indptr, S.indices, S.data, 4, left, right)
    np.testing.assert_array_equal(dots, (X[left] * X[right]).sum(axis=1))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, y: x, "the kernel '<lambda>' must give a number for two samples"),
        (lambda x, y: np.nan, "the kernel '<lambda>' gives NaN or infinity"),
        (lambda x, y: float(x[0]), "the kernel '<lambda>' is not symmetric"),
    ],
)
def test_a_function_that_is_no_kernel(X, function, message):
    with pytest.raises(ValueError, match=message):
        KernelBank(X, [function])


@pytest.mark.parametrize("wrong", [None, 3])
def test_what_is_no_list_of_kernels(wrong):
    with pytest.raises(TypeError, match=f"kernels={wrong} must be a kernel or a list of kernels"):
        as_kernels(wrong)
