"""The label-free model for Dask collections."""

from __future__ import annotations

import inspect
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.exceptions import NotFittedError

from unispectral import estimator
from unispectral._alignment import align
from unispectral._compat import as_generator, check_parameters, optional
from unispectral._errors import InputError
from unispectral._run import Run, thread_count
from unispectral.dask import _blocks
from unispectral.dask._neighbourhoods import DaskExecutor
from unispectral.dask._waiting import wait_for, workers_of

if TYPE_CHECKING:
    from distributed import Client

    from unispectral._base import LearnedGraphClustering

#: The parameters of the local estimator, which are all parameters here.
_LOCAL = inspect.signature(estimator.UnifiedSpectralClustering).parameters


class UnifiedSpectralClustering(ClusterMixin, BaseEstimator):
    """:class:`unispectral.UnifiedSpectralClustering` on the workers of a Dask cluster.

    Candidates, their kernels and the codes are computed in blocks on all workers; the sparse
    graph, its eigenvectors and the labels in this process. With the same seed the labels are those
    of the local estimator. No worker leads: of one that is lost only the blocks are computed
    again.

    Parameters
    ----------
    n_clusters : int or "auto"
    client : distributed.Client or None
        None is the current client of this process. A pickled estimator has none.
    landmarks : int or None
        Fit on so many points drawn at random and give every point the label that its code over
        them implies: memory per worker is then that of the landmarks and of one block. None fits
        on all points, whose table this process and every worker must be able to hold.
    **params
        As in :class:`unispectral.UnifiedSpectralClustering`.

    Attributes
    ----------
    labels_ : Dask array of shape (n_samples,)
        In the chunks of X; an ndarray where X is no Dask collection.
    local_ : unispectral.UnifiedSpectralClustering
        The fitted model, usable without the cluster. Its attributes are also attributes here.
    """

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = "auto",
        *,
        client: object = None,
        landmarks: int | None = None,
        **params: Any,
    ) -> None:
        for name in params:
            if name not in _LOCAL:
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}.")
        given = {**params, "n_clusters": n_clusters}
        for name, parameter in _LOCAL.items():
            setattr(self, name, given.get(name, parameter.default))
        self.client = client
        self.landmarks = landmarks

    @property
    def _local(self) -> estimator.UnifiedSpectralClustering:
        """The estimator of one process with the same parameters."""
        return estimator.UnifiedSpectralClustering(
            **{name: getattr(self, name) for name in _LOCAL}
        )

    def __sklearn_clone__(self) -> Self:
        # A client is a connection: a copy of the estimator uses the same one.
        params = clone(self._local).get_params(deep=False)
        return type(self)(client=self.client, landmarks=self.landmarks, **params)

    def __getstate__(self) -> dict[str, Any]:
        # Nor does a connection go into a file; from there, the current client is used.
        return {**super().__getstate__(), "client": None}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getattr__(self, name: str) -> Any:
        # Fitted attributes are those of the local model, labels_ apart.
        if name.endswith("_") and not name.startswith("_") and "local_" in self.__dict__:
            return getattr(self.__dict__["local_"], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit(self, X: object, y: object = None) -> Self:
        """Learn graph, embedding and labels on the cluster.

        Parameters
        ----------
        X : Dask array or frame, a list or mapping of them (views), or anything the local
            estimator takes
        y : ignored

        Returns
        -------
        self
        """
        check_parameters(self._local)
        client = _blocks.as_client(self.client)
        form, views = _read_views(X, client)
        rows = self._landmark_rows(views[0].n_rows)
        tables = [view.gather(client, rows) for view in views]
        model = clone(self._local)
        self.local_ = model._fit_in(form.join(tables), _run_on(client, model))
        distributed_ = _is_distributed(X)
        if rows is not None:  # every point gets the label that its code over the landmarks implies
            labels = _blocks.map_labels(client, self.local_, views, form)
            wait_for(client, optional("distributed", extra="dask").futures_of(labels))
            if distributed_:
                self.labels_ = labels
            else:
                self.labels_ = labels.compute()
        elif distributed_:
            self.labels_ = _blocks.as_dask(self.local_.labels_, views[0].sizes)
        else:
            self.labels_ = self.local_.labels_
        return self

    def update(self, X: object, *, refit: bool | Literal["auto"] = "auto") -> Self:
        """Take further samples in, as the local estimator does; they become chunks of ``labels_``.

        Where all samples are clustered anew, that is done on the cluster.

        Parameters
        ----------
        X : as in ``fit``
        refit : bool or "auto"
            As in :meth:`unispectral.UnifiedSpectralClustering.update`.

        Returns
        -------
        self
        """
        local = self.to_local()
        if len(self.labels_) != len(local.labels_):
            problem = "were drawn, and the model has these alone"
            remedy = "fit without landmarks, or update to_local(), whose samples are the landmarks"
            raise InputError("landmarks", problem, remedy, value=self.landmarks)
        client = _blocks.as_client(self.client)
        form, views = _read_views(X, client)
        tables = [view.gather(client, None) for view in views]
        local._update_in(form.join(tables), refit, _run_on(client, local))
        if _blocks.is_dask(self.labels_):
            sizes = [*self.labels_.chunks[0], *views[0].sizes]
            self.labels_ = _blocks.as_dask(local.labels_, sizes)
        else:
            self.labels_ = local.labels_
        return self

    def fit_predict(self, X: object, y: object = None) -> Any:
        """Fit, and return the labels: a Dask array for Dask collections."""
        return self.fit(X, y).labels_

    def predict(self, X: object) -> Any:
        """The clusters of new points: a Dask array for Dask collections."""
        local = self.to_local()
        if not _is_distributed(X):
            return local.predict(X)
        client = _blocks.as_client(self.client)
        form, views = _read_views(X, client)
        return _blocks.map_labels(client, local, views, form)

    def to_local(self) -> Any:
        """The fitted model as the local estimator, for use without a cluster."""
        if "local_" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit first.")
        return self.local_

    def _landmark_rows(self, n: int) -> np.ndarray | None:
        if self.landmarks is None:
            return None
        if isinstance(self.landmarks, Integral):
            count = int(self.landmarks)
        else:
            count = 0
        if count < 2:
            raise InputError(
                "landmarks", "must be a whole number of at least 2, or None", value=self.landmarks
            )
        if count >= n:
            return None
        rng = as_generator(self.random_state)
        return np.sort(rng.choice(n, count, replace=False))


def _signature() -> inspect.Signature:
    """What the constructor takes, in full: scikit-learn reads the names of parameters off it."""
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in ("client", "landmarks")
    ]
    return inspect.Signature([itself, *_LOCAL.values(), *own])


UnifiedSpectralClustering.__init__.__signature__ = _signature()  # type: ignore[attr-defined]


def _own_jobs(n_jobs: int | None, client: Client) -> int | None:
    """The threads of this process, which works while the workers wait.

    Those of workers on this machine are free then. A cluster that is started here also leaves the
    limit of its workers in the environment of this process.
    """
    local = isinstance(client.cluster, optional("distributed", extra="dask").LocalCluster)
    if n_jobs is not None or not local:
        return n_jobs
    free = sum(known["nthreads"] for known in workers_of(client).values())
    return max(thread_count(), min(free, thread_count(-1)))


def _run_on(client: Client, model: LearnedGraphClustering) -> Run:
    """The run of a model whose large stages are on a cluster."""
    n_jobs = _own_jobs(model.n_jobs, client)
    return Run.of(n_jobs, model.random_state, model.verbose, DaskExecutor(client))


def _is_distributed(X: object) -> bool:
    """Whether X, or its first view, is on a cluster."""
    return _blocks.is_dask(_blocks.Form.split(X)[1][0])


def _read_views(X: object, client: object) -> tuple[_blocks.Form, list[_blocks.Blocks]]:
    """The tables of X in blocks of rows that belong together.

    Frames that are here are brought in one order, those of Dask checked: to bring the rows of a
    Dask frame into another order is a shuffle of the whole table, which is the user's to ask for.
    """
    form, tables = _blocks.Form.split(X)
    if form.several and not any(map(_blocks.is_dask, tables)):
        tables = align(tables)
    elif form.several:
        _check_indexes(tables, form, client)
    return form, [_blocks.as_blocks(table, client) for table in tables]


def _check_indexes(tables: list[Any], form: _blocks.Form, client: Any) -> None:
    frames = [
        at for at, table in enumerate(tables) if hasattr(table, "index") and hasattr(table, "loc")
    ]
    indexes: list[Any] = client.gather(client.compute([tables[at].index for at in frames]))
    for at, index in zip(frames[1:], indexes[1:], strict=True):
        if not indexes[0].equals(index):
            problem = f"is a frame whose index is not that of {form.call(frames[0])}"
            remedy = "sort both by it (set_index), or give .to_dask_array(lengths=True) of each "
            raise InputError(form.call(at), problem, f"{remedy}to match rows by position")
