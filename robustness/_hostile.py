"""Hostile tables and kernels: what is in them, in what they are wrapped.

A family is ``content/container`` (every content in every container) or one of the odd objects
that have no content. Each is made from a seed alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from robustness._containers import CONTAINERS
from robustness._contents import CONTENTS, KERNELS

ODDITIES: dict[str, Callable[[np.random.Generator], Any]] = {
    "None": lambda rng: None,
    "a number": lambda rng: 3.5,
    "a string": lambda rng: "abc",
    "bytes": lambda rng: b"abc",
    "an empty list": lambda rng: [],
    "an empty dict": lambda rng: {},
    "an empty set": lambda rng: set(),
    "a generator": lambda rng: (row for row in [[1.0, 2.0]]),
    "a range": lambda rng: range(10),
    "a list of empty lists": lambda rng: [[], [], []],
    "nested lists": lambda rng: [[[1.0], [2.0]], [[3.0], [4.0]]],
    "a dict of numbers": lambda rng: {"a": 1.0, "b": 2.0},
    "a dict of None": lambda rng: {"a": None},
    "a list of None": lambda rng: [None, None, None],
    "a list of strings": lambda rng: ["a", "b", "c"],
    "a list of dicts": lambda rng: [{"a": 1.0}, {"a": 2.0}],
    "an object": lambda rng: object(),
    "a class": lambda rng: dict,
    "a function": lambda rng: len,
    "no axis": lambda rng: np.array(1.0),
    "no axis, object": lambda rng: np.array(None, dtype=object),
    "no row, no column": lambda rng: np.empty((0, 0)),
    "NaN": lambda rng: float("nan"),
    "an ellipsis": lambda rng: ...,
    "200,000 columns of bytes": lambda rng: np.ones((3, 200_000), dtype=np.int8),
    "a broadcast": lambda rng: np.broadcast_to(rng.standard_normal(3), (9, 3)),
}


def _stack(one: Any, other: Any) -> np.ndarray:
    if isinstance(one, np.matrix):  # NumPy 2.4 corrupts its own memory here
        raise TypeError("a stack of np.matrix is not to be had")
    return np.stack([one, other])


#: How kernels are handed over: one, a stack, a list, a mapping, sizes that differ.
WRAPS: dict[str, Callable[[Callable[[], np.ndarray]], Any]] = {
    "one": lambda make: make(),
    "a stack": lambda make: _stack(make(), make()),
    "a list": lambda make: [make(), make(), make()],
    "a mapping": lambda make: {"a": make(), "b": make()},
    "a list of one": lambda make: [make()],
    "sizes that differ": lambda make: [make(), make()[:-1, :-1]],
    "sparse ones": lambda make: [sp.csr_array(make()), sp.csr_array(make())],
    "four axes": lambda make: np.stack([_stack(make(), make())] * 2),
}


def make_table(family: str, rng: np.random.Generator) -> Any:
    """A hostile table of a family ``content/container``, or an oddity."""
    if family in ODDITIES:
        return ODDITIES[family](rng)
    content, _, container = family.partition("/")
    n, d = int(rng.integers(6, 32)), int(rng.integers(1, 8))
    X = CONTENTS[content](rng, n, d)
    return CONTAINERS[container](X, rng)


def make_kernel(family: str, rng: np.random.Generator) -> Any:
    """A hostile kernel of a family ``content/wrap/container``."""
    content, wrap, container = family.split("/")
    n = int(rng.integers(6, 28))

    def make() -> Any:
        return CONTAINERS[container](KERNELS[content](rng, n), rng)

    return WRAPS[wrap](make)
