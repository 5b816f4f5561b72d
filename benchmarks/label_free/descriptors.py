"""Descriptors of grey images, each of which keeps something else, for several views."""

from __future__ import annotations

import numpy as np

__all__ = ["oriented_gradients", "projections", "spectrum", "texture"]


def oriented_gradients(images: np.ndarray, cells: int = 4, bins: int = 8) -> np.ndarray:
    """How much edge of each direction there is in each cell of a grid; rows of length one."""
    vertical, horizontal = np.gradient(images, axis=(1, 2))
    strength = np.hypot(horizontal, vertical)
    angle = (np.arctan2(vertical, horizontal) % np.pi) / np.pi
    direction = (angle * bins).astype(int) % bins
    layers = (np.where(direction == one, strength, 0.0) for one in range(bins))
    found = np.stack([_by_cell(layer, cells) for layer in layers], axis=2)
    rows = found.reshape(len(images), -1)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def texture(images: np.ndarray, cells: int = 3) -> np.ndarray:
    """Uniform local binary patterns: the share of each of ten kinds in each cell of a grid."""
    kinds = _kinds()[_patterns(images)]
    sizes = _by_cell(np.ones(kinds.shape), cells)
    return np.hstack(
        [_by_cell((kinds == kind).astype(float), cells) / sizes for kind in range(10)]
    )


def spectrum(images: np.ndarray, size: int = 6) -> np.ndarray:
    """Logarithms of the low frequencies' magnitudes: blind to where the thing stands."""
    low = np.abs(np.fft.fft2(images))[:, :size, :size]
    return np.log1p(low.reshape(len(images), -1))


def projections(images: np.ndarray) -> np.ndarray:
    """Ink of each column and of each row."""
    return np.hstack([images.sum(axis=1), images.sum(axis=2)])


def _by_cell(values: np.ndarray, cells: int) -> np.ndarray:
    """Sums over the cells of a grid, (n, cells²)."""
    for axis in (1, 2):
        starts = -(-np.arange(cells) * values.shape[axis] // cells)
        values = np.add.reduceat(values, starts, axis=axis)
    return values.reshape(len(values), -1)


def _patterns(images: np.ndarray) -> np.ndarray:
    """Which of the eight neighbours of an inner pixel are brighter, as a number of eight bits."""
    inner = images[:, 1:-1, 1:-1]
    height, width = inner.shape[1:]
    around = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0))
    found = np.zeros(inner.shape, dtype=int)
    for bit, (down, right) in enumerate(around):
        found |= (images[:, down : down + height, right : right + width] > inner) << bit
    return found


def _kinds() -> np.ndarray:
    """For each number of eight bits: its ones if they stand together on the circle, else 9."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    changes = (bits != np.roll(bits, 1, axis=1)).sum(axis=1)
    return np.where(changes <= 2, bits.sum(axis=1), 9)
