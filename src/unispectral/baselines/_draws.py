"""Where starts come from: a NumPy Generator, or the replayed stream of the recorded runs."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from unispectral._compat import as_generator

__all__ = ["RECORDED_SEED", "Draws", "FreshDraws", "RecordedDraws", "as_draws"]

#: The seed with which MATLAB starts its Mersenne twister.
RECORDED_SEED = 5489


class Draws(Protocol):
    """The random numbers that a method asks for."""

    def distinct(self, n: int, k: int) -> np.ndarray:
        """``k`` different numbers below ``n``."""
        ...

    def labels(self, n: int, k: int) -> np.ndarray:
        """``n`` labels below ``k``."""
        ...

    def seed(self) -> int:
        """A seed for a method that brings its own generator."""
        ...


class FreshDraws:
    """Draws from a NumPy Generator.

    Examples
    --------
    >>> sorted(FreshDraws(0).distinct(3, 3).tolist())
    [0, 1, 2]
    """

    def __init__(self, random_state: Any = None) -> None:
        self.generator = as_generator(random_state)

    def distinct(self, n: int, k: int) -> np.ndarray:
        return self.generator.choice(n, size=k, replace=False)

    def labels(self, n: int, k: int) -> np.ndarray:
        return self.generator.integers(k, size=n)

    def seed(self) -> int:
        return int(self.generator.integers(2**31 - 1))


class RecordedDraws:
    """The random numbers of the recorded runs, in the order in which MATLAB consumed them.

    Parameters
    ----------
    random_state : None, int or RandomState
        ``None`` starts the stream where every recorded experiment starts; a ``RandomState`` is
        continued, as the recorded repeats continue one stream.

    Examples
    --------
    >>> draws = RecordedDraws()
    >>> draws.distinct(100, 3).tolist()
    [90, 81, 12]
    """

    def __init__(self, random_state: Any = None) -> None:
        if isinstance(random_state, np.random.Generator):
            raise ValueError(
                f"random_state={random_state!r} cannot replay the recorded stream; with "
                "recorded=True give None, a whole number or a numpy RandomState."
            )
        if random_state is None:
            random_state = RECORDED_SEED
        if not isinstance(random_state, np.random.RandomState):
            random_state = np.random.RandomState(random_state)
        self.stream: np.random.RandomState = random_state

    def uniform(self, rows: int, columns: int) -> np.ndarray:
        """A matrix of uniforms, filled column by column."""
        return self.stream.random_sample(rows * columns).reshape(columns, rows).T

    def distinct(self, n: int, k: int) -> np.ndarray:
        if 4 * k > n:
            return np.argsort(self.stream.random_sample(n), kind="stable")[:k]
        taken = np.zeros(n, dtype=bool)
        while (missing := k - int(taken.sum())) > 0:
            taken[np.floor(n * self.stream.random_sample(missing)).astype(np.intp)] = True
        order = np.argsort(self.stream.random_sample(k), kind="stable")
        return np.flatnonzero(taken)[order]

    def labels(self, n: int, k: int) -> np.ndarray:
        return self.uniform(n, k).argmax(axis=1)

    def seed(self) -> int:
        return int(self.stream.randint(2**31 - 1))


def as_draws(random_state: Any, recorded: bool) -> Draws:
    """The draws that ``random_state`` and ``recorded`` ask for.

    Examples
    --------
    >>> type(as_draws(0, recorded=False)).__name__
    'FreshDraws'
    """
    return RecordedDraws(random_state) if recorded else FreshDraws(random_state)
