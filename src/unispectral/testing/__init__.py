"""What every clusterer of this library passes, for those of others: `check_clusterer`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from unispectral._errors import InputError

__all__ = ["check_clusterer", "check_new_points", "clusterer_checks"]

#: Clusters of the samples that the checks use, and samples of each.
_CLUSTERS, _EACH = 3, 20
#: Methods that speak of new points.
_NEW_POINTS = ("predict", "predict_proba", "score_samples", "transform")


def check_clusterer(
    estimator: Any, *, views: bool = False, exclude: Iterable[str] = ()
) -> list[str]:
    """Check that a clusterer keeps the promises that those of this library keep.

    The samples of the checks lie in three clusters far apart, so that every reasonable method
    finds them and whatever changes the result is a fault. scikit-learn's own
    :func:`~sklearn.utils.estimator_checks.check_estimator` looks at interfaces; this function
    looks at results, and goes well with it.

    Parameters
    ----------
    estimator : clusterer
        On tables, with ``fit`` and ``labels_``. It is cloned, given ``n_clusters=3`` if it has a
        number there, and ``random_state=0`` if it has one.
    views : bool
        Whether ``fit`` also takes a list or a mapping of tables.
    exclude : iterable of str
        Checks to leave out:

        ``parameters``
            ``fit`` returns the estimator, changes no parameter, and a clone has the same ones.
        ``labels``
            One integer for each sample, from 0 on without a gap, the same from ``fit_predict``.
        ``clusters``
            The three clusters are found.
        ``count``
            As many clusters as asked for, also where the samples suggest another number.
        ``seed``
            The same seed gives the same labels, and NumPy's global generator is left alone.
        ``order``
            Rows in another order get the same clusters.
        ``copies``
            Every row twice: both get the same label, and the clusters do not change.
        ``unit``
            A thousand times the numbers, or a thousandth, the same clusters.
        ``threads``
            One thread or two, the same labels.
        ``input``
            The table is not written to, and may be read-only.
        ``sparse``
            If its tags say that it takes sparse tables: they give the same clusters.
        ``refusals``
            Missing and infinite values, text, one dimension, nothing, and more clusters than
            samples are refused by a ValueError or TypeError, and nothing is fitted.
        ``new points``
            If it has ``predict``: see :func:`check_new_points`.
        ``views``
            Tables by name, as a list or in another order get the same clusters.

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
    >>> from sklearn.cluster import KMeans
    >>> len(check_clusterer(KMeans(n_init=3)))
    13
    >>> from sklearn.cluster import DBSCAN
    >>> check_clusterer(DBSCAN(eps=2.5), exclude=["labels"])
    Traceback (most recent call last):
    ...
    AssertionError: DBSCAN(eps=2.5) fails 1 of 10 checks:
    - unit: with 1000 times the numbers the clusters are others (adjusted Rand index 0.00)
    """
    made, failed = [], []
    for name, check in clusterer_checks(estimator, views=views, exclude=exclude):
        made.append(name)
        try:
            check()
        except AssertionError as error:
            failed.append(f"- {name}: {error}")
        except Exception as error:  # the clusterer's own, whatever it is
            failed.append(f"- {name}: {type(error).__name__}: {error}")
    if failed:
        lines = "\n".join(failed)
        raise AssertionError(f"{estimator} fails {len(failed)} of {len(made)} checks:\n{lines}")
    return made


def clusterer_checks(
    estimator: Any, *, views: bool = False, exclude: Iterable[str] = ()
) -> Iterator[tuple[str, Callable[[], None]]]:
    """The checks of :func:`check_clusterer` that apply, with their names, to call one by one.

    Parameters and names are those of :func:`check_clusterer`.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> [name for name, check in clusterer_checks(KMeans())][:3]
    ['parameters', 'labels', 'clusters']
    """
    exclude = set(exclude)
    if unknown := exclude - set(_CHECKS):
        raise InputError(
            "exclude",
            f"names {', '.join(map(repr, sorted(unknown)))}",
            f"the checks are {', '.join(_CHECKS)}",
        )
    if get_tags(estimator).input_tags.pairwise:
        raise InputError("estimator", "takes a matrix of pairs", "give it in a form for tables")
    for name, (applies, check) in _CHECKS.items():
        if name not in exclude and (views if name == "views" else applies(estimator)):
            yield name, _bound(check, estimator)


def check_new_points(model: Any, points: Any) -> None:
    """Check that what a fitted model says of a point does not depend on the others of the call.

    Points one by one, every second one, in another order and twice; by ``predict`` and, where
    there are, ``predict_proba``, ``score_samples`` and ``transform``.

    Parameters
    ----------
    model : fitted clusterer
    points : ndarray of shape (n, n_features)

    Raises
    ------
    AssertionError

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> check_new_points(KMeans(2, n_init=1, random_state=0).fit(X), X + 0.1)
    """
    n = len(points)
    whole = _answers(model, points)
    order = np.random.default_rng(1).permutation(n)
    groups = [np.array([i]) for i in range(n)]
    for rows in (*groups, np.arange(0, n, 2), order, np.repeat(np.arange(n), 2)):
        for name, found in _answers(model, points[rows]).items():
            wanted = whole[name][rows]
            if found.dtype.kind in "iu":
                same = np.array_equal(found, wanted)
            else:
                same = np.allclose(found, wanted, rtol=1e-7, atol=1e-9)
            _require(same, f"{name} says something else of points alone than of all {n} together")


def _require(held: bool, otherwise: str) -> None:
    """An assertion that also holds where Python leaves assertions out."""
    if not held:
        raise AssertionError(otherwise)


def _answers(model: Any, points: Any) -> dict[str, np.ndarray]:
    return {
        name: np.asarray(getattr(model, name)(points))
        for name in _NEW_POINTS
        if hasattr(model, name)
    }


def _samples() -> np.ndarray:
    """Three round clusters far apart."""
    rng = np.random.default_rng(0)
    centres = 10.0 * np.eye(4)[:_CLUSTERS]
    return rng.permutation(np.repeat(centres, _EACH, axis=0) + rng.normal(size=(60, 4)))


def _bound(check: Callable[..., None], estimator: Any) -> Callable[[], None]:
    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence, and of results that are doubtful
            check(_ready(estimator))

    return run


def _ready(estimator: Any, **more: Any) -> Any:
    """A clone with the number of clusters and the seed of the checks, where it has them."""
    given = estimator.get_params(deep=False)
    wanted: dict[str, Any] = {"random_state": 0} if "random_state" in given else {}
    if isinstance(given.get("n_clusters"), (int, np.integer)):
        wanted["n_clusters"] = _CLUSTERS
    return clone(estimator).set_params(**{**wanted, **more})


def _labels(estimator: Any, X: Any) -> np.ndarray:
    return np.asarray(clone(estimator).fit(X).labels_)


def _same_clusters(found: np.ndarray, wanted: np.ndarray, what: str) -> None:
    agreement = adjusted_rand_score(wanted, found)
    problem = f"{what} the clusters are others (adjusted Rand index {agreement:.2f})"
    _require(agreement == 1.0, problem)


def _parameters(estimator: Any) -> None:
    before = {name: repr(value) for name, value in estimator.get_params().items()}
    copied = {name: repr(value) for name, value in clone(estimator).get_params().items()}
    _require(before == copied, "a clone has other parameters")
    _require(estimator.fit(_samples()) is estimator, "fit does not return the estimator")
    after = {name: repr(value) for name, value in estimator.get_params().items()}
    changed = sorted(name for name in before if before[name] != after[name])
    _require(not changed, f"fit changes the parameter {', '.join(changed)}")


def _label_form(estimator: Any) -> None:
    X = _samples()
    labels = np.asarray(estimator.fit(X).labels_)
    _require(labels.shape == (len(X),), f"labels_ has shape {labels.shape} for {len(X)} samples")
    _require(labels.dtype.kind in "iu", f"labels_ is of {labels.dtype}, not integers")
    used = np.unique(labels)
    _require(
        np.array_equal(used, np.arange(len(used))), f"labels_ are {used.tolist()}, not from 0 on"
    )
    if hasattr(estimator, "fit_predict"):
        again = clone(estimator).fit_predict(X)
        _require(np.array_equal(again, labels), "fit_predict and labels_ differ")


def _clusters(estimator: Any) -> None:
    X = _samples()
    _same_clusters(_labels(estimator, X), np.argmax(X, axis=1), "of three clear clusters")


def _has_count(estimator: Any) -> bool:
    return isinstance(estimator.get_params(deep=False).get("n_clusters"), (int, np.integer))


def _count(estimator: Any) -> None:
    for asked in (2, 3, 5):
        found = len(np.unique(_labels(estimator.set_params(n_clusters=asked), _samples())))
        _require(found == asked, f"n_clusters={asked} gives {found} clusters")


def _seed(estimator: Any) -> None:
    first, second = (_labels(estimator, _samples()) for _ in range(2))
    _require(np.array_equal(first, second), "the same seed gives other labels")
    # The generator that everybody shares, in a state that nobody would choose, and back.
    kept = np.random.get_state()  # noqa: NPY002
    untouched: Any = np.random.RandomState(271_828_182).get_state()
    np.random.set_state(untouched)  # noqa: NPY002
    try:
        _labels(estimator, _samples())
        state: Any = np.random.get_state()  # noqa: NPY002
    finally:
        np.random.set_state(kept)  # noqa: NPY002
    same = np.array_equal(state[1], untouched[1]) and state[2] == untouched[2]
    _require(same, "NumPy's global generator is used or seeded")


def _order(estimator: Any) -> None:
    X = _samples()
    order = np.random.default_rng(2).permutation(len(X))
    _same_clusters(_labels(estimator, X[order]), _labels(estimator, X)[order], "in another order")


def _copies(estimator: Any) -> None:
    X = _samples()
    twice = _labels(estimator, np.vstack([X, X]))
    first, second = np.split(twice, 2)
    _require(np.array_equal(first, second), "two copies of a row get different labels")
    _same_clusters(twice[: len(X)], _labels(estimator, X), "with every row twice")


def _unit(estimator: Any) -> None:
    X = _samples()
    for unit in (1000.0, 0.001):
        _same_clusters(
            _labels(estimator, unit * X), _labels(estimator, X), f"with {unit:g} times the numbers"
        )


def _threads(estimator: Any) -> None:
    jobs = "n_jobs" in estimator.get_params(deep=False)
    found = []
    for count in (1, 2):
        with threadpool_limits(count):
            model = estimator.set_params(n_jobs=count) if jobs else estimator
            found.append(_labels(model, _samples()))
    _require(np.array_equal(found[0], found[1]), "two threads give other labels than one")


def _input(estimator: Any) -> None:
    X = _samples()
    before = X.copy()
    _labels(estimator, X)
    _require(np.array_equal(X, before), "fit writes to the table")
    X.flags.writeable = False
    _labels(estimator, X)


def _sparse(estimator: Any) -> None:
    X = np.where(np.abs(_samples()) < 0.5, 0.0, _samples())
    found = _labels(estimator, sp.csr_array(X))
    _same_clusters(found, _labels(estimator, X), "of a sparse table")


def _refusals(estimator: Any) -> None:
    X = _samples()
    missing, infinite = X.copy(), X.copy()
    missing[3, 1], infinite[3, 1] = np.nan, np.inf
    bad = {
        "a missing value": missing,
        "an infinite value": infinite,
        "text": [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]],
        "one dimension": X[:, 0],
        "no samples": X[:0],
    }
    if _has_count(estimator):
        bad["fewer samples than clusters"] = X[:2]
    for what, table in bad.items():
        model = clone(estimator)
        try:
            model.fit(table)
        except (ValueError, TypeError):
            pass
        else:
            raise AssertionError(f"{what} is not refused")
        _require(not hasattr(model, "labels_"), f"{what} is refused, but labels_ is set")


def _new_points(estimator: Any) -> None:
    X = _samples()
    new = X[::2] + 0.1
    check_new_points(estimator.fit(X), np.vstack([new, X[:5]]))
    _same_clusters(np.asarray(estimator.predict(X)), estimator.labels_, "of the training samples")


def _views(estimator: Any) -> None:
    X = _samples()
    one, other = X, 2.0 * X[:, ::-1]
    listed = _labels(estimator, [one, other])
    _same_clusters(listed, np.argmax(X, axis=1), "of two views")
    _same_clusters(_labels(estimator, {"a": one, "b": other}), listed, "of views by name")
    _same_clusters(_labels(estimator, [other, one]), listed, "of views in another order")


def _always(estimator: Any) -> bool:
    return True


def _takes_sparse(estimator: Any) -> bool:
    return bool(get_tags(estimator).input_tags.sparse)


def _predicts(estimator: Any) -> bool:
    return inspect.isroutine(getattr(type(estimator), "predict", None))


_CHECKS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], None]]] = {
    "parameters": (_always, _parameters),
    "labels": (_always, _label_form),
    "clusters": (_always, _clusters),
    "count": (_has_count, _count),
    "seed": (_always, _seed),
    "order": (_always, _order),
    "copies": (_always, _copies),
    "unit": (_always, _unit),
    "threads": (_always, _threads),
    "input": (_always, _input),
    "sparse": (_takes_sparse, _sparse),
    "refusals": (_always, _refusals),
    "new points": (_predicts, _new_points),
    "views": (_always, _views),
}
