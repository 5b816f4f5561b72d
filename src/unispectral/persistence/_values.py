"""Values as JSON and arrays, and back: a closed list of types, and what each must be."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral.kernels import Gaussian, Linear, Metric, Polynomial
from unispectral.labelfree._count import ClusterCount
from unispectral.persistence._archive import ModelFileError
from unispectral.tables._arrays import sparse_array

_KERNELS = {kernel.__name__: kernel for kernel in (Gaussian, Linear, Metric, Polynomial)}
_FLOATS = {repr(value): value for value in (math.nan, math.inf, -math.inf)}
_CSR = ("data", "indices", "indptr")
#: Values within values that are read: models have no more than half of it.
_DEPTH = 20
#: More parts or kernels than any fit makes.
_MOST = 10_000


class Writer:
    """Turns values into JSON and collects the arrays on the way."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._members: dict[int, str] = {}
        self._alive: list[Any] = []  # what was seen stays, so that no identity is used twice

    def encode(self, value: Any, name: str) -> Any:
        """The JSON of ``value``; ``name`` says what it is, to arrays and in the error."""
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            # Its type decides that of what is computed with it.
            return {"$scalar": self.encode(value.item(), name), "dtype": value.dtype.str}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            if math.isfinite(value):
                return value
            return {"$float": repr(value)}
        if isinstance(value, ClusterCount):
            return {"$count": self.encode(value._asdict(), name)}
        if isinstance(value, (list, tuple, range)):
            items = [self.encode(item, f"{name}.{k}") for k, item in enumerate(value)]
            if isinstance(value, tuple):
                return {"$tuple": items}
            return items
        if isinstance(value, slice):
            return {"$slice": self.encode([value.start, value.stop, value.step], name)}
        if isinstance(value, dict):
            pairs = enumerate(value.items())
            return {"$map": [self._pair(k, *pair, name) for k, pair in pairs]}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if sp.issparse(value):
            value = sp.csr_array(value)
            parts = {part: self._keep(getattr(value, part), f"{name}.{part}") for part in _CSR}
            return {"$csr": parts, "shape": list(value.shape)}
        if type(value) in _KERNELS.values():
            if isinstance(value, Metric) and not isinstance(value.metric, str):
                raise TypeError(_refusal(value.metric, name))
            own = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            fields = {key: self.encode(item, f"{name}.{key}") for key, item in own.items()}
            return {"$kernel": type(value).__name__, "fields": fields}
        raise TypeError(_refusal(value, name))

    def _pair(self, k: int, key: object, item: object, name: str) -> list[Any]:
        """A key and its value, under the key if it can be a part of a member's name."""
        plain = isinstance(key, str) and re.fullmatch(r"[A-Za-z0-9_]{1,30}", key)
        called = f"{name}.{key if plain else k}"
        return [self.encode(key, f"{name}.key{k}"), self.encode(item, called)]

    def _array(self, value: np.ndarray, name: str) -> dict[str, Any]:
        if value.dtype.kind in "OU" and all(isinstance(item, str) for item in value.flat):
            return {"$strings": value.ravel().tolist(), "shape": list(value.shape)}
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise TypeError(_refusal(value, name))
        return {"$array": self._keep(value, name)}

    def _keep(self, value: np.ndarray, name: str) -> str:
        if id(value) not in self._members:  # an array that several hold is written once
            if name in self.arrays:
                name = f"{name}.{len(self.arrays)}"
            self.arrays[name] = value
            self._members[id(value)] = name
            self._alive.append(value)
        return self._members[id(value)]


def _refusal(value: object, name: str) -> str:
    shown = re.sub(r"^(steps\.\d+\.)?(params|fitted)\.", "", name)
    if isinstance(value, np.ndarray):
        kind = f"an array of {value.dtype}"
    else:
        kind = type(value).__name__
    why = ""
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        kind = f"a {kind}"
        why = f"; set it to an integer or None first, with set_params({shown}=0)"
    elif callable(value):
        kind = "a function"
        why = " because loading it would run code; use a named kernel, or precompute the kernel"
    return f"{shown} is {kind}, which a saved model cannot hold{why}."


class Reader:
    """Turns JSON and arrays back into values; whatever it does not know is refused."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays

    def decode(self, value: Any, depth: int = 0) -> Any:
        if depth > _DEPTH:
            raise ModelFileError("it nests values too deeply.")
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, list):
            return [self.decode(item, depth + 1) for item in value]
        tags = [key for key in value if key.startswith("$")]
        try:
            return self._read_tag(tags, value, depth + 1)
        except ModelFileError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            said = " ".join(str(error).split())  # one line, whatever names the file has
            raise ModelFileError(
                f"its value of kind {tags[0]!r} is wrong ({said:.200})."
            ) from error

    def _take(self, name: object) -> np.ndarray:
        if not isinstance(name, str) or name not in self.arrays:
            raise ModelFileError(f"it refers to an array {name!r:.80} that it does not hold.")
        return self.arrays[name]

    def _read_tag(self, tags: list[str], value: dict[str, Any], depth: int) -> Any:
        match tags:
            case ["$float"]:
                return _FLOATS[value["$float"]]
            case ["$tuple"]:
                return tuple(self.decode(list(value["$tuple"]), depth))
            case ["$slice"]:
                start, stop, step = self.decode(list(value["$slice"]), depth)
                return slice(start, stop, step)
            case ["$map"]:
                pairs = value["$map"]
                return {self.decode(key, depth): self.decode(item, depth) for key, item in pairs}
            case ["$array"]:
                return self._take(value["$array"])
            case ["$strings"]:
                strings = value["$strings"]
                if not all(isinstance(item, str) for item in strings):
                    raise ValueError("not all are strings")
                # Objects: in an array of text every entry is as wide as the longest.
                return np.array(strings, dtype=object).reshape(value["shape"])
            case ["$csr"]:
                return sparse_array([self._take(value["$csr"][p]) for p in _CSR], value["shape"])
            case ["$kernel"]:
                fields = {name: self.decode(one, depth) for name, one in value["fields"].items()}
                return _KERNELS[value["$kernel"]](**fields)
            case ["$scalar"]:
                dtype = np.dtype(value["dtype"])
                if dtype.kind not in "biuf":
                    raise ValueError(f"a scalar of type {dtype}")
                return dtype.type(self.decode(value["$scalar"], depth))
            case ["$count"]:
                return ClusterCount(**self.decode(value["$count"], depth))
        raise ModelFileError(f"it holds a value of unknown kind {tags or sorted(value)!r:.80}.")


class Field(NamedTuple):
    """The kind of a value, and the shapes that it may have.

    Kinds are the letters of NumPy's types, "s" for a sparse array, "t" for texts and "k" for a
    number of things. A shape has a letter for each axis: n samples, c clusters, r kernels, f
    features, and so on; every array with a letter must have the length that was found first, and
    a number of things is itself that length. The shape "" is one number, and None is None.
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
    if kinds == "k":
        counts = _is_integer(value) and value >= 1
        return counts and (not shape or sizes.setdefault(shape, value) == value)
    if shape == "":
        return _is_number(value)
    if kinds == "t":
        listed = isinstance(value, (list, tuple, np.ndarray))
        right = listed and all(isinstance(one, str) for one in value)
    elif sp.issparse(value):
        right = "s" in kinds
    else:
        right = isinstance(value, np.ndarray) and value.dtype.kind in kinds
    if kinds == "t":
        found = np.shape(value)
    else:
        found = getattr(value, "shape", ())
    return (
        bool(right)
        and len(found) == len(shape)
        and all(
            sizes.setdefault(letter, length) == length
            for letter, length in zip(shape, found, strict=True)
        )
    )


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_integer(value) or isinstance(value, (float, np.floating))


def require(fits: bool, what: str) -> None:
    if not fits:
        shown = " ".join(what.split())  # what stands in the place of a number may be an array
        raise ModelFileError(f"{shown} cannot be right.")


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
    return array.astype(np.intp, copy=False)
