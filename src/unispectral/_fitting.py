"""From what the user gave to what the solvers take, and back: the wiring of the estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from unispectral._defaults import Settings
from unispectral._memory import require_memory
from unispectral._progress import Progress
from unispectral._validation import (
    check_kernel_matrix,
    check_samples,
    check_views,
    is_views,
    well_placed,
)
from unispectral.counting import NEIGHBOURS, Evidence, count_clusters
from unispectral.kernels import Gaussian, Kernel, KernelBank, Linear, as_kernels
from unispectral.solvers._result import Solution
from unispectral.spectrum import affinity
from unispectral.weights import initial_weights

__all__ = ["Fitted", "Samples", "fit", "read", "read_new"]

#: Up to this many samples whiten="auto" adds whitened geometries. Above, they cost more than the
#: rest of the fit, and landmarks that are few beside the samples flatter their modularity.
WHITEN_SAMPLES = 3_000


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

    @property
    def kernel_views(self) -> list[int]:
        """The view of each kernel, in the order of the weights."""
        if self.kernels is None:
            assert self.bank is not None
            return [0] * len(self.bank)
        return [view for view in range(len(self.tables)) for _ in self.kernels]


@dataclass
class Fitted:
    """What a fit gives beyond the solver's own result."""

    solution: Solution
    kernel_weights: np.ndarray
    kernel_names: tuple[str, ...]
    geometry_weights: dict[str, float]
    outlier_score: np.ndarray
    sources: Sequence[Any]
    evidence: Evidence | None = None


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


def fit(
    estimator: Any,
    samples: Samples,
    settings: Settings,
    rng: np.random.Generator,
    progress: Progress,
) -> Fitted:
    """Run the model that the estimator asks for."""
    run = _fit_paper if estimator.model == "paper" else _fit_adaptive
    return run(estimator, samples, settings, rng, progress)


def _fit_paper(
    estimator: Any,
    samples: Samples,
    settings: Settings,
    rng: np.random.Generator,
    progress: Progress,
) -> Fitted:
    from unispectral.predict import KernelSource
    from unispectral.solvers import DenseGraph, Objective, descend, solve_alm
    from unispectral.solvers._local import descend_locally

    n = samples.n_samples
    bank = samples.bank
    if bank is None and settings.solver == "local":
        bank = KernelBank(
            samples.tables, samples.kernels, normalize=settings.normalize, gram=False
        )
    if bank is None:
        size = np.result_type(*(table.dtype for table in samples.tables)).itemsize
        matrices = 2.5 if settings.solver == "exact" else 9.0
        require_memory(
            matrices * n * n * size,
            f"solver={settings.solver!r} on {n} samples",
            "use solver='local', model='adaptive', or float32 input",
        )
        progress("kernels")
        bank = KernelBank(samples.tables, samples.kernels, normalize=settings.normalize)
    evidence = None
    if estimator.n_clusters == "auto":
        evidence = _count_in_kernel(bank, settings, estimator.max_clusters, rng)
    objective = Objective(
        evidence.n_clusters if evidence else int(estimator.n_clusters),
        float(settings.alpha),
        float(settings.beta),
        float(settings.gamma),
        float(settings.ridge),
    )
    limits = {
        "max_iter": settings.max_iter,
        "tol": settings.tol,
        "max_time": estimator.max_time,
        "rng": rng,
        "on_iteration": lambda done, value: progress(
            "descent", done, settings.max_iter, f"objective {value:.6g}"
        ),
    }
    if settings.solver == "alm":
        solution = solve_alm(bank, objective, **limits)
    elif settings.solver == "local":
        solution = descend_locally(
            bank, objective, settings.n_neighbors, n_init=estimator.n_init, **limits
        )
    else:
        graph = DenseGraph(bank, tol=1e-6)
        solution = descend(graph, objective, n_init=estimator.n_init, **limits)
    bank.release()
    names = _named(bank.names, samples)
    return Fitted(
        solution,
        solution.weights,
        names,
        dict(zip(names, solution.weights.tolist(), strict=True)),
        _weakness(solution),
        [KernelSource(bank, solution.weights, objective.alpha, objective.ridge)],
        evidence,
    )


def _count_in_kernel(
    bank: KernelBank, settings: Settings, max_clusters: int, rng: np.random.Generator
) -> Evidence:
    """Count clusters in the graph that the paper's objective starts from."""
    from unispectral.graph import codes

    K = bank.combine(initial_weights(len(bank)))
    first = codes(K, float(settings.alpha), ridge=float(settings.ridge)).matrix
    return count_clusters([affinity(first)], max_clusters, rng)


def _fit_adaptive(
    estimator: Any,
    samples: Samples,
    settings: Settings,
    rng: np.random.Generator,
    progress: Progress,
) -> Fitted:
    from unispectral.graph.mending import mender
    from unispectral.predict import GeometrySource
    from unispectral.solvers._adaptive import (
        MEDIAN,
        Recipe,
        adapt,
        first_graph,
        localize_all,
        reconstruction_error,
    )

    progress("geometries")
    if isinstance(estimator.whiten, str) and samples.n_samples > WHITEN_SAMPLES:
        settings = replace(settings, whiten=())
    auto = estimator.n_clusters == "auto"
    k = max(settings.n_neighbors, NEIGHBOURS) if auto else settings.n_neighbors
    localized, names = localize_all(samples, settings, k, rng, progress)
    around = [one.neighbourhoods for one in localized]
    recipe = Recipe(
        0,
        alpha=float(settings.alpha),
        beta=float(settings.beta),
        gamma=float(settings.gamma),
        ridge=float(settings.ridge),
        temperature=float(settings.temperature),
    )
    evidence = None
    if auto:
        whole = [one for one in around if one.present is None] or around
        graphs = [first_graph(one, recipe) for one in whole]
        evidence = count_clusters(graphs, estimator.max_clusters, rng)
        around = [one.nearest(settings.n_neighbors) for one in around]
    recipe = replace(recipe, n_clusters=evidence.n_clusters if evidence else estimator.n_clusters)
    mend = mender(
        [one.geometry for one in localized],
        [one.neighbourhoods.rate for one in localized],
        [one.present for one in localized],
        recipe.n_clusters,
        settings.n_neighbors,
        alpha=recipe.alpha * MEDIAN,
        ridge=recipe.ridge,
        rng=rng,
    )
    solution = adapt(
        around,
        recipe,
        families=[one.kernel for one in localized],
        mend=mend,
        max_iter=settings.max_iter,
        tol=settings.tol,
        n_init=estimator.n_init,
        max_time=estimator.max_time,
        rng=rng,
        on_iteration=lambda done, value: progress(
            "passes", done, settings.max_iter, f"objective {value:.6g}"
        ),
    )
    kernel_weights = np.zeros(len(names))
    for one, weight in zip(localized, solution.weights, strict=True):
        kernel_weights[one.kernel] += weight
    # Each kernel judges by its own geometry, the first of its kernel, and as much as it weighs.
    first = {one.kernel: position for position, one in reversed(list(enumerate(localized)))}
    error = np.zeros(samples.n_samples)
    for kernel in np.flatnonzero(kernel_weights).tolist():
        error += kernel_weights[kernel] * reconstruction_error(around[first[kernel]], recipe)
    public = _named(names, samples)
    titles = [one.title(public) for one in localized]
    sources = [
        GeometrySource(
            geometry=one.geometry,
            rate=one.neighbourhoods.rate,
            view=one.view,
            weight=float(weight),
            alpha=recipe.alpha * MEDIAN,
            ridge=recipe.ridge,
            n_candidates=settings.n_neighbors,
            samples=None if one.present is None else np.flatnonzero(one.present),
        )
        for one, weight in zip(localized, solution.weights, strict=True)
        if weight > 0
    ]
    return Fitted(
        solution,
        kernel_weights,
        public,
        dict(zip(titles, solution.weights.tolist(), strict=True)),
        error,
        sources,
        evidence,
    )


def _weakness(solution: Solution) -> np.ndarray:
    """Outlier score of the paper's model: little weight in the graph."""
    degrees = np.asarray((solution.Z + solution.Z.T).sum(axis=1)).ravel()
    typical = float(np.median(degrees[degrees > 0])) if (degrees > 0).any() else 1.0
    return 1.0 / (1.0 + degrees / typical)


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


def _named(names: Sequence[str], samples: Samples) -> tuple[str, ...]:
    """Kernel names with the names of their views where there are several."""
    if len(samples.tables) < 2:
        return tuple(names)
    plain = [name.rpartition(":")[2] for name in names]
    return tuple(
        f"{samples.view_names[view]}:{name}"
        for view, name in zip(samples.kernel_views, plain, strict=True)
    )


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
