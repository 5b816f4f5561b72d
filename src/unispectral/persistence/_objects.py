"""The library's own objects that a fitted model holds: a closed list, checked when read."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from unispectral.persistence._archive import ModelFileError

__all__ = ["class_of", "name_of", "rebuild", "state_of"]

#: The classes whose instances a file may hold, and where they live.
_HOMES = {
    "Evidence": "unispectral.labelfree._counting",
    "Samples": "unispectral._samples",
    "KernelSource": "unispectral.predict",
    "GeometrySource": "unispectral.predict",
    "KernelGeometry": "unispectral.labelfree._geometry",
    "TableGeometry": "unispectral.labelfree._geometry",
    "FusedGeometry": "unispectral.labelfree._fusion",
    "Whitening": "unispectral.labelfree._geometry",
    "_WhitenedMap": "unispectral.labelfree._geometry",
}
#: What only a fit needs and prediction does not; some of it is large.
_LEFT_OUT = {"Whitening": ("features", "gram")}
_FIELD = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*")


def name_of(value: Any) -> str | None:
    """The name under which an object is saved, None if it is not of the list."""
    name = type(value).__name__
    return name if name in _HOMES and type(value).__module__ == _HOMES[name] else None


def class_of(name: Any) -> Any:
    if not isinstance(name, str) or name not in _HOMES:
        raise ModelFileError(f"it holds an object of the unknown class {name!r:.80}.")
    return getattr(importlib.import_module(_HOMES[name]), name)


def state_of(value: Any) -> dict[str, Any]:
    """The attributes that are saved."""
    if isinstance(value, tuple):
        return value._asdict()  # type: ignore[attr-defined]
    left_out = _LEFT_OUT.get(type(value).__name__, ())
    return {key: item for key, item in vars(value).items() if key not in left_out}


def rebuild(name: str, state: Any) -> Any:
    """An object with these attributes, none of which may hide a method."""
    cls = class_of(name)
    if not isinstance(state, dict):
        raise ModelFileError(f"its {name} has no attributes.")
    if issubclass(cls, tuple):
        return cls(**state)
    value = cls.__new__(cls)
    for key, item in state.items():
        held = getattr(cls, key, None) if isinstance(key, str) else None
        if not isinstance(key, str) or not _FIELD.fullmatch(key) or _is_behaviour(held):
            raise ModelFileError(f"its {name} has an attribute {key!r:.80}, which cannot be.")
        object.__setattr__(value, key, item)
    for key in _LEFT_OUT.get(name, ()):
        object.__setattr__(value, key, None)
    if name in _CHECKS and not _CHECKS[name](value):
        raise ModelFileError(f"the parts of its {name} do not fit together.")
    return value


def _is_behaviour(held: Any) -> bool:
    return callable(held) or isinstance(held, property)


def _samples(value: Any) -> bool:
    sizes = {table.shape[0] for table in value.tables}
    if value.bank is not None:
        sizes.add(value.bank.n_samples)
    return len(sizes) == 1 and len(value.view_names) == max(len(value.tables), 1)


def _kernel_source(value: Any) -> bool:
    return _floats(value.weights, (len(value.bank),)) and value.n_candidates > 0


def _geometry_source(value: Any) -> bool:
    n = value.geometry.n_samples
    fits = value.samples is None or _integers(value.samples, n)
    return fits and value.n_candidates > 0 and value.view >= -1


def _kernel_geometry(value: Any) -> bool:
    n = value.bank.n_samples
    return 0 <= value.r < len(value.bank) and value.n_samples == n and _floats(value._own, (n,))


def _table_geometry(value: Any) -> bool:
    n = value.n_samples
    return value.table.ndim == 2 and len(value.table) == n and _floats(value._norms, (n,))


def _fused_geometry(value: Any) -> bool:
    count = len(value.parts)
    same = {part.n_samples for part in value.parts} == {value.n_samples}
    return same and _floats(value.scales, (count,)) and len(value.views) == count


def _whitening(value: Any) -> bool:
    count, n = len(value.landmarks), value.base.n_samples
    inside = _integers(value.landmarks, count) and (
        count == 0 or 0 <= value.landmarks.min() <= value.landmarks.max() < n
    )
    return inside and _floats(value.root, (count, count)) and _floats(value.mean, (count,))


def _whitened_map(value: Any) -> bool:
    count = len(value.whitening.landmarks)
    return _floats(value.root, (count, count))


def _floats(array: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(array, np.ndarray) and array.shape == shape and array.dtype.kind == "f"


def _integers(array: Any, count: int) -> bool:
    return isinstance(array, np.ndarray) and array.shape == (count,) and array.dtype.kind == "i"


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Samples": _samples,
    "KernelSource": _kernel_source,
    "GeometrySource": _geometry_source,
    "KernelGeometry": _kernel_geometry,
    "TableGeometry": _table_geometry,
    "FusedGeometry": _fused_geometry,
    "Whitening": _whitening,
    "_WhitenedMap": _whitened_map,
}
