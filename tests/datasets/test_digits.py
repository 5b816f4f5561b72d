"""The digits as several views."""

import numpy as np
from sklearn.datasets import load_digits

from unispectral.datasets import load_multiview_digits


def test_views_describe_the_same_samples():
    digits = load_multiview_digits()
    assert digits.target.shape == (1797,)
    assert {len(view) for view in digits.views.values()} == {1797}
    assert all(np.isfinite(view).all() for view in digits.views.values())
    np.testing.assert_array_equal(digits.views["pixels"] * 16.0, load_digits().data)


def test_zoning_and_profiles_are_what_they_say():
    digits = load_multiview_digits()
    image = digits.images[5] / 16.0
    zones = digits.views["zoning"][5].reshape(4, 4)
    assert zones[1, 2] == np.mean(image[2:4, 4:6])
    profiles = digits.views["profiles"][5]
    np.testing.assert_allclose(profiles[:8], image.mean(axis=0))
    np.testing.assert_allclose(profiles[8:16], image.mean(axis=1))
    above, below, left, right = profiles[16:].reshape(4, 8)
    ink = image > 0.25
    for position in range(8):
        column, row = np.flatnonzero(ink[:, position]), np.flatnonzero(ink[position])
        assert above[position] == (column[0] / 8 if len(column) else 1.0)
        assert below[position] == ((7 - column[-1]) / 8 if len(column) else 1.0)
        assert left[position] == (row[0] / 8 if len(row) else 1.0)
        assert right[position] == ((7 - row[-1]) / 8 if len(row) else 1.0)


def test_fourier_ignores_where_the_digit_stands():
    from unispectral.datasets._digits import image_views

    images = load_digits().images[:4] / 16.0
    here, there = (image_views(seen)["fourier"] for seen in (images, np.roll(images, 1, axis=2)))
    np.testing.assert_allclose(there, here, atol=1e-12)


def test_gradients_scale_with_the_ink():
    from unispectral.datasets._digits import _gradients

    images = load_digits().images[:4] / 16.0
    np.testing.assert_allclose(_gradients(2.0 * images), 2.0 * _gradients(images))
