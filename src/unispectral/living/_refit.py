"""All samples that a model has, clustered anew: from its predictor back to samples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from unispectral._inputs import Layout, Samples
from unispectral._result import Fitted
from unispectral.kernels import Kernel
from unispectral.predict import GeometryPart, Predictor

if TYPE_CHECKING:
    from unispectral.kernels._features import Table
    from unispectral.predict import Part


def held_tables(predictor: Predictor, sources: np.ndarray) -> dict[int, Any]:
    """The tables of the views that a predictor holds, with all samples in their order.

    ``sources`` are the samples whose rows they have: of equal ones the first alone is kept. A view
    that had no weight was not kept. A sample that a view lacks is a row of NaN.
    """
    tables: dict[int, Any] = {}
    for part in sorted(predictor.parts, key=_is_completed):
        assert isinstance(part, GeometryPart)
        for one in part.geometry.base.parts:
            source = one.kernel.source
            if one.view not in tables and source is not None:
                tables[one.view] = _put_in_order(source.X, part.samples, sources)
    return tables


def _is_completed(part: Part) -> bool:
    """Whether rows that views lack may have been filled in: in the sum of several."""
    return part.is_joint


def _put_in_order(table: Table, samples: np.ndarray | None, sources: np.ndarray) -> Any:
    if samples is None:
        return table
    place = np.full(len(sources), -1)
    place[samples] = np.arange(len(samples))
    place = place[sources]
    ordered = table[np.maximum(place, 0)]
    if (place < 0).any():
        ordered[place < 0] = np.nan
    return ordered


def held_samples(
    predictor: Predictor,
    sources: np.ndarray,
    kernels: tuple[Kernel, ...],
    scaling: dict[str, str],
) -> tuple[Samples, np.ndarray]:
    """What a model can be fitted to anew, and which of its views these are.

    Tables are as the first fit took them: their units stay.
    """
    tables = held_tables(predictor, sources)
    views = np.array(sorted(tables))
    layout = predictor.layout
    few = Layout(
        kind=layout.kind,
        view_names=tuple(layout.view_names[view] for view in views),
        n_features=tuple(tables[view].shape[1] for view in views),
        sparse=tuple(sp.issparse(tables[view]) for view in views),
    )
    reasons = tuple(scaling.get(name, "") for name in few.view_names)
    ordered = tuple(tables[view] for view in views)
    return Samples(few, ordered, kernels, None, None, reasons), views


def _geometries(fitted: Fitted) -> list[GeometryPart]:
    return [part for part in fitted.predictor.parts if isinstance(part, GeometryPart)]


def spread_views(
    fitted: Fitted, views: np.ndarray, layout: Layout, n_kernels: int, names: tuple[str, ...]
) -> Fitted:
    """A fit to some of the views as one to all of them; the others have weight 0."""
    # Several parts may share one distance.
    bases = {id(part.geometry.base): part.geometry.base for part in _geometries(fitted)}
    for base in bases.values():
        base.parts = tuple(one._replace(view=int(views[one.view])) for one in base.parts)
    predictor = replace(fitted.predictor, layout=layout)
    count = len(layout.view_names)
    if len(views) == count:
        return fitted._replace(predictor=predictor)
    places = (views[:, None] * n_kernels + np.arange(n_kernels)).ravel()
    weights = np.zeros(count * n_kernels)
    weights[places] = fitted.solution.weights
    agreement = fitted.kernel_agreement
    if agreement is not None:
        shown = np.zeros(len(weights))
        shown[places] = agreement
        agreement = shown
    return fitted._replace(
        predictor=predictor,
        solution=fitted.solution._replace(weights=weights),
        kernel_names=names,
        kernel_views=tuple(np.repeat(np.arange(count), n_kernels).tolist()),
        kernel_agreement=agreement,
    )
