"""What the values of a file must be before anything follows them.

The shape of an array is written as a letter for each axis: n samples, c clusters, r kernels, f
features, and so on. A letter that is met for the first time is bound to the length found; from
then on every other array with that letter must have it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral.persistence._archive import ModelFileError

__all__ = ["Field", "boolean", "check_fields", "floats", "indices", "integer", "real", "require",
           "sequence"]  # fmt: skip

#: More parts or kernels than any fit makes.
_MOST = 10_000


class Field(NamedTuple):
    """The kind of a value, and the shapes that it may have.

    Kinds are the letters of NumPy's types, "s" for a sparse array, "t" for texts and "k" for a
    number of things. The shape "" is one number, and None is None.
    """

    kinds: str
    shapes: tuple[str | None, ...]


def check_fields(
    fields: Mapping[str, Field | None],
    values: Mapping[str, Any],
    sizes: dict[str, int],
    owner: str,
) -> None:
    """Hold values against their descriptions; ``sizes`` gets the lengths that are found."""
    for name, field in fields.items():
        if field is not None and not any(
            _fits(values[name], field.kinds, shape, sizes) for shape in field.shapes
        ):
            raise ModelFileError(f"{name} of {owner} is not of the kind or shape of the others.")


def _fits(value: Any, kinds: str, shape: str | None, sizes: dict[str, int]) -> bool:
    if shape is None:
        return value is None
    if shape == "":
        return (_is_integer(value) and value >= 1) if kinds == "k" else _is_number(value)
    if kinds == "t":
        listed = isinstance(value, (list, tuple, np.ndarray))
        right = listed and all(isinstance(one, str) for one in value)
    elif sp.issparse(value):
        right = "s" in kinds
    else:
        right = isinstance(value, np.ndarray) and value.dtype.kind in kinds
    found = np.shape(value) if kinds == "t" else getattr(value, "shape", ())
    return (
        bool(right)
        and len(found) == len(shape)
        and all(
            sizes.setdefault(letter, length) == length
            for letter, length in zip(shape, found, strict=True)
        )
    )


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_integer(value) or isinstance(value, (float, np.floating))


def require(fits: bool, what: str) -> None:
    if not fits:
        raise ModelFileError(f"{what} cannot be right.")


def sequence(value: Any) -> list[Any]:
    require(isinstance(value, (list, tuple)) and len(value) <= _MOST, "a list in it")
    return list(value)


def boolean(value: Any) -> bool:
    require(isinstance(value, bool), f"the value {value!r:.40}")
    return value


def integer(value: Any, least: int, most: int) -> int:
    require(_is_integer(value) and least <= value <= most, f"the number {value!r:.40}")
    return int(value)


def real(
    value: Any, *, least: float = 0.0, above: float = -math.inf, below: float = math.inf
) -> float:
    fits = _is_number(value) and math.isfinite(value) and value >= least and above < value < below
    require(fits, f"the number {value!r:.40}")
    return float(value)


def floats(array: Any, *shape: int) -> np.ndarray:
    fits = isinstance(array, np.ndarray) and array.shape == shape
    require(fits and array.dtype in (np.float32, np.float64), "the shape of an array")
    return array


def indices(array: Any, count: int, size: int) -> np.ndarray:
    """So many indices into what has this size."""
    fits = isinstance(array, np.ndarray) and array.shape == (count,) and array.dtype.kind == "i"
    require(fits, "the shape of an array of indices")
    require(count == 0 or 0 <= array.min() <= array.max() < size, "an index")
    return array.astype(np.intp)
