"""Values as JSON and arrays, and back: a closed list of types, nothing else."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral.kernels import Gaussian, Linear, Metric, Polynomial
from unispectral.labelfree._counting import ClusterCount
from unispectral.persistence._archive import ModelFileError
from unispectral.tables._arrays import sparse_array

__all__ = ["Reader", "Writer"]

_KERNELS = {kernel.__name__: kernel for kernel in (Gaussian, Linear, Metric, Polynomial)}
_DEPTH = 20


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
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, ClusterCount):
            return {"$count": self.encode(value._asdict(), name)}
        if isinstance(value, (list, tuple)):
            items = [self.encode(item, f"{name}.{k}") for k, item in enumerate(value)]
            return items if isinstance(value, list) else {"$tuple": items}
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return {"$slice": [self.encode(part, name) for part in parts]}
        if isinstance(value, range):
            return self.encode(list(value), name)
        if isinstance(value, dict):
            return {"$map": self._pairs(value, name)}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if sp.issparse(value):
            return self._sparse(value, name)
        if type(value) in _KERNELS.values():
            return self._kernel(value, name)
        raise TypeError(_refusal(value, name))

    def _pairs(self, value: dict[Any, Any], name: str) -> list[list[Any]]:
        return [
            [self.encode(key, f"{name}.key{k}"), self.encode(item, f"{name}.{_plain(key, k)}")]
            for k, (key, item) in enumerate(value.items())
        ]

    def _array(self, value: np.ndarray, name: str) -> dict[str, Any]:
        if value.dtype.kind in "OU" and all(isinstance(item, str) for item in value.flat):
            kind = "object" if value.dtype.kind == "O" else "str"
            return {"$strings": value.ravel().tolist(), "shape": list(value.shape), "as": kind}
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise TypeError(_refusal(value, name))
        return {"$array": self._keep(value, name)}

    def _keep(self, value: np.ndarray, name: str) -> str:
        if id(value) not in self._members:  # an array that several hold is written once
            name = name if name not in self.arrays else f"{name}.{len(self.arrays)}"
            self.arrays[name] = value
            self._members[id(value)] = name
            self._alive.append(value)
        return self._members[id(value)]

    def _sparse(self, value: Any, name: str) -> dict[str, Any]:
        value = sp.csr_array(value)
        parts = {
            part: self._keep(getattr(value, part), f"{name}.{part}")
            for part in ("data", "indices", "indptr")
        }
        return {"$csr": parts, "shape": list(value.shape)}

    def _kernel(self, value: Any, name: str) -> dict[str, Any]:
        if isinstance(value, Metric) and not isinstance(value.metric, str):
            raise TypeError(_refusal(value.metric, name))
        fields = {
            field.name: self.encode(getattr(value, field.name), f"{name}.{field.name}")
            for field in dataclasses.fields(value)
        }
        return {"$kernel": type(value).__name__, "fields": fields}


def _plain(key: Any, position: int) -> str:
    """A key as part of a member's name, if it is made for that."""
    return (
        key if isinstance(key, str) and re.fullmatch(r"[A-Za-z0-9_]{1,30}", key) else f"{position}"
    )


def _refusal(value: Any, name: str) -> str:
    shown = re.sub(r"^(steps\.\d+\.)?(params|fitted)\.", "", name)
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return (
            f"{shown} is a {type(value).__name__}, which a saved model cannot hold; "
            f"set it to an integer or None first, with set_params({shown}=0)."
        )
    if callable(value):
        return (
            f"{shown} is a function, which a saved model cannot hold because loading it would "
            "run code; use a named kernel, or precompute the kernel."
        )
    kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    return f"{shown} is {kind}, which a saved model cannot hold."


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
        read = getattr(self, f"_read_{tags[0][1:]}", None) if len(tags) == 1 else None
        if read is None:
            raise ModelFileError(
                f"it holds a value of unknown kind {tags or sorted(value)!r:.80}."
            )
        try:
            return read(value, depth + 1)
        except ModelFileError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            raise ModelFileError(
                f"its value of kind {tags[0]!r} is wrong ({error!s:.200})."
            ) from error

    def _take(self, name: Any) -> np.ndarray:
        if not isinstance(name, str) or name not in self.arrays:
            raise ModelFileError(f"it refers to an array {name!r:.80} that it does not hold.")
        return self.arrays[name]

    def _read_float(self, value: dict[str, Any], depth: int) -> float:
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value["$float"]]

    def _read_tuple(self, value: dict[str, Any], depth: int) -> tuple[Any, ...]:
        return tuple(self.decode(list(value["$tuple"]), depth))

    def _read_slice(self, value: dict[str, Any], depth: int) -> slice:
        start, stop, step = (self.decode(part, depth) for part in value["$slice"])
        return slice(start, stop, step)

    def _read_map(self, value: dict[str, Any], depth: int) -> dict[Any, Any]:
        return {self.decode(key, depth): self.decode(item, depth) for key, item in value["$map"]}

    def _read_array(self, value: dict[str, Any], depth: int) -> np.ndarray:
        return self._take(value["$array"])

    def _read_strings(self, value: dict[str, Any], depth: int) -> np.ndarray:
        strings = value["$strings"]
        if not all(isinstance(item, str) for item in strings):
            raise ValueError("not all are strings")
        dtype = {"object": object, "str": np.str_}[value["as"]]
        return np.array(strings, dtype=dtype).reshape(value["shape"])

    def _read_csr(self, value: dict[str, Any], depth: int) -> sp.csr_array:
        parts = [self._take(value["$csr"][name]) for name in ("data", "indices", "indptr")]
        return sparse_array(parts, value["shape"])

    def _read_kernel(self, value: dict[str, Any], depth: int) -> Any:
        fields = {name: self.decode(item, depth) for name, item in value["fields"].items()}
        return _KERNELS[value["$kernel"]](**fields)

    def _read_scalar(self, value: dict[str, Any], depth: int) -> np.generic:
        dtype = np.dtype(value["dtype"])
        if dtype.kind not in "biuf":
            raise ValueError(f"a scalar of type {dtype}")
        return dtype.type(self.decode(value["$scalar"], depth))

    def _read_count(self, value: dict[str, Any], depth: int) -> ClusterCount:
        return ClusterCount(**self.decode(value["$count"], depth))
