"""Bad input is refused with a sentence that names argument, value and remedy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from unispectral import DoubtfulResultWarning
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

X = np.random.default_rng(0).standard_normal((12, 3))
SINGLE = [KKM, RKKM, SC, TSEP]
SEVERAL = [MKKM, AASC, RMKKM, SMKL, SPC, LGMKSC, SimpleMKKM]
ALL = [*SINGLE, *SEVERAL, SSR, ClustRF, GMC, CAN, SelfTuning]


@pytest.mark.parametrize("method", ALL)
def test_more_clusters_than_samples(method):
    with pytest.raises(ValueError, match=r"n_clusters=13 is more than n_samples=12; ask"):
        method(13).fit(X)


@pytest.mark.parametrize("method", [KKM, MKKM, SSR])
def test_one_cluster_is_called_what_it_is(method):
    with pytest.warns(UserWarning, match="n_clusters=1 puts all samples into one cluster"):
        assert method(1, random_state=0).fit(X).labels_.tolist() == [0] * 12


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("value", [0, -1, 2.5, "3"])
def test_n_clusters_is_a_count(method, value):
    with pytest.raises(ValueError, match="n_clusters"):
        method(value).fit(X)


@pytest.mark.parametrize("method", ALL)
def test_missing_values_and_text(method):
    broken = X.copy()
    broken[2, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        method(3).fit(broken)
    with pytest.raises(ValueError, match="text"):
        method(3).fit([["a", "b"], ["c", "d"], ["e", "f"]])


@pytest.mark.parametrize("method", SINGLE)
def test_unknown_kernel(method):
    with pytest.raises(ValueError, match="kernel='gausian' is not a known kernel"):
        method(3, kernel="gausian").fit(X)
    with pytest.raises(ValueError, match="not square"):
        method(3, kernel="precomputed").fit(X)
    with pytest.raises(ValueError, match="not symmetric"):
        method(3, kernel="precomputed").fit(np.triu(np.ones((5, 5))))


@pytest.mark.parametrize("method", SEVERAL)
def test_unknown_kernels(method):
    with pytest.raises(ValueError, match="kernels='gausian' is not a known kernel"):
        method(3, kernels=["linear", "gausian"]).fit(X)
    with pytest.raises(ValueError, match="empty"):
        method(3, kernels=[]).fit(X)
    with pytest.raises(ValueError, match=r"X\[1\] is a kernel of 4 samples"):
        method(3, kernels="precomputed").fit([np.eye(5), np.eye(4)])
    with pytest.raises(ValueError, match="normalize='unit' is unknown"):
        method(3, normalize="unit").fit(X)


def test_kernel_k_means_wants_a_definite_kernel():
    K = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    with pytest.raises(ValueError, match="negative eigenvalue"):
        KKM(2, kernel="precomputed").fit(K + 0.1 * np.eye(3))
    with pytest.raises(ValueError, match="diagonal of zeros"):
        KKM(2, kernel="precomputed").fit(K)
    assert len(SC(2, kernel="precomputed", normalize=None).fit(K).labels_) == 3


@pytest.mark.parametrize(
    ("method", "setting"),
    [
        (RMKKM, {"gamma": 1.0}),
        (RMKKM, {"gamma": 0}),
        (AASC, {"root": "largest"}),
        (TSEP, {"alpha": -1}),
        (SSR, {"n_jobs": 1.5}),
        (ClustRF, {"weights": "equal"}),
        (ClustRF, {"n_estimators": 0}),
        (SC, {"random_state": "one"}),
        (RKKM, {"tol": -1.0}),
        (MKKM, {"n_init": 0}),
        (KKM, {"max_iter": 0}),
        (GMC, {"n_neighbors": 0}),
        (CAN, {"n_neighbors": 0}),
        (SelfTuning, {"max_clusters": 0}),
        (SMKL, {"beta": 0.0}),
        (SPC, {"alpha": 0.0}),
        (LGMKSC, {"mu": 0.0}),
        (SimpleMKKM, {"tol": -1.0}),
    ],
)
def test_values_out_of_range(method, setting):
    (name,) = setting
    with pytest.raises(ValueError, match=name):
        method(3, **setting).fit(X)


def test_views_that_do_not_fit_together():
    absent = X.copy()
    absent[3] = np.nan
    with pytest.raises(ValueError, match="lacks samples in view"):
        GMC(3).fit([X, absent])
    with pytest.raises(ValueError, match="different numbers of samples"):
        GMC(3).fit({"one": X, "other": X[:5]})


def test_fewer_distinct_samples_than_clusters():
    with pytest.warns(DoubtfulResultWarning, match="X has 2 distinct samples, fewer than"):
        KKM(3).fit(np.repeat(X[:2], 6, axis=0))


def test_precomputed_kernels_by_name():
    K, L = np.exp(-cdist(X, X)), X @ X.T
    method = MKKM(3, kernels="precomputed")
    named = method.fit({"a": K, "b": L}).labels_
    assert named.tolist() == method.fit([K, L]).labels_.tolist()
