"""From what the user gave to what the solvers take: tables, views and kernels, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from unispectral._validation import (
    check_kernel_matrix,
    check_samples,
    check_views,
    is_views,
    well_placed,
)
from unispectral.kernels import Gaussian, Kernel, KernelBank, Linear, as_kernels

__all__ = ["Samples", "read", "read_new"]


@dataclass
class Samples:
    """The training samples: tables (one per view), or kernels that came as matrices."""

    tables: list[Any]
    view_names: list[str]
    kernels: tuple[Kernel, ...] | None
    bank: KernelBank | None = None
    several: bool = False
    #: How each table was moved and scaled, if any was.
    shifts: list[Any] | None = None

    def place(self, model: str, normalize: Any) -> Samples:
        """Move and scale tables where distances would lose their digits and may be moved."""
        assert self.kernels is not None
        if all(_is_relative(kernel, model, normalize) for kernel in self.kernels):
            placed = [well_placed(table) for table in self.tables]
            self.tables = [table for table, _ in placed]
            if any(shift is not None for _, shift in placed):
                self.shifts = [shift for _, shift in placed]
        return self

    def place_new(self, tables: list[Any]) -> list[Any]:
        """Do to new samples what was done to these."""
        if self.shifts is None:
            return tables
        return [
            table if shift is None else well_placed(table, (shift[0], shift[1]))[0]
            for table, shift in zip(tables, self.shifts, strict=True)
        ]

    @property
    def n_samples(self) -> int:
        return self.bank.n_samples if self.bank is not None else self.tables[0].shape[0]

    @property
    def precomputed(self) -> bool:
        return self.kernels is None

    def public_names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Kernel names with the names of their views where there are several."""
        if len(self.tables) < 2:
            return tuple(names)
        plain = [name.rpartition(":")[2] for name in names]
        return tuple(
            f"{self.view_names[view]}:{name}"
            for view, name in zip(self.kernel_views, plain, strict=True)
        )

    @property
    def kernel_views(self) -> list[int]:
        """The view of each kernel, in the order of the weights."""
        if self.kernels is None:
            assert self.bank is not None
            return [0] * len(self.bank)
        return [view for view in range(len(self.tables)) for _ in self.kernels]


def read(estimator: BaseEstimator, X: Any, kernels: Any, argument: str) -> Samples:
    """Check X and bring it into the form that the solvers take."""
    if isinstance(kernels, str) and kernels == "precomputed":
        bank = X if isinstance(X, KernelBank) else _precomputed(estimator, X)
        estimator.n_features_in_ = bank.n_samples
        return Samples([], ["kernel"], None, bank, several=is_views(X))
    specs = _specs(estimator, kernels, argument)
    groups = getattr(estimator, "views", None)
    if groups is not None:
        table = check_samples(estimator, X, reset=True)
        tables = [table[:, columns] for columns in _columns(estimator, groups).values()]
        return _placed(estimator, Samples(tables, [str(name) for name in groups], specs))
    if is_views(X):
        tables, names = check_views(X)
        estimator.n_features_in_ = sum(table.shape[1] for table in tables)
        return _placed(estimator, Samples(tables, names, specs, several=True))
    return _placed(estimator, Samples([check_samples(estimator, X, reset=True)], ["X"], specs))


def _placed(estimator: Any, samples: Samples) -> Samples:
    return samples.place(estimator.model, estimator.normalize)


def _is_relative(kernel: Kernel, model: str, normalize: Any) -> bool:
    """Whether a kernel enters the model by distances in units of the data's own alone."""
    if isinstance(kernel, Gaussian):
        return isinstance(kernel.scale, str) and kernel.form == "data"
    # The label-free model takes its distances in units of their median.
    plain = normalize is None or normalize in ("auto", "none")
    return isinstance(kernel, Linear) and model == "adaptive" and plain


def read_new(estimator: BaseEstimator, X: Any, samples: Samples) -> Any:
    """Check new points against the training samples."""
    if samples.precomputed:
        assert samples.bank is not None
        return _cross(X, samples.bank)
    groups = getattr(estimator, "views", None)
    if groups is not None:
        table = check_samples(estimator, X, reset=False)
        return samples.place_new(
            [table[:, columns] for columns in _columns(estimator, groups).values()]
        )
    if samples.several:
        if not is_views(X):
            raise ValueError(
                f"X is one table, but the model was fitted on {len(samples.tables)} views "
                f"({', '.join(samples.view_names)}); give one table per view."
            )
        if isinstance(X, Mapping):
            missing = [name for name in samples.view_names if name not in X]
            if missing:
                raise ValueError(f"X lacks the view {missing[0]!r} on which the model was fitted.")
            X = {name: X[name] for name in samples.view_names}
        tables, _ = check_views(X, least=1)
        for name, table, known in zip(samples.view_names, tables, samples.tables, strict=False):
            if table.shape[1] != known.shape[1]:
                raise ValueError(
                    f"view {name!r} has {table.shape[1]} features, but the model was fitted on "
                    f"{known.shape[1]}."
                )
        if len(tables) != len(samples.tables):
            raise ValueError(
                f"X holds {len(tables)} views, but the model was fitted on {len(samples.tables)}."
            )
        return samples.place_new(tables)
    return samples.place_new([check_samples(estimator, X, reset=False)])[0]


def _specs(estimator: BaseEstimator, kernels: Any, argument: str) -> tuple[Kernel, ...]:
    if isinstance(kernels, str) and kernels == "auto":
        return as_kernels("paper") if estimator.model == "paper" else (Linear(),)
    return as_kernels(kernels, argument)


def _columns(estimator: BaseEstimator, groups: Mapping) -> dict[str, np.ndarray]:
    """The column numbers of each group, given as names or numbers."""
    known = list(getattr(estimator, "feature_names_in_", []))
    found = {}
    for name, columns in groups.items():
        numbers = []
        for column in columns:
            if isinstance(column, str):
                if column not in known:
                    raise ValueError(
                        f"views[{name!r}] names the column {column!r}, which X does not have."
                    )
                numbers.append(known.index(column))
            elif 0 <= int(column) < estimator.n_features_in_:
                numbers.append(int(column))
            else:
                raise ValueError(
                    f"views[{name!r}] holds the column number {column}, but X has "
                    f"{estimator.n_features_in_} columns."
                )
        if not numbers:
            raise ValueError(f"views[{name!r}] is empty; give it at least one column.")
        found[str(name)] = np.array(numbers)
    return found


def _precomputed(estimator: BaseEstimator, X: Any) -> KernelBank:
    normalize = getattr(estimator, "normalize", None)
    if isinstance(normalize, str) and normalize == "auto":
        normalize = "none"
    stack = list(X.values() if isinstance(X, Mapping) else X) if is_views(X) else [X]
    if len(stack) > 1 and not hasattr(estimator, "kernels"):
        raise ValueError(
            f"X holds {len(stack)} kernels, but SCSK takes one square matrix; use SCMK."
        )
    several = len(stack) > 1
    checked: list[np.ndarray] = []
    for r, K in enumerate(stack):
        first = checked[0].shape[0] if checked else None
        checked.append(check_kernel_matrix(K, f"X[{r}]" if several else "X", n_samples=first))
    return KernelBank.precomputed(checked, normalize=normalize)


def _cross(X: Any, bank: KernelBank) -> Any:
    """Cross kernels of new points: (m, n) for one kernel, one such matrix per kernel otherwise."""
    stack = list(X.values() if isinstance(X, Mapping) else X) if is_views(X) else [X]
    if len(stack) != len(bank):
        raise ValueError(
            f"X holds {len(stack)} cross kernels, but the model was fitted on {len(bank)}."
        )
    tables = [np.asarray(K.toarray() if sp.issparse(K) else K, dtype=bank.dtype) for K in stack]
    for K in tables:
        if K.ndim != 2 or K.shape[1] != bank.n_samples:
            raise ValueError(
                f"X is a cross kernel of shape {K.shape}; it needs one column for each of the "
                f"{bank.n_samples} training samples."
            )
        if not np.isfinite(K).all():
            raise ValueError("X is a cross kernel with NaN or infinity; remove these samples.")
    return tables if len(tables) > 1 else tables[0]
