"""What theory promises of the methods, against brute force and scikit-learn."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from unispectral._run import Run
from unispectral.baselines import (
    AASC,
    CAN,
    GMC,
    KKM,
    LGMKSC,
    MKKM,
    RKKM,
    RMKKM,
    SC,
    SMKL,
    SPC,
    SSR,
    TSEP,
    ClustRF,
    SelfTuning,
    SimpleMKKM,
)
from unispectral.baselines._base import Kernels
from unispectral.baselines._spectral import (
    _lanczos,
    laplacian_eigenvectors,
    leading_eigenvectors,
    unit_rows,
)
from unispectral.baselines.aggregation import best_coefficients, coefficients_at, dogleg_root
from unispectral.baselines.clustrf import forest_similarity, synthetic_rows
from unispectral.baselines.kernel_kmeans import (
    inverse_weights,
    lloyd,
    mean_weights,
    power_weights,
)
from unispectral.baselines.spectral import simplex_codes
from unispectral.kernels import KernelBank
from unispectral.testing import check_clusterer

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=25)


def table(seed: int, n: int = 30, d: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


def samples(seed: int, n: int, c: int) -> np.ndarray:
    """Different samples to start with."""
    return np.random.default_rng(seed).choice(n, c, replace=False)


def path_of_objectives(K, start, robust, steps=12):
    """The objective after 1, 2, … iterations from the same start."""
    return [
        lloyd(K, len(start), start, robust=robust, max_iter=m, tol=0.0).objective
        for m in range(1, steps)
    ]


# Kernel k-means


@quick
@given(seeds, st.integers(2, 6))
def test_kkm_of_the_linear_kernel_is_k_means(seed, c):
    X = table(seed)
    start = samples(seed, len(X), c)
    ours = lloyd(X @ X.T, c, start, robust=False, max_iter=100, tol=0.0)
    theirs = KMeans(c, init=X[start], n_init=1, tol=0.0, max_iter=100, algorithm="lloyd").fit(X)
    if len(np.unique(theirs.labels_)) == c and ours.n_iter == theirs.n_iter_:
        np.testing.assert_array_equal(ours.labels, theirs.labels_)
        assert ours.objective == pytest.approx(theirs.inertia_)
    else:  # an empty cluster on the way: both repair it, each in its way
        assert len(np.unique(ours.labels)) == c


@quick
@given(seeds, st.integers(2, 6), st.booleans())
def test_lloyd_never_raises_the_objective(seed, c, robust):
    X = table(seed)
    path = path_of_objectives(X @ X.T, samples(seed, len(X), c), robust)
    assert all(after <= before * (1 + 1e-9) + 1e-12 for before, after in pairwise(path))


@quick
@given(seeds)
def test_no_cluster_is_left_empty(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (20, 1)).astype(float)  # many equal samples: starts coincide
    for robust in (False, True):
        start = samples(seed, 20, 6)
        found = lloyd(X @ X.T, 6, start, robust=robust, max_iter=50, tol=1e-6)
        assert len(np.unique(found.labels)) == 6
        weights = found.attributes["sample_weights"]
        np.testing.assert_allclose(np.bincount(found.labels, weights=weights), 1.0)
        assert weights.min() >= 0


one_cluster = pytest.mark.filterwarnings("ignore:n_clusters=1 puts all samples")


@one_cluster
@pytest.mark.filterwarnings("ignore:RKKM stopped:sklearn.exceptions.ConvergenceWarning")
@quick
@given(seeds)
def test_robust_centre_is_the_geometric_median(seed):
    X = table(seed, n=12, d=2)
    model = RKKM(
        1, kernel="precomputed", normalize=None, n_init=1, max_iter=3000, tol=1e-14, random_state=0
    ).fit(X @ X.T)
    best = minimize(
        lambda v: np.linalg.norm(X - v, axis=1).sum(),
        np.median(X, axis=0),
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000},
    )
    assert model.objective_ <= best.fun * (1 + 1e-5)


@one_cluster
def test_an_outlier_weighs_little_in_the_robust_centre():
    X = np.vstack([table(0, 20, 2), [[50.0, 50.0]]])
    model = RKKM(1, kernel="precomputed", normalize=None, random_state=0).fit(X @ X.T)
    assert model.sample_weights_[-1] < 0.2 * model.sample_weights_[:-1].mean()


# Several kernels


def bank_of(seed: int, n: int = 40) -> KernelBank:
    X, _ = make_blobs(n, centers=4, random_state=seed % 2**31)
    return KernelBank(X, ["gaussian", "linear", "polynomial", "laplacian"])


@quick
@given(seeds)
def test_mkkm_weights_and_objective(seed):
    found = MKKM(4, n_init=1)._cluster(Kernels(bank_of(seed)), Run.of(random_state=seed))
    weights, path = found.attributes["kernel_weights"], found.attributes["objective_path"]
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert (np.diff(path) <= 1e-9 * path[0]).all()
    assert len(np.unique(found.labels)) == 4


@quick
@given(seeds, st.sampled_from([0.1, 0.4, 0.9]))
def test_rmkkm_weights_and_objective(seed, gamma):
    model = RMKKM(4, gamma=gamma, n_init=2)
    found = model._cluster(Kernels(bank_of(seed)), Run.of(random_state=seed))
    weights, path = found.attributes["kernel_weights"], found.attributes["objective_path"]
    assert weights.min() >= 0
    assert (weights**gamma).sum() == pytest.approx(1)
    assert (np.diff(path) <= 1e-9 * path[0]).all()
    assert len(np.unique(found.labels)) == 4


@quick
@given(seeds, st.floats(0.05, 0.95), st.integers(1, 5))
def test_weights_minimise_their_problem(seed, gamma, r):
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0.1, 3.0, r)
    others = rng.dirichlet(np.ones(r), 200)
    assert (others**2 @ costs >= inverse_weights(costs) ** 2 @ costs - 1e-12).all()
    # The constraint Σ w^γ = 1 is the simplex in w^γ.
    assert (others ** (1 / gamma) @ costs >= power_weights(costs, gamma) @ costs - 1e-12).all()


def test_a_kernel_without_cost_takes_all():
    np.testing.assert_array_equal(inverse_weights(np.array([0.0, 1.0])), [1, 0])
    np.testing.assert_array_equal(power_weights(np.array([2.0, 0.0]), 0.4), [0, 1])


def test_kernels_on_demand_are_the_kept_ones(monkeypatch):
    bank = bank_of(3)
    kept = Kernels(bank)
    monkeypatch.setattr("unispectral.baselines._base.STACK_BYTES", 0)
    lazy = Kernels(bank)
    assert (kept._stack is None, lazy._stack is None) == (False, True)
    labels = np.random.default_rng(0).integers(4, size=bank.n_samples)
    weights = mean_weights(labels)
    w = np.array([0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(kept.combine(w), lazy.combine(w), atol=1e-12)
    np.testing.assert_allclose(
        kept.within(labels, weights), lazy.within(labels, weights), atol=1e-9
    )
    for model in (MKKM(4, n_init=1), RMKKM(4)):
        one, other = (model._cluster(k, Run.of(random_state=1)).labels for k in (kept, lazy))
        np.testing.assert_array_equal(one, other)


@quick
@given(seeds, st.integers(2, 6))
def test_aasc_coefficients_are_the_global_minimum(seed, r):
    rng = np.random.default_rng(seed)
    alpha = rng.uniform(0.5, 4.0, r)
    beta = alpha * rng.uniform(0, 1, r)
    v = best_coefficients(alpha, beta)
    assert v.sum() == pytest.approx(1)
    if (1 / alpha).sum() < 1:  # no v satisfies both
        np.testing.assert_allclose(v, (1 / alpha) / (1 / alpha).sum())
        return
    assert alpha @ v**2 == pytest.approx(1)
    normal = 1 / np.sqrt(alpha)
    centre = normal / (normal @ normal)
    directions = rng.standard_normal((2000, r))
    directions -= np.outer(directions @ normal, normal) / (normal @ normal)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radius = np.sqrt(max(1 - 1 / (normal @ normal), 0))
    feasible = (centre + radius * directions) / np.sqrt(alpha)
    assert (feasible**2 @ beta >= v**2 @ beta - 1e-9).all()


def test_aasc_from_one_has_positive_coefficients_on_the_constraint():
    alpha, beta = np.array([1.5, 2.0, 3.0]), np.array([1.2, 1.4, 2.7])
    v = coefficients_at(alpha, beta, 1.0)
    assert v.min() > 0
    assert v.sum() == pytest.approx(1)
    assert alpha @ v**2 == pytest.approx(1, abs=1e-5)
    assert dogleg_root(lambda x: np.tanh(x - 7.0), 0.0) == pytest.approx(7.0, abs=1e-5)


# Simplex codes


@quick
@given(seeds, st.integers(3, 25), st.integers(1, 8), st.booleans())
def test_simplex_codes_are_optimal(seed, n, d, grid):
    X = table(seed, n, d)
    if grid:  # duplicates and collinear samples
        X = np.round(X)
    codes, gap = simplex_codes(X, Run.of())
    A = codes.toarray()
    assert A.min() >= 0
    np.testing.assert_allclose(A.sum(axis=1), 1.0)
    assert np.abs(A.diagonal()).max() == 0
    for i in range(n):
        P = X - X[i]
        y = A[i] @ P
        scale = (P**2).sum(axis=1).mean() * n / (n - 1)
        others = np.arange(n) != i
        # No sample promises descent: y·y is the least of y·p over the hull.
        assert y @ y - (P[others] @ y).min() <= 1e-7 * scale + 1e-12
    assert gap <= 1e-8


def test_simplex_codes_are_those_of_least_squares():
    X = table(5, 15, 6)
    A = simplex_codes(X, Run.of())[0].toarray()
    for i in range(len(X)):
        others = np.delete(np.arange(len(X)), i)
        heavy = 1e5  # the sum of one as a heavy equation
        stacked = np.vstack([X[others].T, heavy * np.ones(len(others))])
        solution, _ = nnls(stacked, np.append(X[i], heavy))
        np.testing.assert_allclose(A[i, others], solution, atol=1e-5)


def test_simplex_codes_do_not_depend_on_origin_sparsity_or_threads():
    X = np.abs(table(1, 40, 5))
    X[X < 0.5] = 0
    dense = simplex_codes(X, Run.of())[0].toarray()
    np.testing.assert_allclose(simplex_codes(X + 100.0, Run.of())[0].toarray(), dense, atol=1e-6)
    np.testing.assert_allclose(
        simplex_codes(sp.csr_array(X), Run.of())[0].toarray(), dense, atol=1e-8
    )
    one, two = (SSR(3, n_jobs=jobs, random_state=0).fit(X) for jobs in (1, 2))
    np.testing.assert_array_equal(one.graph_.toarray(), two.graph_.toarray())
    np.testing.assert_array_equal(one.labels_, two.labels_)


# Forests


def brute_force_similarity(forest, X, adaptive):
    """Paths compared node by node, as the formula says."""
    n = len(X)
    total = np.zeros((n, n))
    for tree in forest.estimators_:
        paths = [set(row.indices.tolist()) - {0} for row in tree.decision_path(X)]
        weights = 1 / tree.tree_.n_node_samples if adaptive else np.ones(tree.tree_.node_count)
        for i in range(n):
            for j in range(n):
                longer = i if len(paths[i]) >= len(paths[j]) else j
                shared = weights[list(paths[i] & paths[j])].sum()
                total[i, j] += shared / weights[list(paths[longer])].sum()
    total /= len(forest.estimators_)
    return (total + total.T) / 2


@pytest.mark.parametrize("adaptive", [False, True])
def test_forest_similarity_is_that_of_the_paths(adaptive):
    X = table(2, 25, 3)
    both = np.vstack([X, synthetic_rows(X, np.random.default_rng(0))])
    forest = RandomForestClassifier(7, max_samples=0.5, random_state=0)
    forest.fit(both, np.repeat([0, 1], 25))
    ours = forest_similarity(forest, X, Run.of(), adaptive=adaptive)
    np.testing.assert_allclose(ours, brute_force_similarity(forest, X, adaptive), atol=1e-12)


@settings(max_examples=10)
@given(seeds, st.booleans())
def test_forest_similarity_is_symmetric_and_between_0_and_1(seed, adaptive):
    X = np.round(table(seed, 20, 2))
    weights = "adaptive" if adaptive else "uniform"
    model = ClustRF(2, weights=weights, n_estimators=5, n_init=1, random_state=seed).fit(X)
    S = model.affinity_matrix_
    np.testing.assert_array_equal(S, S.T)
    assert S.min() >= 0
    assert S.max() <= 1
    np.testing.assert_allclose(np.diagonal(S), 1)


def test_a_tree_without_a_split_makes_all_alike():
    X = np.zeros((4, 2))
    forest = RandomForestClassifier(3, random_state=0).fit(X, [0, 1, 0, 1])
    np.testing.assert_array_equal(forest_similarity(forest, X, Run.of()), np.ones((4, 4)))


def test_synthetic_rows_keep_each_feature_and_lose_the_rest():
    rng = np.random.default_rng(0)
    base = rng.standard_normal(4000)
    X = np.column_stack([base, base])
    rows = synthetic_rows(X, rng)
    assert np.isin(rows, X).all()
    assert abs(np.corrcoef(rows.T)[0, 1]) < 0.1
    S = sp.csr_array(np.where(X > 1, X, 0))
    sparse = synthetic_rows(S, rng).toarray()
    assert np.isin(sparse, S.toarray()).all()
    assert (sparse != 0).mean() == pytest.approx((S.toarray() != 0).mean(), abs=0.02)
    assert abs(np.corrcoef(sparse.T)[0, 1]) < 0.1


# Spectral steps


def test_dense_eigenvectors_are_those_of_numpy():
    W = table(3, 12, 12)
    W += W.T  # negative entries and the diagonal count, too
    values, vectors = laplacian_eigenvectors(W, 4)
    wanted = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)
    np.testing.assert_allclose(values, wanted[0][:4], atol=1e-12)
    np.testing.assert_allclose(abs(vectors), abs(wanted[1][:, :4]), atol=1e-9)
    W = np.abs(W)
    roots = np.sqrt(W.sum(axis=1))
    wanted = np.linalg.eigh(W / np.outer(roots, roots))
    largest = wanted[1][:, ::-1][:, :4]
    np.testing.assert_allclose(abs(leading_eigenvectors(W, 4)), abs(largest), atol=1e-9)


def test_a_row_of_zeros_stays():
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0]])


def test_large_dense_laplacians_have_the_same_eigenvectors(monkeypatch):
    X, _ = make_blobs(120, centers=3, random_state=0)
    K = KernelBank(X, "gaussian").matrix(0)
    small = laplacian_eigenvectors(K, 3), leading_eigenvectors(K, 3)
    monkeypatch.setattr("unispectral.baselines._spectral.DENSE_SAMPLES", 10)
    large = laplacian_eigenvectors(K, 3), leading_eigenvectors(K, 3)
    np.testing.assert_allclose(small[0][0], large[0][0], atol=1e-6)
    np.testing.assert_allclose(abs((small[0][1] * large[0][1]).sum(axis=0)), 1, atol=1e-6)
    np.testing.assert_allclose(abs((small[1] * large[1]).sum(axis=0)), 1, atol=1e-6)


def test_crowded_eigenvalues_are_left_to_lapack(monkeypatch):
    """Those of a kernel that is nearly constant: a Lanczos method is stopped in time."""
    points = np.random.default_rng(0).normal(size=(300, 50))
    K = np.exp(-np.square(points[:, None] - points).sum(2) * 1e-5)
    expected = laplacian_eigenvectors(K, 3)
    monkeypatch.setattr("unispectral.baselines._spectral.DENSE_SAMPLES", 10)
    monkeypatch.setattr("unispectral.baselines._spectral.RESTARTS", 1)
    degrees = K.sum(axis=1)
    bound = 2.0 * degrees.max()
    with pytest.raises(ArpackNoConvergence):
        _lanczos(lambda v: (bound - degrees) * v + K @ v, len(K), 3, tol=1e-10, maxiter=1)
    found = laplacian_eigenvectors(K, 3)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-12)


# All of them


def everyone(**settings):
    several = {"kernels": ["gaussian", "linear"], **settings}
    return [
        KKM(3, **settings),
        RKKM(3, **settings),
        SC(3, **settings),
        SSR(3, **settings),
        ClustRF(3, n_estimators=50, **settings),
        ClustRF(3, n_estimators=50, weights="adaptive", **settings),
        TSEP(3, **settings),
        MKKM(3, **several),
        AASC(3, **several),
        AASC(3, root=1.0, **several),
        RMKKM(3, **several),
        GMC(3, **settings),
        CAN(3, **settings),
        SMKL(3, **several),
        SPC(3, **several),
        LGMKSC(3, **several),
        SimpleMKKM(3, **several),
        SelfTuning(3),
    ]


#: A copy is the perfect code of a sample; the rows of a forest are drawn.
BY_NATURE = {
    SSR: ["copies"],
    TSEP: ["copies"],
    ClustRF: ["clusters", "order", "copies", "sparse"],
}


@pytest.mark.parametrize("model", everyone(random_state=0), ids=str)
def test_blobs_are_found_whatever_happens_to_the_rows(model):
    X, y = make_blobs(60, 8, centers=3, cluster_std=0.6, random_state=7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = model.fit_predict(X)
    assert adjusted_rand_score(y, labels) > 0.9
    assert labels.dtype == np.int32
    exclude = BY_NATURE.get(type(model), ())
    assert len(check_clusterer(model, views=isinstance(model, GMC), exclude=exclude)) >= 5


@pytest.mark.filterwarnings("ignore:SMKL stopped:sklearn.exceptions.ConvergenceWarning")
def test_precomputed_is_the_same_as_computed():
    X, _ = make_blobs(50, centers=3, random_state=2)
    names = ["gaussian", "linear"]
    bank = KernelBank(X, names)
    stack = [bank.matrix(r) for r in range(2)]
    for method in (KKM, RKKM, SC, TSEP):
        ours = method(3, kernel="gaussian", random_state=0).fit(X).labels_
        given_ = method(3, kernel="precomputed", random_state=0).fit(stack[0]).labels_
        np.testing.assert_array_equal(ours, given_)
    for method in (MKKM, AASC, RMKKM, SMKL, SPC, LGMKSC, SimpleMKKM):
        settings = {"normalize": "cosine", "random_state": 0}
        ours = method(3, kernels=names, **settings).fit(X)
        for kernels in (stack, np.stack(stack), bank):
            other = method(3, kernels="precomputed", **settings).fit(kernels)
            np.testing.assert_array_equal(ours.labels_, other.labels_)
            np.testing.assert_allclose(ours.kernel_weights_, other.kernel_weights_)
        assert ours.kernel_names_ == list(bank.names)


LIMITED = [KKM, RKKM, SC, SSR, ClustRF, TSEP, MKKM, AASC, RMKKM, GMC, CAN, SMKL, SPC, LGMKSC]


@pytest.mark.parametrize("method", [*LIMITED, SimpleMKKM])
def test_a_limit_that_is_hit_is_told_with_the_residual(method):
    X = np.random.default_rng(0).standard_normal((60, 3))
    few = {"n_estimators": 5} if method is ClustRF else {}
    model = method(4, n_init=1, max_iter=1, random_state=0, **few)
    words = rf"{method.__name__} stopped because the limit of max_iter=1 .* residual.* Raise"
    with pytest.warns(ConvergenceWarning, match=words):
        model.fit(X)
    assert not model.converged_
    assert len(model.labels_) == 60
