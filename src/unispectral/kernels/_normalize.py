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
            raise InputError(
                "normalize",
                "is unknown",
                "use 'cosine', 'center', 'trace', 'max', 'none', or a tuple of them in the order "
                "of application",
                value=name,
            )
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
        scalar = values.dtype.type
        for step, a, b, constant in zip(self.steps, left, right, self.constants, strict=True):
            if step == "cosine":
                values *= a
                values *= b
            elif step == "center":
                values -= a
                values -= b
                values += scalar(constant)
            else:
                values *= scalar(constant)
        return values

    def vectors_of(self, raw: np.ndarray, own: np.ndarray) -> list[np.ndarray]:
        """Each step's number for m new samples, from their raw kernel (m, n) and diagonal (m,)."""
        values, diagonal = raw.copy(), own.copy()
        found: list[np.ndarray] = []
        for position, step in enumerate(self.steps):
            part = Normalizer((step,), constants=[self.constants[position]])
            known = self.vectors[position]
            vector = _vector(step, values, diagonal)
            found.append(vector)
            part.apply(values, [vector[:, None]], [known[None, :]])
            part.apply(diagonal, [vector], [vector])
        return found


def fit_normalizer(steps: tuple[str, ...], kernel_rows, diagonal: np.ndarray) -> Normalizer:
    """Find the numbers per sample of each step, from the raw diagonal.

    ``kernel_rows()`` yields the raw kernel in blocks of rows; only ``center`` asks for it.
    """
    normalizer = Normalizer(())
    diagonal = diagonal.copy()
    n = len(diagonal)
    for step in steps:
        constant = 0.0
        if step == "center":
            vector = np.empty(n, dtype=diagonal.dtype)
            for rows, values in kernel_rows():
                normalizer.apply(
                    values,
                    [v[rows][:, None] for v in normalizer.vectors],
                    [v[None, :] for v in normalizer.vectors],
                )
                vector[rows] = values.mean(axis=1, dtype=np.float64)
            constant = float(vector.mean(dtype=np.float64))
        else:
            vector = _vector(step, diagonal[:, None], diagonal)
            if step == "trace":
                trace = float(diagonal.sum(dtype=np.float64))
                constant = n / trace if trace > 0 else 1.0
            elif step == "max":
                largest = float(diagonal.max())
                constant = 1.0 / largest if largest > 0 else 1.0
        part = Normalizer((step,), [vector], [constant])
        part.apply(diagonal, [vector], [vector])
        normalizer = Normalizer(
            (*normalizer.steps, step),
            [*normalizer.vectors, vector],
            [*normalizer.constants, constant],
        )
    return normalizer


def _vector(step: str, rows: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    if step == "cosine":
        # A sample of norm zero is orthogonal to everything: its row stays zero.
        floor = np.finfo(diagonal.dtype).tiny
        safe = np.where(diagonal > floor, diagonal, 1)
        return (1.0 / np.sqrt(safe)).astype(diagonal.dtype)
    if step == "center":
        return rows.mean(axis=1, dtype=np.float64).astype(diagonal.dtype)
    return np.ones(len(diagonal), dtype=diagonal.dtype)
