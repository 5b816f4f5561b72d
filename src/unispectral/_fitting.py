"""From checked samples to a fitted model: the wiring between the estimators and the solvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from unispectral._defaults import Settings, neighbours_for
from unispectral._memory import require_memory
from unispectral._progress import Progress
from unispectral._result import Solution
from unispectral._samples import Samples
from unispectral._threads import limit_blas, thread_count
from unispectral.kernels import KernelBank
from unispectral.labelfree._counting import (
    NEIGHBOURS,
    Evidence,
    count_clusters,
    count_in_geometries,
)
from unispectral.paper._weights import initial_weights
from unispectral.spectrum import affinity

if TYPE_CHECKING:
    from unispectral.labelfree._coding import Recipe
    from unispectral.labelfree._coupling import Localized

__all__ = ["Fitted", "fit", "weakness"]

#: Up to this many samples whiten="auto" adds whitened geometries. Above, they cost more than the
#: rest of the fit, and landmarks that are few beside the samples flatter their modularity.
WHITEN_SAMPLES = 3_000
#: Above this many samples tol="auto" ends the passes at a change of the graph that moves no label.
LARGE_SAMPLES = 10_000
LARGE_TOL = 5e-3
#: Above WHITEN_SAMPLES n_neighbors="auto" is doubled where so many samples have mostly
#: near-duplicates of themselves among their candidates.
CROWDED = 0.5
_DOUBLINGS = 2


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
    from unispectral.paper import DenseGraph, Objective, descend, solve_alm
    from unispectral.paper._local import descend_locally
    from unispectral.predict import KernelSource

    if settings.solver == "alm" and estimator.checkpoint is not None:
        raise ValueError(
            f"checkpoint={str(estimator.checkpoint)!r} is not for solver='alm'; leave it out, or "
            "use another solver."
        )
    bank = _paper_bank(samples, settings, progress)
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
        with limit_blas(thread_count()):  # its time goes into factorising n × n matrices
            solution = solve_alm(bank, objective, **limits)
    elif settings.solver == "local":
        solution = descend_locally(
            bank, objective, settings.n_neighbors, n_init=estimator.n_init, **limits
        )
    else:
        graph = DenseGraph(bank, tol=1e-6)
        solution = descend(graph, objective, n_init=estimator.n_init, **limits)
    bank.release()
    names = samples.public_names(bank.names)
    return Fitted(
        solution,
        solution.weights,
        names,
        dict(zip(names, solution.weights.tolist(), strict=True)),
        weakness(_degrees(solution.Z), solution.Z),
        [KernelSource(bank, solution.weights, objective.alpha, objective.ridge)],
        evidence,
    )


def _paper_bank(samples: Samples, settings: Settings, progress: Progress) -> KernelBank:
    """The kernels on the samples, once there is room for what the solver will hold of them."""
    if samples.bank is not None:
        return samples.bank
    n, normalize = samples.n_samples, settings.normalize
    if settings.solver == "local":
        return KernelBank(samples.tables, samples.kernels, normalize=normalize, gram=False)
    size = np.result_type(*(table.dtype for table in samples.tables)).itemsize
    matrices = 2.5 if settings.solver == "exact" else 9.0
    require_memory(
        matrices * n * n * size,
        f"solver={settings.solver!r} on {n} samples",
        "use solver='local', model='adaptive', or float32 input",
    )
    progress("kernels")
    return KernelBank(samples.tables, samples.kernels, normalize=normalize)


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
    from unispectral.labelfree._coupling import adapt, localize_all
    from unispectral.labelfree._fusion import Fusion

    progress("geometries")
    if isinstance(estimator.whiten, str) and samples.n_samples > WHITEN_SAMPLES:
        settings = replace(settings, whiten=())
    if isinstance(estimator.tol, str) and samples.n_samples > LARGE_SAMPLES:
        settings = replace(settings, tol=LARGE_TOL)
    auto = estimator.n_clusters == "auto"
    k = max(settings.n_neighbors, NEIGHBOURS)
    if not auto:
        k = neighbours_for(
            settings, estimator.n_neighbors, samples.n_samples, estimator.n_clusters
        )
    localized, names = localize_all(samples, settings, k, rng, progress)
    first = k
    if isinstance(estimator.n_neighbors, str):
        localized, k = _widened(samples, settings, localized, k, rng, progress)
    recipe = _recipe(settings, 0 if auto else int(estimator.n_clusters))
    evidence = None
    if auto:
        around = [one.neighbourhoods for one in localized]
        whole = [one for one in around if one.present is None] or around
        grown = k // first
        evidence = count_in_geometries(whole, recipe, estimator.max_clusters, rng, grown=grown)
        recipe = replace(recipe, n_clusters=evidence.n_clusters)
        k = grown * neighbours_for(
            settings, estimator.n_neighbors, samples.n_samples, evidence.n_clusters
        )
        localized = [
            replace(one, neighbourhoods=one.neighbourhoods.nearest(k)) for one in localized
        ]
    several = settings.fuse and len(names) > 1
    fusion = (
        Fusion(localized, k, settings.whiten, int(rng.integers(2**31 - 1))) if several else None
    )
    solution = adapt(
        [one.neighbourhoods for one in localized],
        recipe,
        families=[one.kernel for one in localized],
        mend=_mender(localized, recipe, settings, k, rng),
        fuse=fusion,
        max_iter=settings.max_iter,
        tol=settings.tol,
        n_init=estimator.n_init,
        max_time=estimator.max_time,
        rng=rng,
        on_iteration=lambda done, value: progress(
            "passes", done, settings.max_iter, f"objective {value:.6g}"
        ),
    )
    shares = np.zeros(len(names)) if fusion is None else fusion.shares
    return _described(samples, localized, names, shares, recipe, solution, k, evidence)


def _widened(
    samples: Samples,
    settings: Settings,
    localized: list[Localized],
    k: int,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[list[Localized], int]:
    """Twice the candidates where near-duplicates leave no room for others, and twice again."""
    from unispectral.labelfree._coupling import localize_all
    from unispectral.labelfree._near_duplicates import crowding

    for _ in range(_DOUBLINGS if samples.n_samples > WHITEN_SAMPLES else 0):
        if max(crowding(one.neighbourhoods) for one in localized) <= CROWDED:
            break
        k *= 2
        localized, _ = localize_all(samples, settings, k, rng, progress)
    return localized, k


def _recipe(settings: Settings, n_clusters: int) -> Recipe:
    """The part of the settings that the solver works by."""
    from unispectral.labelfree._coding import Recipe

    return Recipe(
        n_clusters,
        alpha=float(settings.alpha),
        beta=float(settings.beta),
        gamma=float(settings.gamma),
        ridge=float(settings.ridge),
        sharpness=float(settings.sharpness),
        min_evidence=float(settings.min_evidence),
        scale_codes=settings.scale_codes,
        laplacian=settings.laplacian,
        unit_rows=settings.unit_rows,
        assign_labels=settings.assign_labels,
    )


def _mender(
    localized: Sequence[Localized],
    recipe: Recipe,
    settings: Settings,
    k: int,
    rng: np.random.Generator,
) -> Any:
    from unispectral.labelfree._coding import MEDIAN
    from unispectral.labelfree._component_repair import mender

    mend = mender(
        [one.geometry for one in localized],
        [one.neighbourhoods.rate for one in localized],
        [one.present for one in localized],
        recipe.n_clusters,
        k,
        alpha=recipe.alpha * MEDIAN,
        ridge=recipe.ridge,
        rng=rng,
    )
    return mend if settings.mend else None


def _described(
    samples: Samples,
    localized: list[Localized],
    names: Sequence[str],
    shares: np.ndarray,
    recipe: Recipe,
    solution: Solution,
    k: int,
    evidence: Evidence | None,
) -> Fitted:
    """A solution with the weights of kernels, outlier scores, and the sources of predictions."""
    from unispectral.labelfree._coding import MEDIAN, reconstruction_error
    from unispectral.predict import GeometrySource

    kernel_weights = np.zeros(len(names))
    for one, weight in zip(localized, solution.weights, strict=True):
        if one.kernel < 0:  # of several kernels, each by its share
            kernel_weights += weight * shares
        else:
            kernel_weights[one.kernel] += weight
    # Each kernel judges by its own geometry, the first of its kernel, and as much as it weighs.
    judging = np.zeros(len(localized))
    first = {one.kernel: position for position, one in reversed(list(enumerate(localized)))}
    error = np.zeros(samples.n_samples)
    for kernel in np.flatnonzero(kernel_weights).tolist():
        position = first[kernel]
        judging[position] = kernel_weights[kernel]
        error += judging[position] * reconstruction_error(
            localized[position].neighbourhoods, recipe
        )
    sources = [
        GeometrySource(
            geometry=one.geometry,
            rate=one.neighbourhoods.rate,
            view=one.view,
            weight=float(weight),
            alpha=recipe.alpha * MEDIAN,
            ridge=recipe.ridge,
            n_candidates=k,
            samples=None if one.present is None else np.flatnonzero(one.present),
            judging=float(judged),
        )
        for one, weight, judged in zip(localized, solution.weights, judging, strict=True)
        if weight > 0 or judged > 0
    ]
    public = samples.public_names(names)
    titles = [one.title(public) for one in localized]
    return Fitted(
        solution,
        kernel_weights,
        public,
        dict(zip(titles, solution.weights.tolist(), strict=True)),
        error,
        sources,
        evidence,
    )


def weakness(degrees: np.ndarray, graph: sp.csr_array) -> np.ndarray:
    """Outlier score of the paper's model: little weight beside what is typical of its graph."""
    all_ = _degrees(graph)
    typical = float(np.median(all_[all_ > 0])) if (all_ > 0).any() else 1.0
    return 1.0 / (1.0 + degrees / typical)


def _degrees(graph: sp.csr_array) -> np.ndarray:
    return np.asarray((graph + graph.T).sum(axis=1)).ravel()
