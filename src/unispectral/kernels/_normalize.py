"""Named normalisations of a kernel, each a rule on entries with one number per sample."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from unispectral._errors import InputError

__all__ = ["NORMALIZATIONS", "Normalizer", "as_normalizations"]

#: What ``normalize=`` accepts: the unit diagonal of the paper's kernel files, centring in feature
#: space, trace n, and the largest value 1 of the paper's text.
NORMALIZATIONS = ("cosine", "center", "trace", "max")


def as_normalizations(normalize: str | Iterable[str] | None) -> tuple[str, ...]:
    """Turn ``normalize=`` into the names of the steps, in order.

    Examples
    --------
    >>> as_normalizations("none"), as_normalizations(["center", "trace"])
    ((), ('center', 'trace'))
    """
    if normalize is None or normalize == "none":
        return ()
    names = (normalize,) if isinstance(normalize, str) else tuple(normalize)
    for name in names:
        if name not in NORMALIZATIONS:
            remedy = "use 'cosine', 'center', 'trace', 'max', 'none', or several in a tuple"
            raise InputError("normalize", "is unknown", remedy, value=name)
    return names


@dataclass
class Normalizer:
    """Steps applied to kernel entries; ``vectors`` holds each step's number per training sample.

    ``cosine`` divides by √(k(x,x) k(y,y)); ``center`` subtracts both row means and adds the grand
    mean; ``trace`` multiplies by n / trace; ``max`` divides by the largest value, which a positive
    semidefinite kernel has on its diagonal.
    """

    steps: tuple[str, ...]
    vectors: list[np.ndarray] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)

    def apply(
        self, values: np.ndarray, left: list[np.ndarray], right: list[np.ndarray]
    ) -> np.ndarray:
        """Normalise entries in place, given each side's vectors shaped to broadcast."""
        for step, a, b, constant in zip(self.steps, left, right, self.constants, strict=True):
            _apply(step, values, a, b, constant)
        return values

    def vectors_of(self, raw: np.ndarray, own: np.ndarray) -> list[np.ndarray]:
        """Each step's number for m new samples, from their raw kernel (m, n) and diagonal (m,)."""
        values, diagonal = raw.copy(), own.copy()
        found: list[np.ndarray] = []
        for step, known, constant in zip(self.steps, self.vectors, self.constants, strict=True):
            vector = _vector(step, values, diagonal)
            found.append(vector)
            _apply(step, values, vector[:, None], known[None, :], constant)
            _apply(step, diagonal, vector, vector, constant)
        return found


def fit_normalizer(steps: tuple[str, ...], kernel_rows, diagonal: np.ndarray) -> Normalizer:
    """Find the numbers per sample of each step, from the raw diagonal.

    ``kernel_rows()`` yields the raw kernel in blocks of rows; only ``center`` asks for it.
    """
    done = Normalizer(())
    diagonal = diagonal.copy()
    for step in steps:
        if step == "center":
            vector = np.empty(len(diagonal), dtype=diagonal.dtype)
            for rows, values in kernel_rows():
                left = [known[rows][:, None] for known in done.vectors]
                done.apply(values, left, [known[None, :] for known in done.vectors])
                vector[rows] = values.mean(axis=1, dtype=np.float64)
        else:
            vector = _vector(step, diagonal[:, None], diagonal)
        constant = _constant(step, vector, diagonal)
        _apply(step, diagonal, vector, vector, constant)
        done.steps += (step,)
        done.vectors.append(vector)
        done.constants.append(constant)
    return done


def _apply(step: str, values: np.ndarray, a: np.ndarray, b: np.ndarray, constant: float) -> None:
    if step == "cosine":
        values *= a
        values *= b
    elif step == "center":
        values -= a
        values -= b
        values += values.dtype.type(constant)
    else:
        values *= values.dtype.type(constant)


def _vector(step: str, rows: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    if step == "cosine":
        # A sample of norm zero is orthogonal to everything: its row stays zero.
        safe = np.where(diagonal > np.finfo(diagonal.dtype).tiny, diagonal, 1)
        return (1.0 / np.sqrt(safe)).astype(diagonal.dtype)
    if step == "center":
        return rows.mean(axis=1, dtype=np.float64).astype(diagonal.dtype)
    return np.ones(len(diagonal), dtype=diagonal.dtype)


def _constant(step: str, vector: np.ndarray, diagonal: np.ndarray) -> float:
    if step == "center":
        return float(vector.mean(dtype=np.float64))
    if step == "cosine":
        return 0.0
    size, whole = 1.0, float(diagonal.max())
    if step == "trace":
        size, whole = float(len(diagonal)), float(diagonal.sum(dtype=np.float64))
    return size / whole if whole > 0 else 1.0
