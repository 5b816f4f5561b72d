"""Cuts of one fit beside other fits."""

import numpy as np
from benchmarks.cuts import compare_cuts
from sklearn.datasets import make_blobs


def test_cuts_are_those_of_fits_where_clusters_are_nested():
    pairs = np.array([[0.0, 0.0], [0.0, 8.0], [60.0, 0.0], [60.0, 8.0]])
    X, y = make_blobs(120, centers=pairs, cluster_std=0.7, random_state=0)
    found = compare_cuts(X, y)
    assert {(cut.fitted, cut.wanted) for cut in found} >= {(4, 2), (4, 3), (4, 5), (2, 4), (6, 4)}
    halves = next(cut for cut in found if (cut.fitted, cut.wanted) == (4, 2))
    assert halves.alike == 1.0
    again = next(cut for cut in found if (cut.fitted, cut.wanted) == (6, 4))
    assert again.of_cut == again.of_fit == 1.0
