"""What every clusterer of this library passes, for those of others: `check_clusterer`.

And what none can pass of scikit-learn's own checks: `expected_failed_checks`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from unispectral._errors import InputError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["check_clusterer", "expected_failed_checks"]

#: Clusters of the samples that the checks use, and samples of each.
_CLUSTERS = 3
_EACH = 20
#: Methods that speak of new points.
_NEW_POINTS = ("predict", "predict_proba", "score_samples", "transform")


#: Checks of scikit-learn that take an estimator for what it is not.
_TAKEN_FOR_A_CLASSIFIER = (
    "whoever takes sparse tables and has predict_proba is asked for the probabilities of four "
    "classes, also a clusterer"
)
_NAMED_BY_ROWS = (
    "the numbers of clusters are compared between rows in two orders, and a cluster is numbered "
    "by its first row"
)
_COPIED_CLIENT = "parameters are copied, and a client of Dask, a connection, cannot be"


def expected_failed_checks(estimator: object) -> dict[str, str]:
    """The checks of scikit-learn that an estimator of this library cannot pass, and why.

    For the argument of that name of :func:`~sklearn.utils.estimator_checks.check_estimator` and
    :func:`~sklearn.utils.estimator_checks.parametrize_with_checks`. All other checks pass.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    dict
        From the name of a check to the reason.

    Examples
    --------
    >>> from unispectral import UnifiedSpectralClustering
    >>> sorted(expected_failed_checks(UnifiedSpectralClustering(3)))
    ['check_estimator_sparse_array', 'check_estimator_sparse_matrix',
     'check_sample_weight_equivalence_on_dense_data',
     'check_sample_weight_equivalence_on_sparse_data']
    """
    expected = {}
    if get_tags(estimator).input_tags.sparse and hasattr(estimator, "predict_proba"):
        for kind in ("array", "matrix"):
            expected[f"check_estimator_sparse_{kind}"] = _TAKEN_FOR_A_CLASSIFIER
    if get_tags(estimator).estimator_type == "clusterer" and _takes_weights(estimator):
        for kind in ("dense", "sparse"):
            expected[f"check_sample_weight_equivalence_on_{kind}_data"] = _NAMED_BY_ROWS
    if getattr(estimator, "client", None) is not None:
        for name in ("check_estimators_overwrite_params", "check_set_params"):
            expected[name] = _COPIED_CLIENT
    return expected


def check_clusterer(
    estimator: object, *, views: bool = False, exclude: Iterable[str] = ()
) -> list[str]:
    """Check that a clusterer keeps the promises that those of this library keep.

    The samples of the checks lie in three clusters far apart, so that every reasonable method
    finds them and whatever changes the result is a fault. Parameters, interfaces, the form of the
    labels and the refusal of bad tables are looked at by scikit-learn's own
    :func:`~sklearn.utils.estimator_checks.check_estimator`, with which this function goes well.

    Parameters
    ----------
    estimator : clusterer
        On tables, with ``fit`` and ``labels_``. It is cloned, given ``n_clusters=3`` if it has a
        number there, and ``random_state=0`` if it has one.
    views : bool
        Whether ``fit`` also takes a list or a mapping of tables.
    exclude : iterable of str
        Checks to leave out:

        - ``clusters``: the three clusters are found.
        - ``count``: as many clusters as asked for, also where the samples suggest otherwise.
        - ``seed``: it decides the labels, and NumPy's global generator is left alone.
        - ``order``, ``copies``, ``unit``, ``sparse``: the same clusters with rows in another
          order, with every row twice, with a thousand times the numbers or a thousandth, and of
          a sparse table if its tags say that it takes them.
        - ``threads``: one thread or two, the same labels.
        - ``input``: the table is not written to, and may be read-only.
        - ``new points``: what it says of a point, by ``predict`` and, where there are,
          ``predict_proba``, ``score_samples`` and ``transform``, does not depend on the others.
        - ``views``: tables by name, as a list or in another order get the same clusters.

    Returns
    -------
    list of str
        The checks that were made.

    Raises
    ------
    AssertionError
        With one line for each check that failed.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN, KMeans
    >>> len(check_clusterer(KMeans(n_init=3)))
    10
    >>> check_clusterer(DBSCAN(eps=2.5))
    Traceback (most recent call last):
    ...
    AssertionError: DBSCAN(eps=2.5) fails 1 of 8 checks:
    - unit: with 1000 times the numbers the clusters differ (adjusted Rand index 0.00)
    """
    exclude = set(exclude)
    if unknown := exclude - set(_CHECKS):
        names = ", ".join(map(repr, sorted(unknown)))
        raise InputError("exclude", f"names {names}", f"the checks are {', '.join(_CHECKS)}")
    tags = get_tags(estimator).input_tags
    if tags.pairwise:
        raise InputError("estimator", "takes a matrix of pairs", "give it in a form for tables")
    applies = {
        "count": _has_count(estimator),
        "sparse": tags.sparse,
        "new points": inspect.isroutine(getattr(type(estimator), "predict", None)),
        "views": views,
    }
    made = [name for name in _CHECKS if name not in exclude and applies.get(name, True)]
    failed = []
    for name in made:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of convergence, and of doubtful results
                _CHECKS[name](_ready(estimator), _samples())
        except AssertionError as error:
            failed.append(f"- {name}: {error}")
        except Exception as error:  # the clusterer's own, whatever it is
            failed.append(f"- {name}: {type(error).__name__}: {error}")
    if failed:
        lines = "\n".join(failed)
        raise AssertionError(f"{estimator} fails {len(failed)} of {len(made)} checks:\n{lines}")
    return made


def same_alone(model: object, points: np.ndarray) -> None:
    """Require that what a fitted model says of a point does not depend on the others of the call.

    Points one by one, every second one, in another order and twice.
    """
    everyone = np.arange(len(points))
    order = np.random.default_rng(1).permutation(everyone)
    groups = [*everyone[:, None], everyone[::2], order, np.repeat(everyone, 2)]
    for name in (name for name in _NEW_POINTS if hasattr(model, name)):
        say = getattr(model, name)
        whole = np.asarray(say(points))
        for rows in groups:
            found = np.asarray(say(points[rows]))
            if found.dtype.kind in "iu":
                same = np.array_equal(found, whole[rows])
            else:
                same = np.allclose(found, whole[rows], rtol=1e-7, atol=1e-9)
            problem = f"says something else of points alone than of all {len(points)} together"
            _require(same, f"{name} {problem}")


def _takes_weights(estimator: BaseEstimator) -> bool:
    return "sample_weight" in inspect.signature(estimator.fit).parameters


def _require(held: bool, otherwise: str) -> None:
    """An assertion that also holds where Python leaves assertions out."""
    if not held:
        raise AssertionError(otherwise)


def _samples() -> np.ndarray:
    """Three round clusters far apart."""
    rng = np.random.default_rng(0)
    centres = 10.0 * np.eye(4)[:_CLUSTERS]
    return rng.permutation(np.repeat(centres, _EACH, axis=0) + rng.normal(size=(60, 4)))


def _has_count(estimator: BaseEstimator) -> bool:
    given = estimator.get_params(deep=False).get("n_clusters")
    return isinstance(given, (int, np.integer)) or given == "auto"


def _ready(estimator: BaseEstimator) -> Any:
    """A clone with the number of clusters and the seed of the checks, where it has them."""
    if "random_state" in estimator.get_params(deep=False):
        wanted = {"random_state": 0}
    else:
        wanted = {}
    if _has_count(estimator):
        wanted["n_clusters"] = _CLUSTERS
    return clone(estimator).set_params(**wanted)


def _labels(estimator: object, X: object) -> np.ndarray:
    return np.asarray(clone(estimator).fit(X).labels_)


def _same_clusters(found: np.ndarray, wanted: np.ndarray, what: str) -> None:
    agreement = adjusted_rand_score(wanted, found)
    problem = f"{what} (adjusted Rand index {agreement:.2f})"
    _require(agreement == 1.0, problem)


def _clusters(estimator: object, X: np.ndarray) -> None:
    _same_clusters(
        _labels(estimator, X), np.argmax(X, axis=1), "three clear clusters are not found"
    )


def _count(estimator: BaseEstimator, X: np.ndarray) -> None:
    for asked in (2, 3, 5):
        found = len(np.unique(_labels(estimator.set_params(n_clusters=asked), X)))
        _require(found == asked, f"n_clusters={asked} gives {found} clusters")


def _seed(estimator: object, X: np.ndarray) -> None:
    same = np.array_equal(_labels(estimator, X), _labels(estimator, X))
    _require(same, "the same seed gives other labels")
    # The generator that everybody shares, in a state that nobody would choose, and back.
    kept = np.random.get_state()  # noqa: NPY002
    untouched: Any = np.random.RandomState(271_828_182).get_state()
    np.random.set_state(untouched)  # noqa: NPY002
    try:
        _labels(estimator, X)
        state: Any = np.random.get_state()  # noqa: NPY002
    finally:
        np.random.set_state(kept)  # noqa: NPY002
    same = np.array_equal(state[1], untouched[1]) and state[2] == untouched[2]
    _require(same, "NumPy's global generator is used or seeded")


def _order(estimator: object, X: np.ndarray) -> None:
    order = np.random.default_rng(2).permutation(len(X))
    _same_clusters(
        _labels(estimator, X[order]),
        _labels(estimator, X)[order],
        "in another order the clusters differ",
    )


def _copies(estimator: object, X: np.ndarray) -> None:
    found = _labels(estimator, np.vstack([X, X]))
    _same_clusters(
        found, np.tile(_labels(estimator, X), 2), "with every row twice the clusters differ"
    )


def _unit(estimator: object, X: np.ndarray) -> None:
    wanted = _labels(estimator, X)
    for unit in (1000.0, 0.001):
        _same_clusters(
            _labels(estimator, unit * X),
            wanted,
            f"with {unit:g} times the numbers the clusters differ",
        )


def _sparse(estimator: object, X: np.ndarray) -> None:
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    _same_clusters(
        _labels(estimator, sp.csr_array(X)),
        _labels(estimator, X),
        "a sparse table has other clusters than a dense one",
    )


def _threads(estimator: BaseEstimator, X: np.ndarray) -> None:
    found = []
    for count in (1, 2):
        if "n_jobs" in estimator.get_params(deep=False):
            estimator.set_params(n_jobs=count)
        with threadpool_limits(count):
            found.append(_labels(estimator, X))
    _require(np.array_equal(found[0], found[1]), "two threads give other labels than one")


def _input(estimator: object, X: np.ndarray) -> None:
    before = X.copy()
    _labels(estimator, X)
    _require(np.array_equal(X, before), "fit writes to the table")
    X.flags.writeable = False
    _labels(estimator, X)


def _new_points(estimator: BaseEstimator, X: np.ndarray) -> None:
    same_alone(estimator.fit(X), np.vstack([X[::2] + 0.1, X[:5]]))
    _same_clusters(
        np.asarray(estimator.predict(X)),
        estimator.labels_,
        "predict gives the training samples other clusters than fit",
    )


def _views(estimator: object, X: np.ndarray) -> None:
    other = 2.0 * X[:, ::-1]
    listed = _labels(estimator, [X, other])
    _same_clusters(listed, np.argmax(X, axis=1), "clear clusters of two views are not found")
    _same_clusters(
        _labels(estimator, {"a": X, "b": other}),
        listed,
        "views by name have other clusters than a list of them",
    )
    _same_clusters(
        _labels(estimator, [other, X]), listed, "with views in another order the clusters differ"
    )


_CHECKS: dict[str, Callable[[Any, np.ndarray], None]] = {
    check.__name__.removeprefix("_").replace("_", " "): check
    for check in (
        *(_clusters, _count, _seed, _order, _copies, _unit),
        *(_sparse, _threads, _input, _new_points, _views),
    )
}
