"""The handwritten digits of scikit-learn, seen in several ways at once."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch


def load_multiview_digits() -> Bunch:
    """1,797 handwritten digits as five sets of features, made from scikit-learn's bundled images.

    Each view keeps something and loses something else: ``pixels`` (64) are the image itself;
    ``zoning`` (16) is the mean ink of each 2 × 2 zone of a 4 × 4 grid; ``fourier`` (40) are
    magnitudes of the two-dimensional Fourier transform, blind to where the digit stands;
    ``profiles`` (48) are the ink of each row and column and how far it is from each edge to the
    first ink; ``gradients`` (64) is how much edge of each of four directions there is in each
    2 × 2 zone, blind to how thick the pen was.

    Returns
    -------
    Bunch
        ``views`` (a dict of arrays, for :class:`unispectral.SCMK`), ``target``, ``target_names``,
        ``images`` and ``DESCR``.

    Examples
    --------
    >>> digits = load_multiview_digits()
    >>> {name: view.shape[1] for name, view in digits.views.items()}
    {'pixels': 64, 'zoning': 16, 'fourier': 40, 'profiles': 48, 'gradients': 64}
    """
    found = load_digits()
    views = image_views(found.images / 16.0)
    text = load_multiview_digits.__doc__
    kept = {key: found[key] for key in ("target", "target_names", "images")}
    return Bunch(views=views, DESCR=text, **kept)


def image_views(images: np.ndarray) -> dict[str, np.ndarray]:
    """The five views of any grey images (n, height, width) with values from 0 to 1."""
    return {
        "pixels": images.reshape(len(images), -1),
        "zoning": _zones(images).reshape(len(images), -1),
        # The transform of a real image says everything twice, one half suffices.
        "fourier": np.abs(np.fft.rfft2(images, norm="ortho")).reshape(len(images), -1),
        "profiles": _profiles(images),
        "gradients": _gradients(images),
    }


def _zones(images: np.ndarray) -> np.ndarray:
    """Means over the zones of a 4 × 4 grid."""
    n, height, width = images.shape
    grid = images.reshape(n, 4, height // 4, 4, width // 4)
    return grid.mean(axis=(2, 4))


def _profiles(images: np.ndarray) -> np.ndarray:
    """Ink per row and column, and the share of the way from each edge to the first ink."""
    ink = images > 0.25
    turned = ink.transpose(0, 2, 1)
    from_edges = (turned, turned[:, :, ::-1], ink, ink[:, :, ::-1])  # above, below, left, right
    return np.hstack(
        [images.mean(axis=1), images.mean(axis=2), *(_depth(seen) for seen in from_edges)]
    )


def _depth(ink: np.ndarray) -> np.ndarray:
    """How far along the last axis the first ink is; 1 where there is none."""
    first = ink.argmax(axis=2) / ink.shape[2]
    return np.where(ink.any(axis=2), first, 1.0)


def _gradients(images: np.ndarray) -> np.ndarray:
    """Edge strength by direction, modulo a half turn, in each zone."""
    down, right = np.gradient(images, axis=(1, 2))
    strength = np.hypot(down, right)
    direction = np.mod(np.arctan2(down, right), np.pi) / np.pi * 4.0
    bins = np.minimum(direction.astype(int), 3)
    parts = [_zones(np.where(bins == which, strength, 0.0)) for which in range(4)]
    return np.stack(parts, axis=-1).reshape(len(images), -1)
