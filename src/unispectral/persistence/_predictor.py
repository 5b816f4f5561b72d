"""A predictor as plain values and back, every shape and index checked against every other.

Compiled code follows what is restored here through memory, so that nothing is believed that can
be checked.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._inputs import Layout
from unispectral._validation import Shift
from unispectral.kernels import KernelBank
from unispectral.kernels._bound import MatrixKernel, bind
from unispectral.kernels._features import Features
from unispectral.kernels._normalize import NORMALIZATIONS, Normalizer
from unispectral.kernels._specs import Kernel
from unispectral.labelfree._geometry import KernelDistance, KernelPart, WhitenedDistance
from unispectral.persistence._archive import ModelFileError
from unispectral.predict import GeometryPart, KernelSumPart, Predictor

__all__ = ["predictor_state", "restore_predictor"]

#: More parts, kernels or candidates than any fit makes.
_MOST_PARTS = 10_000
_MOST_CANDIDATES = 100_000
_KINDS = ("table", "columns", "views", "kernels")
_WHITENING = ("rate", "landmarks", "root", "mean", "shrink_root", "table")


def predictor_state(predictor: Predictor) -> dict[str, Any]:
    """What a predictor is made of; labels and embedding are saved with the estimator."""
    banks: list[KernelBank] = []

    def number(bank: KernelBank) -> int:
        for at, known in enumerate(banks):
            if known is bank:
                return at
        banks.append(bank)
        return len(banks) - 1

    parts = []
    for part in predictor.parts:
        if isinstance(part, KernelSumPart):
            own: dict[str, Any] = {"bank": number(part.bank), "weights": part.weights}
        else:
            base = getattr(part.geometry, "base", part.geometry)
            whitened = isinstance(part.geometry, WhitenedDistance)
            own = {
                "kernels": [[number(one.bank), one.r, one.view, one.scale] for one in base.parts],
                "name": part.geometry.name,
                "base_name": base.name,
                "whitening": {key: getattr(part.geometry, key) for key in _WHITENING}
                if whitened
                else None,
                "rate": part.rate,
                "samples": part.samples,
            }
        parts.append(
            own
            | {
                "weight": part.weight,
                "outlier_weight": part.outlier_weight,
                "close": part.close,
            }
        )
    layout = predictor.layout
    return {
        "layout": {
            "kind": layout.kind,
            "view_names": list(layout.view_names),
            "n_features": list(layout.n_features),
            "columns": list(layout.columns),
            "shifts": [None if shift is None else list(shift) for shift in layout.shifts],
            "sparse": list(layout.sparse),
        },
        "alpha": predictor.alpha,
        "ridge": predictor.ridge,
        "n_candidates": predictor.n_candidates,
        "typical_degree": predictor.typical_degree,
        "by_labels": predictor.by_labels,
        "parts": parts,
        "banks": [_bank_state(bank) for bank in banks],
    }


def restore_predictor(state: Any, estimator: Any) -> Predictor:
    """The predictor of an estimator whose other attributes have been restored and checked."""
    n = len(estimator.labels_)
    layout = _layout(state["layout"], n, estimator.n_features_in_)
    banks = [_bank(one, layout) for one in _list(state["banks"])]
    parts = [_part(part, banks, layout, n) for part in _list(state["parts"])]
    if not any(part.weight > 0 for part in parts):
        raise ModelFileError("no part of it has a weight.")
    if not any(part.outlier_weight > 0 for part in parts):
        raise ModelFileError("no part of it scores outliers.")
    typical = state["typical_degree"]
    return Predictor(
        layout=layout,
        parts=parts,
        alpha=_real(state["alpha"]),
        ridge=_real(state["ridge"]),
        n_candidates=_integer(state["n_candidates"], 1, _MOST_CANDIDATES),
        labels=estimator.labels_,
        embedding=estimator.embedding_,
        rotation=estimator.rotation_,
        outlier_score=estimator.outlier_score_,
        typical_degree=None if typical is None else _real(typical, above=0.0),
        by_labels=_boolean(state["by_labels"]),
    )


def _layout(state: Any, n: int, n_features_in: int) -> Layout:
    kind = state["kind"]
    _require(kind in _KINDS, "the kind of its input")
    names = tuple(_list(state["view_names"]))
    _require(all(isinstance(name, str) for name in names), "the names of its views")
    sizes = tuple(_integer(size, 1, 2**40) for size in _list(state["n_features"]))
    columns = tuple(
        _indices(one, size, n_features_in)
        for one, size in zip(_list(state["columns"]), sizes, strict=kind == "columns")
    )
    shifts = tuple(
        None if one is None else _shift(one, size)
        for one, size in zip(_list(state["shifts"]), sizes, strict=bool(state["shifts"]))
    )
    wanted = {
        "table": len(sizes) == 1 and sizes[0] == n_features_in,
        "columns": len(columns) == len(sizes),
        "views": sum(sizes) == n_features_in,
        "kernels": set(sizes) == {n} and n_features_in == n,
    }
    _require(wanted[kind] and len(sizes) > 0, "the number of its features")
    _require(len(names) == (1 if kind == "kernels" else len(sizes)), "the names of its views")
    sparse = tuple(_list(state["sparse"]))
    _require(all(isinstance(one, bool) for one in sparse), "the kind of its input")
    _require(len(sparse) == (0 if kind == "kernels" else len(sizes)), "the kind of its input")
    return Layout(kind, names, sizes, columns, shifts, sparse)


def _shift(state: Any, size: int) -> Shift:
    offset, factor = state
    if offset is not None:
        offset = _floats(offset, (size,))
    if isinstance(factor, np.ndarray):
        factor = _floats(factor, (size,))
        _require(bool((np.isfinite(factor) & (factor > 0)).all()), "the scale of a column")
        return offset, factor
    return offset, _real(factor, above=0.0)


def _part(state: Any, banks: list[KernelBank], layout: Layout, n: int) -> Any:
    shared: dict[str, Any] = {
        "weight": _real(state["weight"]),
        "outlier_weight": _real(state["outlier_weight"]),
        "close": _real(state["close"]),
    }
    if "weights" in state:
        bank = banks[_integer(state["bank"], 0, len(banks) - 1)]
        _require(bank.n_samples == n, "the samples of its kernels")
        tables = len(bank.features)
        single = bank.features[0] is None
        _require(single or tables == len(layout.n_features), "the views of its kernels")
        _require(not single or len(bank) == len(layout.n_features), "its kernels")
        _check_tables(bank, range(tables), layout)
        return KernelSumPart(bank, _floats(state["weights"], (len(bank),)), **shared)
    kernels = [_kernel_part(one, banks, layout) for one in _list(state["kernels"])]
    _require(len(kernels) > 0, "the kernels of a geometry")
    _require(len({part.bank.n_samples for part in kernels}) == 1, "the kernels of a geometry")
    base = KernelDistance(kernels, str(state["base_name"]))
    held = base.n_samples
    samples = state["samples"]
    if samples is not None:
        samples = _indices(samples, held, n)
        _require(bool((np.diff(samples) > 0).all()), "the samples of a view")
    _require(samples is not None or held == n, "the samples of a geometry")
    whitening = state["whitening"]
    geometry: Any = base if whitening is None else _whitened(whitening, base, str(state["name"]))
    rate = -_real(-_real(state["rate"], least=-math.inf), above=0.0)
    return GeometryPart(geometry=geometry, rate=rate, samples=samples, **shared)


def _kernel_part(state: Any, banks: list[KernelBank], layout: Layout) -> KernelPart:
    at, r, view, scale = state
    bank = banks[_integer(at, 0, len(banks) - 1)]
    r = _integer(r, 0, len(bank) - 1)
    if bank.features[0] is None:
        view = _integer(view, -1, -1)
        _require(len(bank) == len(layout.n_features), "its kernels")
    else:
        _require(len(bank.features) == 1, "the views of a geometry")
        view = _integer(view, 0, len(layout.n_features) - 1)
        _check_tables(bank, [view], layout)
    return KernelPart(bank, r, view, _real(scale, above=0.0))


def _check_tables(bank: KernelBank, views: Any, layout: Layout) -> None:
    """Tables of training samples must have the features that new samples will have."""
    for features, view in zip(bank.features, views, strict=True):
        if features is None:
            _require(layout.kind == "kernels", "the kind of its input")
        else:
            _require(layout.kind != "kernels", "the kind of its input")
            fits = features.n_features == layout.n_features[view]
            _require(fits, "the number of features of its samples")
            alike = sp.issparse(features.X) == layout.sparse[view]
            _require(alike, "the kind of its input")


def _whitened(state: Any, base: KernelDistance, name: str) -> WhitenedDistance:
    rate, landmarks, root = state["rate"], state["landmarks"], state["root"]
    n, count = base.n_samples, len(state["mean"])
    _require((rate is None) == (landmarks is None), "the landmarks of a geometry")
    if rate is not None:
        rate = -_real(-_real(rate, least=-math.inf), above=0.0)
        landmarks = _indices(landmarks, count, n)
        _require(root is not None, "the landmarks of a geometry")
    elif root is None:
        _require(count == base.n_columns, "the features of a geometry")
        _require(base.features() is not None, "the features of a geometry")
    else:
        _require(count == n, "the features of a geometry")
    return WhitenedDistance(
        base=base,
        rate=rate,
        landmarks=landmarks,
        root=None if root is None else _floats(root, (count, count)),
        mean=_floats(state["mean"], (count,)),
        shrink_root=_floats(state["shrink_root"], (count, count)),
        table=_floats(state["table"], (n, count)),
        name=name,
    )


def _bank_state(bank: KernelBank) -> dict[str, Any]:
    """Samples, kernels, and the numbers that binding them found out."""
    return {
        "normalize": list(bank.normalize),
        "views": [
            None
            if features is None
            else {
                "X": features.X,
                "squared_norms": features.squared_norms,
                "scales": dict(features._scales),
            }
            for features in bank.features
        ],
        "kernels": [
            {
                "name": kernel.name,
                "view": kernel.view,
                "spec": kernel.spec,
                "matrix": kernel.matrix if isinstance(kernel, MatrixKernel) else None,
                "vectors": list(kernel.normalizer.vectors),
                "constants": list(kernel.normalizer.constants),
            }
            for kernel in bank._bound
        ],
    }


def _bank(state: Any, layout: Layout) -> KernelBank:
    steps = tuple(_list(state["normalize"]))
    _require(all(step in NORMALIZATIONS for step in steps), "the normalisation of its kernels")
    views = _list(state["views"])
    bank = KernelBank.__new__(KernelBank)
    bank.normalize = steps
    bank.features = [None if view is None else _features(view) for view in views]
    kernels = _list(state["kernels"])
    _require(len(views) > 0 and len(kernels) > 0, "its kernels")
    _require(len(views) == 1 or None not in bank.features, "its kernels")
    bank._bound = [_bound(kernel, bank.features, steps) for kernel in kernels]
    bank.n_samples = bank._bound[0].n_samples
    bank.dtype = np.result_type(*(kernel.dtype for kernel in bank._bound))
    sizes = {kernel.n_samples for kernel in bank._bound}
    sizes |= {features.n_samples for features in bank.features if features is not None}
    _require(sizes == {bank.n_samples}, "the samples of its kernels")
    return bank


def _features(view: Any) -> Features:
    X, norms = view["X"], view["squared_norms"]
    _require(isinstance(X, np.ndarray) or sp.issparse(X), "its samples")
    _require(X.ndim == 2 and X.dtype in (np.float32, np.float64), "its samples")
    _require(X.shape[0] > 0 and X.shape[1] > 0, "its samples")
    features = Features(X)
    norms = _floats(norms, (X.shape[0],))
    _require(norms.dtype == X.dtype, "the norms of its samples")
    features.squared_norms = norms
    features._scales = {str(kind): _real(scale) for kind, scale in dict(view["scales"]).items()}
    return features


def _bound(state: Any, features: list[Features | None], steps: tuple[str, ...]) -> Any:
    view = _integer(state["view"], 0, len(features) - 1)
    table, matrix = features[view], state["matrix"]
    bound: Any
    if table is None:
        size = len(matrix)
        bound = MatrixKernel(str(state["name"]), _floats(matrix, (size, size)), view)
    else:
        _require(isinstance(state["spec"], Kernel), "a kernel")
        bound = bind(state["spec"], table, view)
        bound.name = str(state["name"])
    vectors, constants = _list(state["vectors"]), _list(state["constants"])
    _require(len(vectors) == len(constants) == len(steps), "the normalisation of its kernels")
    bound.normalizer = Normalizer(
        steps,
        [_floats(vector, (bound.n_samples,)) for vector in vectors],
        [_real(constant, least=-math.inf) for constant in constants],
    )
    # A parameter that the kernel cannot use shows here, not when new points come.
    one = np.zeros(1, dtype=np.intp)
    with np.errstate(all="ignore"):
        bound.block(one, one, None)
    return bound


def _require(fits: bool, what: str) -> None:
    if not fits:
        raise ModelFileError(f"{what} cannot be right.")


def _list(value: Any) -> list[Any]:
    _require(isinstance(value, list) and len(value) <= _MOST_PARTS, "a list in it")
    return value


def _boolean(value: Any) -> bool:
    _require(isinstance(value, bool), f"the value {value!r:.40}")
    return value


def _integer(value: Any, least: int, most: int) -> int:
    fits = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    _require(fits and least <= value <= most, f"the number {value!r:.40}")
    return int(value)


def _real(value: Any, *, least: float = 0.0, above: float | None = None) -> float:
    fits = isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)
    _require(fits and math.isfinite(value), f"the number {value!r:.40}")
    _require(value >= least if above is None else value > above, f"the number {value!r:.40}")
    return float(value)


def _floats(array: Any, shape: tuple[int, ...]) -> np.ndarray:
    fits = isinstance(array, np.ndarray) and array.shape == shape
    _require(fits and array.dtype in (np.float32, np.float64), "the shape of an array")
    return array


def _indices(array: Any, count: int, size: int) -> np.ndarray:
    fits = isinstance(array, np.ndarray) and array.shape == (count,) and array.dtype.kind == "i"
    _require(fits, "the shape of an array of indices")
    _require(count == 0 or 0 <= array.min() <= array.max() < size, "an index")
    return array.astype(np.intp)
