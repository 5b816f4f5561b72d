"""A predictor as plain values and back, every shape and index checked against every other.

Compiled code follows what is restored here through memory, so that nothing is believed that can
be checked. What is written of each class is listed once; the rest of the file says how the values
must fit together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from unispectral._inputs import Layout
from unispectral._validation import Shift
from unispectral.kernels import KernelBank
from unispectral.kernels._bound import (
    NORMALIZATIONS,
    BoundKernel,
    Normalizer,
    bind,
    bind_matrix,
)
from unispectral.kernels._features import Features
from unispectral.kernels._specs import Kernel
from unispectral.labelfree._geometry import KernelDistance, KernelPart, WhitenedDistance
from unispectral.persistence._archive import ModelFileError
from unispectral.persistence._values import (
    boolean,
    floats,
    indices,
    integer,
    real,
    require,
    sequence,
)
from unispectral.predict import GeometryPart, KernelSumPart, Predictor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sklearn.base import BaseEstimator

    from unispectral.predict import Part

#: More neighbours of a sample than anybody looks at: a file that says so is wrong.
_MOST_CANDIDATES = 100_000
_KINDS = ("table", "columns", "views", "kernels", "graph")
#: What is written of each class; labels and embedding are saved with the estimator.
_PREDICTOR = ("alpha", "ridge", "n_candidates", "typical_degree", "by_labels")
_LAYOUT = (
    "kind", "view_names", "n_features", "columns", "shifts", "sparse", "feature_names", "graphs",
)  # fmt: skip
_PART = ("weight", "outlier_weight", "close")
_GEOMETRY_PART = (*_PART, "rate", "samples", "n_indexed")
_WHITENING = (
    "rate", "landmarks", "root", "mean", "shrink_root", "unit", "table", "name", "n_fitted",
)  # fmt: skip
_KERNEL = ("name", "view", "spec", "matrix")


def _fields_of(thing: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}


def predictor_state(predictor: Predictor) -> dict[str, Any]:
    """What a predictor is made of."""
    banks: list[list[BoundKernel]] = []
    parts = [_part_state(part, banks) for part in predictor.parts]
    return _fields_of(predictor, _PREDICTOR) | {
        "layout": _fields_of(predictor.layout, _LAYOUT),
        "parts": parts,
        "banks": [_bank_state(bank) for bank in banks],
    }


def _part_state(part: Part, banks: list[list[BoundKernel]]) -> dict[str, Any]:
    if isinstance(part, KernelSumPart):
        banks.append([part.bank[r] for r in range(len(part.bank))])
        return _fields_of(part, _PART) | {"bank": len(banks) - 1, "weights": part.weights}
    base = part.geometry.base
    whitened = base is not part.geometry
    return _fields_of(part, _GEOMETRY_PART) | {
        "kernels": [[*_place(one.kernel, banks), one.view, one.scale] for one in base.parts],
        "name": base.name,
        "whitening": _fields_of(part.geometry, _WHITENING) if whitened else None,
    }


def _place(kernel: BoundKernel, banks: list[list[BoundKernel]]) -> tuple[int, int]:
    """Where a kernel is written: with others on the same samples, which are written once."""
    for at, bank in enumerate(banks):
        for r, known in enumerate(bank):
            if known is kernel:
                return at, r
        if kernel.source is not None and bank[0].source is kernel.source:
            bank.append(kernel)
            return at, len(bank) - 1
    banks.append([kernel])
    return len(banks) - 1, 0


def _bank_state(bank: list[BoundKernel]) -> dict[str, Any]:
    """Samples, kernels, and the numbers that binding them found out."""
    sources = {kernel.view: kernel.source for kernel in bank}
    views: list[Any] = [
        one and _fields_of(one, ("X", "squared_norms")) | {"scales": dict(one._scales)}
        for one in (sources[view] for view in sorted(sources))
    ]
    kernels = [
        _fields_of(kernel, _KERNEL) | _fields_of(kernel.normalizer, ("vectors", "constants"))
        for kernel in bank
    ]
    return {"normalize": bank[0].normalizer.steps, "views": views, "kernels": kernels}


def restore_predictor(state: Mapping[str, Any], estimator: BaseEstimator) -> Predictor:
    """The predictor of an estimator whose other attributes have been restored and checked."""
    n = len(estimator.labels_)
    layout = _layout(state["layout"], n, estimator.n_features_in_)
    banks = [_bank(one) for one in sequence(state["banks"])]
    parts = [_part(part, banks, layout, n) for part in sequence(state["parts"])]
    for weight, what in (("weight", "has a weight"), ("outlier_weight", "scores outliers")):
        if not any(getattr(part, weight) > 0 for part in parts):
            raise ModelFileError(f"no part of it {what}.")
    typical = state["typical_degree"]
    return Predictor(
        layout=layout,
        parts=tuple(parts),
        alpha=real(state["alpha"]),
        ridge=real(state["ridge"]),
        n_candidates=integer(state["n_candidates"], 1, _MOST_CANDIDATES),
        typical_degree=None if typical is None else real(typical, above=0.0),
        by_labels=boolean(state["by_labels"]),
    )


def _layout(state: Mapping[str, Any], n: int, n_features_in: int) -> Layout:
    kind = state["kind"]
    require(kind in _KINDS, "the kind of its input")
    names = tuple(sequence(state["view_names"]))
    require(all(isinstance(name, str) for name in names), "the names of its views")
    sizes = tuple(integer(size, 1, 2**40) for size in sequence(state["n_features"]))
    columns = tuple(
        indices(one, size, n_features_in)
        for one, size in zip(sequence(state["columns"]), sizes, strict=kind == "columns")
    )
    shifts = tuple(
        None if one is None else _shift(one, size)
        for one, size in zip(sequence(state["shifts"]), sizes, strict=bool(state["shifts"]))
    )
    wanted = {
        "table": len(sizes) == 1 and sizes[0] == n_features_in,
        "columns": len(columns) == len(sizes),
        "views": sum(sizes) == n_features_in,
        "kernels": set(sizes) == {n} and n_features_in == n,
        "graph": set(sizes) == {n} and n_features_in == n,
    }
    require(wanted[kind] and len(sizes) > 0, "the number of its features")
    require(len(names) == (1 if kind == "kernels" else len(sizes)), "the names of its views")
    sparse = tuple(boolean(one) for one in sequence(state["sparse"]))
    if kind in ("kernels", "graph"):
        told = 0
    else:
        told = len(sizes)
    require(len(sparse) == told, "the kind of its input")
    named = _feature_names(state.get("feature_names", ()), sizes)
    graphs = tuple(boolean(one) for one in sequence(state.get("graphs", ())))
    require(len(graphs) in (0, len(sizes)), "the kind of its input")
    for is_graph, size, is_sparse in zip(graphs, sizes, sparse, strict=False):
        fits = kind == "views" and size == n and is_sparse
        require(fits or not is_graph, "the number of its features")
    return Layout(kind, names, sizes, columns, shifts, sparse, named, graphs)


def _feature_names(state: object, sizes: Sequence[int]) -> tuple[tuple[str, ...] | None, ...]:
    """Those of each view; files of before they were kept have none."""
    given = sequence(state)
    named = tuple(None if one is None else tuple(sequence(one)) for one in given)
    for names, size in zip(named, sizes, strict=bool(named)):
        fits = names is None or (len(names) == size and all(isinstance(one, str) for one in names))
        require(fits, "the names of its features")
    return named


def _shift(state: object, size: int) -> Shift:
    offset, factor, *more = sequence(state)
    missing: list[Any] = [None, False, 0.0]  # in older files
    columns, fixed, counted = [*more, *missing[len(more) :]]
    if columns is not None:
        columns = indices(columns, np.size(columns), size)
        size = len(columns)
        require(size > 0, "the columns of a table")
    if offset is not None:
        offset = floats(offset, size)
    if isinstance(factor, np.ndarray):
        factor = floats(factor, size)
        require(bool((np.isfinite(factor) & (factor > 0)).all()), "the scale of a column")
    else:
        factor = real(factor, above=0.0)
    unit = real(counted)
    require(unit >= 0, "the unit of counts")
    return Shift(offset, factor, columns, boolean(fixed), unit)


def _part(state: Mapping[str, Any], banks: list[KernelBank], layout: Layout, n: int) -> Any:
    shared: dict[str, Any] = {name: real(state[name]) for name in _PART}
    if "weights" in state:
        bank = banks[integer(state["bank"], 0, len(banks) - 1)]
        require(bank.n_samples == n, "the samples of its kernels")
        views = len(layout.n_features)
        matrices = bank.features[0] is None
        require((len(bank) if matrices else len(bank.features)) == views, "its kernels")
        _check_tables(bank, range(len(bank.features)), layout)
        return KernelSumPart(bank, floats(state["weights"], len(bank)), **shared)
    kernels = [_kernel_part(one, banks, layout) for one in sequence(state["kernels"])]
    sizes = {part.kernel.n_samples for part in kernels}
    require(len(sizes) == 1, "the kernels of a geometry")
    base = KernelDistance(kernels, str(state["name"]))
    samples = state["samples"]
    if samples is not None:
        samples = indices(samples, base.n_samples, n)
        require(len(np.unique(samples)) == len(samples), "the samples of a view")
    require(samples is not None or base.n_samples == n, "the samples of a geometry")
    whitening = state["whitening"]
    if whitening is None:
        geometry = base
    else:
        geometry = _read_whitening(whitening, base)
    rate = real(state["rate"], least=-math.inf, below=0.0)
    indexed = state.get("n_indexed")
    if indexed is not None:
        indexed = integer(indexed, 1, base.n_samples)
    return GeometryPart(geometry=geometry, rate=rate, samples=samples, n_indexed=indexed, **shared)


def _kernel_part(state: Any, banks: list[KernelBank], layout: Layout) -> KernelPart:
    at, r, view, scale = state
    bank = banks[integer(at, 0, len(banks) - 1)]
    r = integer(r, 0, len(bank) - 1)
    if view == -1:  # earlier files have all matrices in one bank
        view = r
    view = integer(view, 0, len(layout.n_features) - 1)
    require(len(bank.features) == 1, "the views of a geometry")
    _check_tables(bank, [view], layout)
    return KernelPart(bank[r], view, real(scale, above=0.0))


def _check_tables(bank: KernelBank, views: Iterable[int], layout: Layout) -> None:
    """Tables of training samples must have the features that new samples will have."""
    for features, view in zip(bank.features, views, strict=True):
        require((features is None) == (layout.kind == "kernels"), "the kind of its input")
        if features is None:
            continue
        width = layout.n_kept(view)
        sparse = True
        if layout.kind == "graph":  # the rows of all graphs side by side
            width = sum(layout.n_features)
        else:
            sparse = layout.sparse[view]
        require(features.n_features == width, "the number of features of its samples")
        require(sp.issparse(features.X) == sparse, "the kind of its input")


def _read_whitening(state: Mapping[str, Any], base: KernelDistance) -> WhitenedDistance:
    rate = state["rate"]
    landmarks = state["landmarks"]
    root = state["root"]
    n = base.n_samples
    count = len(state["mean"])
    # Files of before a model could grow do not say it.
    n_fitted = integer(state.get("n_fitted", n), 1, n)
    require((rate is None) == (landmarks is None), "the landmarks of a geometry")
    if rate is not None:
        rate = real(rate, least=-math.inf, below=0.0)
        landmarks = indices(landmarks, count, n_fitted)
        require(root is not None, "the landmarks of a geometry")
    elif root is None:
        plain = base.features() is not None
        require(plain and count == base.n_columns, "the features of a geometry")
    else:
        require(count == n_fitted, "the features of a geometry")
    return WhitenedDistance(
        base=base,
        rate=rate,
        landmarks=landmarks,
        root=None if root is None else _read_root(root, count),
        mean=floats(state["mean"], count),
        shrink_root=_read_root(state["shrink_root"], count),
        unit=boolean(state["unit"]),
        table=floats(state["table"], n, count),
        name=str(state["name"]),
        n_fitted=n_fitted,
    )


def _read_root(array: object, count: int) -> np.ndarray:
    """A lower triangular matrix that has an inverse."""
    root = floats(array, count, count)
    require(bool((np.diagonal(root) != 0).all()), "a root of the geometry")
    return root


def _bank(state: Mapping[str, Any]) -> KernelBank:
    steps = tuple(sequence(state["normalize"]))
    require(all(step in NORMALIZATIONS for step in steps), "the normalisation of its kernels")
    bank = KernelBank.__new__(KernelBank)
    bank.normalize = steps
    views = sequence(state["views"])
    kernels = sequence(state["kernels"])
    bank.features = [None if view is None else _features(view) for view in views]
    require(len(views) > 0 and len(kernels) > 0, "its kernels")
    require(len(views) == 1 or None not in bank.features, "its kernels")
    bank._bound = [_bound(kernel, bank.features, steps) for kernel in kernels]
    bank.n_samples = bank._bound[0].n_samples
    bank.dtype = np.result_type(*(kernel.dtype for kernel in bank._bound))
    sizes = {kernel.n_samples for kernel in bank._bound}
    sizes |= {features.n_samples for features in bank.features if features is not None}
    require(sizes == {bank.n_samples}, "the samples of its kernels")
    return bank


def _features(state: Mapping[str, Any]) -> Features:
    X = state["X"]
    norms = state["squared_norms"]
    require(isinstance(X, np.ndarray) or sp.issparse(X), "its samples")
    require(X.ndim == 2 and X.dtype in (np.float32, np.float64), "its samples")
    require(X.shape[0] > 0 and X.shape[1] > 0, "its samples")
    features = Features(X)
    features.squared_norms = floats(norms, X.shape[0])
    require(norms.dtype == X.dtype, "the norms of its samples")
    features._scales = {str(kind): real(scale) for kind, scale in dict(state["scales"]).items()}
    return features


def _bound(
    state: Mapping[str, Any], features: list[Features | None], steps: tuple[str, ...]
) -> Any:
    view = integer(state["view"], 0, len(features) - 1)
    table = features[view]
    matrix = state["matrix"]
    bound: Any
    if table is None:
        bound = bind_matrix(str(state["name"]), floats(matrix, len(matrix), len(matrix)), view)
    else:
        require(isinstance(state["spec"], Kernel), "a kernel")
        bound = bind(state["spec"], table, view)
        bound.name = str(state["name"])
    vectors = sequence(state["vectors"])
    constants = sequence(state["constants"])
    require(len(vectors) == len(constants) == len(steps), "the normalisation of its kernels")
    bound.is_dot = bound.is_dot and not steps
    bound.normalizer = Normalizer(
        steps,
        [floats(vector, bound.n_samples) for vector in vectors],
        [real(constant, least=-math.inf) for constant in constants],
    )
    # A parameter that the kernel cannot use shows here, not when new points come.
    one = np.zeros(1, dtype=np.intp)
    with np.errstate(all="ignore"):
        bound.block(one, one)
    return bound
