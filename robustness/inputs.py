"""Hostile input: each case works, or is refused with a sentence that names the argument.

Anything else is a loss: another exception, a crash, a hang, a warning, NaN in what was fitted,
labels that are too few or out of range, an input that was changed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import chain, cycle, islice, zip_longest
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from robustness import _estimators, _hostile
from robustness._drawn import drawn_table
from robustness._pool import add_cases
from robustness._results import Part, Plan, Result

__all__ = ["PARTS", "Case", "cases", "outcome"]

#: Seconds after which a case counts as hung, also on a busy machine.
_LIMIT = 120.0


class Case(NamedTuple):
    """All that is needed to do it again."""

    estimator: str
    family: str
    seed: int

    def __str__(self) -> str:
        return f"estimators: {self.estimator} | {self.family} | {self.seed}"


#: Cases of one part in a short and in a full run.
_COUNTS = (40, 2400)
_N_PARTS = 5


def _run(kind: str, wanted: Iterator[Case], plan: Plan) -> Result:
    """Throw hostile tables and kernels at estimators."""
    result = Result(f"hostile input: {kind}", plan.seed)
    return add_cases(result, outcome, wanted, workers=plan.workers, limit=_LIMIT)


def prepare() -> None:
    """Fit every estimator once, on what has nothing hostile, so that all is compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in _estimators.ON_TABLES:
            for container in ("float64", "float32", "csr", "csr float32"):
                outcome(Case(name, f"blobs/{container}", 0))
        for name in _estimators.ON_KERNELS:
            outcome(Case(name, "gram/one/float64", 0))
            outcome(Case(name, "gram/a list/float64", 0))


def _share(number: int) -> Part:
    """One of several parts that go through the cases of the seed one after another."""

    def part(plan: Plan) -> Result:
        count = plan.pick(*_COUNTS)
        wanted = islice(cases(plan.seed), number * count, (number + 1) * count)
        return _run("estimators", wanted, plan)

    return part


def _by_hypothesis(plan: Plan) -> Result:
    wanted = islice(drawn_cases(plan.seed), plan.pick(40, 1500))
    return _run("tables drawn by hypothesis", wanted, plan)


def _on_dask(plan: Plan) -> Result:
    wanted = islice(dask_cases(plan.seed), plan.pick(20, 500))
    return _run("estimators on Dask", wanted, plan)


PARTS: dict[str, Part] = {
    **{f"{number}": _share(number) for number in range(_N_PARTS)},
    "hypothesis": _by_hypothesis,
    "dask": _on_dask,
}


def drawn_cases(seed: int) -> Iterator[Case]:
    """Endless tables of hypothesis, for every estimator in turn."""
    rng = np.random.default_rng([seed, 2])
    for name in cycle(_estimators.ON_TABLES):
        yield Case(name, "hypothesis", int(rng.integers(2**31)))


def dask_cases(seed: int) -> Iterator[Case]:
    """Endless tables for the estimators on Dask: in turn, all plain families first."""
    rng = np.random.default_rng([seed, 3])
    first = _plain_tables()
    for number, name in enumerate(cycle(_estimators.ON_DASK)):
        if number < len(first):
            yield Case(name, first[number], seed)
        else:
            family = f"{_choice(rng, _hostile.CONTENTS)}/{_choice(rng, _hostile.CONTAINERS)}"
            yield Case(name, family, int(rng.integers(2**31)))


def _plain_tables() -> list[str]:
    plain = [f"{content}/float64" for content in _hostile.CONTENTS]
    plain += [f"blobs/{container}" for container in _hostile.CONTAINERS]
    return plain + list(_hostile.ODDITIES)


def _choice(rng: np.random.Generator, table: dict) -> str:
    return list(table)[rng.integers(len(table))]


def cases(seed: int) -> Iterator[Case]:
    """Endless cases: all plain families first, then combinations drawn at random."""
    rng = np.random.default_rng(seed)
    plain = _plain_tables()
    kernels = [f"{content}/one/float64" for content in _hostile.KERNELS]
    kernels += [f"gram/{wrap}/float64" for wrap in _hostile.WRAPS]
    first = [Case(name, family, seed) for family in plain for name in _estimators.ON_TABLES]
    then = [Case(name, family, seed) for family in kernels for name in _estimators.ON_KERNELS]
    pairs = zip_longest(rng.permutation(len(first)), rng.permutation(len(then)))
    for i, j in pairs:
        if i is not None:
            yield first[i]
        if j is not None:
            yield then[j]
    yield from chain.from_iterable(_drawn(rng) for _ in iter(int, 1))


def _drawn(rng: np.random.Generator) -> Iterator[Case]:
    choice = partial(_choice, rng)
    for _ in range(2):
        family = f"{choice(_hostile.CONTENTS)}/{choice(_hostile.CONTAINERS)}"
        if family.startswith("100,000") and rng.random() < 0.8:
            continue  # a few of the slow ones are enough
        yield Case(choice(_estimators.ON_TABLES), family, int(rng.integers(2**31)))
    family = "/".join(map(choice, (_hostile.KERNELS, _hostile.WRAPS, _hostile.CONTAINERS)))
    yield Case(choice(_estimators.ON_KERNELS), family, int(rng.integers(2**31)))


def outcome(case: Case) -> tuple[str, str]:
    """Do one case: works, refused, lost or impossible, and what was said."""
    try:
        X = _input(case)
    except Exception as error:  # there is no such monster: a frame of four axes, say
        return "impossible", str(error)
    rng = np.random.default_rng([case.seed, 1])
    estimator = _estimators.make(case.estimator, int(rng.integers(2, 5)))
    before = fingerprint(X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _try(estimator, X, _n_samples(X))
    if fingerprint(X) != before:
        return "failed", "the input was changed"
    unwanted = [w for w in caught if not _tolerated(w, estimator)]
    if unwanted and found[0] == "works":
        where = f"{unwanted[0].filename.rpartition('/')[2]}:{unwanted[0].lineno}"
        return "failed", f"{unwanted[0].category.__name__} at {where}: {unwanted[0].message}"
    return found


def _input(case: Case) -> Any:
    rng = np.random.default_rng([case.seed, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # making a monster may itself warn
        if case.family == "hypothesis":
            return drawn_table(case.seed)
        if case.estimator not in _estimators.ON_KERNELS:
            return _hostile.make_table(case.family, rng)
        return _hostile.make_kernel(case.family, rng)


def _tolerated(warning: warnings.WarningMessage, estimator: Any) -> bool:
    """A fit may say how far it came, what speaks against its result or against an argument."""
    from sklearn.exceptions import ConvergenceWarning

    from unispectral import DoubtfulResultWarning

    if issubclass(warning.category, (ConvergenceWarning, DoubtfulResultWarning)):
        return True
    if issubclass(warning.category, UserWarning):
        return names_argument(str(warning.message), estimator)
    # Of other packages about frames and formats that the user chose.
    return issubclass(warning.category, (DeprecationWarning, FutureWarning, ResourceWarning))


def _try(estimator: Any, X: Any, n_samples: int | None) -> tuple[str, str]:
    try:
        estimator.fit(X)
    except (ValueError, TypeError) as error:
        named = names_argument(str(error), estimator)
        return ("refused", str(error)) if named else ("failed", f"names no argument: {error!r}")
    except MemoryError as error:
        return "refused", str(error)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    wrong = faults(estimator, n_samples)
    if wrong:
        return "failed", wrong
    if hasattr(estimator, "predict"):
        try:
            again = estimator.predict(X)
        except Exception as error:
            return "failed", f"predict on the training samples: {error!r}"
        if len(again) != len(estimator.labels_) or (again < 0).any():
            return "failed", "predict on the training samples gave other labels"
    return "works", ""


def names_argument(sentence: str, estimator: Any) -> bool:
    """Whether a sentence says which argument it is about."""
    parameters = (name.rpartition("__")[2] for name in estimator.get_params())  # of steps as well
    known = {"X", "view", "n_samples", *parameters}
    return any(re.search(rf"\b{re.escape(name)}\b", sentence) for name in known)


def faults(estimator: Any, n_samples: int | None) -> str:
    """What is wrong with a fitted estimator, if anything."""
    labels = estimator.labels_
    if n_samples is not None and len(labels) != n_samples:
        return f"{len(labels)} labels for {n_samples} samples"
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= estimator.n_clusters:
        return f"labels {np.unique(labels)} for n_clusters={estimator.n_clusters}"
    if hasattr(estimator, "n_clusters_") and len(np.unique(labels)) != estimator.n_clusters_:
        return f"{len(np.unique(labels))} labels used for n_clusters_={estimator.n_clusters_}"
    for name, value in vars(estimator).items():
        if name.endswith("_") and not name.startswith("_") and not _finite(value):
            return f"{name} is not finite"
    return ""


def _finite(value: Any) -> bool:
    if sp.issparse(value):
        return bool(np.isfinite(value.data).all())
    if isinstance(value, dict):
        return all(_finite(one) for one in value.values())
    if isinstance(value, (list, tuple)):
        return all(_finite(one) for one in value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return bool(np.isfinite(value).all())
    return not isinstance(value, float) or bool(np.isfinite(value))


def fingerprint(X: Any) -> Any:
    """What must be the same before and after."""
    if isinstance(X, np.ndarray):
        if X.dtype.hasobject:
            return repr(X.tolist())
        content = np.ma.getdata(X).tobytes() + np.ma.getmaskarray(X).tobytes()
        return X.shape, X.strides, str(X.dtype), content, X.flags.writeable
    if sp.issparse(X):
        parts = ("data", "indices", "indptr", "row", "col", "offsets", "rows")
        held = [np.asarray(getattr(X, part)) for part in parts if hasattr(X, part)]
        values = [repr(a.tolist()) if a.dtype.hasobject else a.tobytes() for a in held]
        return X.shape, X.format, values, repr(X) if X.format == "dok" else ""
    if isinstance(X, (list, tuple)):
        return [fingerprint(one) for one in X]
    if isinstance(X, dict):
        return [(name, fingerprint(one)) for name, one in X.items()]
    if hasattr(X, "to_numpy") and hasattr(X, "columns"):
        return list(X.columns), str(X.dtypes), repr(X.to_numpy().tolist())
    return repr(X)


def _n_samples(X: Any) -> int | None:
    """How many labels a fit has to give, where that is beyond doubt."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return X.shape[0] if len(X.shape) == 2 else X.shape[1] if len(X.shape) == 3 else None
    return X.shape[0] if hasattr(X, "columns") else None
