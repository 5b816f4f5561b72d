"""scikit-learn's own checks, for each of the methods."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

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

#: The paper's bank holds kernels that hardly differ from the identity on a few blobs.
KERNELS = ["gaussian", "linear"]
METHODS = [
    KKM(n_clusters=3),
    RKKM(n_clusters=3),
    SC(n_clusters=3),
    SSR(n_clusters=3),
    ClustRF(n_clusters=3, n_estimators=20),
    TSEP(n_clusters=3),
    MKKM(n_clusters=3, kernels=KERNELS),
    AASC(n_clusters=3, kernels=KERNELS),
    RMKKM(n_clusters=3, kernels=KERNELS),
    GMC(n_clusters=3),
    CAN(n_clusters=3),
    SMKL(n_clusters=3, kernels=KERNELS, n_init=10),
    SPC(n_clusters=3, kernels=KERNELS, n_init=10),
    LGMKSC(n_clusters=3, kernels=KERNELS),
    SimpleMKKM(n_clusters=3, kernels=KERNELS),
    SelfTuning(n_clusters=3),
    SelfTuning(n_clusters=None),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # AASC says so
@pytest.mark.filterwarnings("ignore:n_clusters=1 puts all samples:UserWarning")
@parametrize_with_checks(METHODS)
def test_conformance(estimator, check):
    check(estimator)
