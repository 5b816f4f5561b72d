"""Colours: distinct for every kind of colour vision where few, ordered where many."""

from __future__ import annotations

import numpy as np
import pytest

from unispectral.plotting._base import Clusters, subsample
from unispectral.plotting._colors import hex_colors, palette

# Machado, Oliveira and Fernandes (2009): the three dichromacies, on linear RGB.
BLIND = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
               [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
               [0.004733, 0.691367, 0.303900]],
    "usual": np.eye(3),
}  # fmt: skip


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB from linear RGB."""
    xyz = (
        rgb
        @ np.array(
            [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
        ).T
        / np.array([0.9505, 1.0, 1.089])
    )
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.column_stack(
        [116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])]
    )


def linear(rgb: np.ndarray) -> np.ndarray:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("count", [2, 5, 8, 9, 14, 20])
def test_few_colours_differ_for_everyone(kind, count):
    seen = lab(np.clip(linear(palette(count)) @ np.array(BLIND[kind]).T, 0, 1))
    gaps = np.linalg.norm(seen[:, None] - seen[None], axis=2)[np.triu_indices(count, 1)]
    assert gaps.min() > 10  # about 2 can be told apart side by side


@pytest.mark.parametrize("count", [21, 40, 120, 1000])
def test_many_colours_are_distinct_visible_and_ordered(count):
    colors = palette(count)
    assert colors.shape == (count, 3)
    assert colors.min() >= 0
    assert colors.max() <= 1
    assert len(np.unique(colors, axis=0)) == count
    lightness = lab(linear(colors))[:, 0]
    assert lightness.max() < 92  # still seen on white
    for parity in (0, 1):  # even and odd ones each grow lighter all the way
        assert (np.diff(lightness[parity::2]) > -0.5).all()


@pytest.mark.parametrize("kind", BLIND)
def test_neighbours_among_forty_differ_for_everyone(kind):
    seen = lab(np.clip(linear(palette(40)) @ np.array(BLIND[kind]).T, 0, 1))
    assert np.linalg.norm(np.diff(seen, axis=0), axis=1).min() > 4


def test_hex():
    assert hex_colors(8)[1] == "#e69f00"
    assert len(set(hex_colors(120))) == 120


def test_thinning_keeps_small_clusters_and_proportions():
    codes = np.concatenate([np.zeros(100_000, int), np.ones(50_000, int), np.full(3, 2)])
    chosen = subsample(codes, 1500)
    counts = np.bincount(codes[chosen])
    assert counts.tolist() == [1000, 500, 3]
    assert len(np.unique(chosen)) == len(chosen)
    assert np.array_equal(subsample(codes[:10], 20), np.arange(10))


def test_labels_of_any_kind():
    clusters = Clusters.of(np.array(["b", "a", "b"]))
    assert clusters.names.tolist() == ["a", "b"]
    assert clusters.codes.tolist() == [1, 0, 1]
