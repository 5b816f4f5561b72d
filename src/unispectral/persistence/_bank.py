"""A kernel bank as plain values: enough for its cross kernels to be the same to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral.kernels import KernelBank
from unispectral.kernels._bound import MatrixKernel, bind
from unispectral.kernels._features import Features
from unispectral.kernels._normalize import NORMALIZATIONS, Normalizer

__all__ = ["bank_state", "restore_bank"]


def bank_state(bank: KernelBank) -> dict[str, Any]:
    """What a bank is made of: samples, kernels, and the numbers that binding them found out."""
    return {
        "normalize": bank.normalize,
        "views": [
            None
            if features is None
            else {
                "X": features.X,
                "squared_norms": features.squared_norms,
                "scales": dict(features._scales),
                # Blocks of a kept matrix of products and blocks computed anew differ in the last
                # bit, so whoever had one gets one again.
                "gram": features._gram is not None,
                "present": present,
            }
            for features, present in zip(bank.features, bank.present, strict=True)
        ],
        "kernels": [
            {
                "name": kernel.name,
                "view": kernel.view,
                "spec": kernel.spec,
                "matrix": kernel.matrix if isinstance(kernel, MatrixKernel) else None,
                "vectors": kernel.normalizer.vectors,
                "constants": kernel.normalizer.constants,
            }
            for kernel in bank._bound
        ],
    }


def restore_bank(state: dict[str, Any]) -> KernelBank:
    """The bank that :func:`bank_state` described."""
    steps = state["normalize"]
    if not isinstance(steps, tuple) or any(step not in NORMALIZATIONS for step in steps):
        raise ValueError(f"normalisation {steps!r}")
    bank = KernelBank.__new__(KernelBank)
    bank.normalize = steps
    bank.features = [None if view is None else _features(view) for view in state["views"]]
    bank.present = [None if view is None else view["present"] for view in state["views"]]
    bank._bound = [_bound(kernel, bank.features, steps) for kernel in state["kernels"]]
    bank.n_samples = bank._bound[0].n_samples
    bank.dtype = np.result_type(*(kernel.dtype for kernel in bank._bound))
    if any(kernel.n_samples != bank.n_samples for kernel in bank._bound):
        raise ValueError("kernels on different numbers of samples")
    for present in bank.present:
        if present is not None and (present.shape != (bank.n_samples,) or present.dtype != bool):
            raise ValueError("the mask of a view does not fit")
    return bank


def _features(view: dict[str, Any]) -> Features:
    X, norms = view["X"], view["squared_norms"]
    if X.ndim != 2 or X.dtype not in (np.float32, np.float64):
        raise ValueError(f"samples of shape {X.shape} and type {X.dtype}")
    features = Features(X)
    if norms.shape != (X.shape[0],) or norms.dtype != X.dtype:
        raise ValueError("the norms of the samples do not fit")
    features.squared_norms = norms
    features._scales = {str(kind): float(scale) for kind, scale in view["scales"].items()}
    if view["gram"] is True:
        features.keep_gram()
    return features


def _bound(kernel: dict[str, Any], features: list[Features | None], steps: tuple[str, ...]) -> Any:
    view = kernel["view"]
    if not isinstance(view, int) or not 0 <= view < len(features):
        raise ValueError(f"view {view!r}")
    table, matrix = features[view], kernel["matrix"]
    bound: Any
    if table is None:
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"kernel matrix of shape {matrix.shape}")
        bound = MatrixKernel(str(kernel["name"]), matrix, view)
    else:
        bound = bind(kernel["spec"], table, view)
        bound.name = str(kernel["name"])
    vectors, constants = kernel["vectors"], [float(constant) for constant in kernel["constants"]]
    if len(vectors) != len(steps) or len(constants) != len(steps):
        raise ValueError("the normalisation does not fit the kernels")
    if any(vector.shape != (bound.n_samples,) for vector in vectors):
        raise ValueError("a normalising vector does not fit the samples")
    bound.normalizer = Normalizer(steps, list(vectors), constants)
    return bound
