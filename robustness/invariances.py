"""What mathematics promises, measured: permutation, scale, constants, duplicates, precision.

On well separated data the promise is kept exactly (a case each). The effect on overlapping data,
where ties and rounding may tip a sample over, is measured and printed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from robustness import _estimators as _estimator_forms
from robustness._results import Part, Plan, Result
from robustness._tests import test_module

__all__ = ["PARTS"]


def _same(plan: Plan) -> Result:
    """Every invariance for every form of the two estimators, on several data sets."""
    result = Result("invariances: the same partition", plan.seed)
    effects: dict[str, list[float]] = {}
    for number in range(plan.pick(1, 4)):
        rng = np.random.default_rng([plan.seed, number])
        for name, estimator in _estimators(plan.quick).items():
            for what, promised, pair in _changes(rng, estimator):
                clear = _agreement(*pair(_separated(rng)))
                blurred = _agreement(*pair(_overlapping(rng)))
                effects.setdefault(what, []).append(blurred)
                if promised:
                    case = f"{name}, {what}, data set {number}"
                    result.check(clear == 1.0, case, f"adjusted Rand index {clear:.4f}")
                else:
                    effects.setdefault(f"{what} (separated)", []).append(clear)
    for what, values in effects.items():
        low, mean = min(values), float(np.mean(values))
        result.facts[f"adjusted Rand index on overlapping data, {what}"] = (
            f"{mean:.3f} on average, {low:.3f} at least"
        )
    return result


def _new_points(plan: Plan) -> Result:
    """What is said of new points: one by one, in parts, in another order, twice, beside others."""
    result = Result("invariances: what is said of new points", plan.seed)
    tests = test_module("test_predict")
    checks: list[tuple[str, Callable[[], None]]] = []
    for form in tests.FORMS[:: plan.pick(6, 1)]:
        checks += [
            (f"{form}, subsets, permutations, duplicates",
             partial(tests.test_one_by_one_in_halves_in_another_order_and_twice, form)),
            (f"{form}, sparse rows", partial(tests.test_sparse_rows_of_a_dense_model, form)),
        ]  # fmt: skip
        for far in (1e2, 1e5):
            check = partial(tests.test_beside_rows_that_are_far_away, form, far)
            checks.append((f"{form}, beside rows {far:g} away", check))
    for form in _estimator_forms.ON_DASK:
        checks.append((f"{form}, blocks", partial(tests.test_on_dask_in_blocks_of_any_size, form)))
    for case, check in checks:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check()
        except Exception as error:
            result.add("failed", case, repr(error))
        else:
            result.add("passed")
    _estimator_forms.close_client()
    return result


PARTS: dict[str, Part] = {"the same partition": _same, "new points": _new_points}

Pair = Callable[[np.ndarray], tuple[Any, Any]]


def _estimators(quick: bool) -> dict[str, Any]:
    from unispectral import SCMK, SCSK, UnifiedSpectralClustering

    found = {
        "USC": UnifiedSpectralClustering(3, n_init=5),
        "USC gaussian": UnifiedSpectralClustering(3, kernels="gaussian", n_init=5),
        "USC kernels": UnifiedSpectralClustering(3, kernels=["linear", "gaussian"], n_init=5),
        "SCSK": SCSK(3, kernel="gaussian", solver="exact"),
        "SCMK": SCMK(3, kernels=["gaussian", "linear"], solver="exact"),
    }
    return dict(list(found.items())[::3]) if quick else found


def _separated(rng: np.random.Generator) -> np.ndarray:
    centres = np.array([[0.0, 0, 0, 0], [30, 0, 10, 0], [0, 30, 0, 10]])
    return np.repeat(centres, 30, axis=0) + rng.standard_normal((90, 4))


def _overlapping(rng: np.random.Generator) -> np.ndarray:
    centres = np.array([[0.0, 0, 0, 0], [2.5, 0, 0, 0], [0, 2.5, 0, 0]])
    return np.repeat(centres, 40, axis=0) + rng.standard_normal((120, 4))


def _labels(estimator: Any, X: Any, **params: Any) -> np.ndarray:
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations; convergence is another chapter
        return clone(estimator).set_params(**params).fit(X).labels_


def _agreement(one: np.ndarray, other: np.ndarray) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(one, other))


def _changes(rng: np.random.Generator, estimator: Any) -> Iterator[tuple[str, bool, Pair]]:
    """What is changed, whether mathematics promises the same partition, and both partitions."""

    def fit(X: Any, **params: Any) -> np.ndarray:
        return _labels(estimator, X, **params)

    def permuted(X):
        order = rng.permutation(len(X))
        back = np.empty(len(X), dtype=int)
        back[order] = fit(X[order])
        return fit(X), back

    yield "samples permuted", True, permuted
    yield "features permuted", True, lambda X: (fit(X), fit(X[:, rng.permutation(X.shape[1])]))
    yield "features mirrored", True, lambda X: (fit(X), fit(-X))
    for power in (-100, -20, -3, 3, 20, 100):
        scale = 10.0**power
        yield f"features times 1e{power}", True, lambda X, s=scale: (fit(X), fit(X * s))
    yield "one thread against two", True, lambda X: (fit(X, n_jobs=1), fit(X, n_jobs=2))
    yield "float32 against float64", True, lambda X: (fit(X), fit(X.astype(np.float32)))
    yield "dense against sparse", True, lambda X: (fit(X), fit(sp.csr_array(X)))
    yield "features moved by 1e6", False, lambda X: (fit(X), fit(X + 1e6))
    yield "another seed", False, lambda X: (fit(X), fit(X, random_state=1))
    argument = "kernel" if hasattr(estimator, "kernel") else "kernels"
    given = {argument: "precomputed"} | ({"normalize": "none"} if argument == "kernel" else {})
    label_free = not hasattr(estimator, "solver")

    def constant(X):
        K = X @ X.T
        K, more = (K, K + 100.0) if argument == "kernel" else ([K, K**2], [K + 100.0, K**2 + 9])
        return fit(K, **given), fit(more, **given)

    # Distances do not change, so the label-free model must not; the paper's objective does.
    yield "a constant added to the kernel", label_free, constant
    if argument == "kernels":

        def duplicated(X):
            K = X @ X.T
            return fit([K, K**2], **given), fit([K, K**2, K, K**2], **given)

        # The paper's weights have roots that sum to one: twins make the sum of kernels smaller.
        yield "every kernel twice", label_free, duplicated
