"""The two models as scikit-learn estimators: parameters, validation, wiring, fitted attributes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from unispectral import _fitting
from unispectral._compat import Interval, StrOptions, as_generator, fit_context
from unispectral._defaults import resolve
from unispectral._progress import Progress
from unispectral._repr import FittedSummaryMixin
from unispectral._threads import threads
from unispectral._validation import check_cluster_count
from unispectral.labels import assign, fill_empty, memberships, order_of_appearance
from unispectral.spectrum import affinity

__all__ = ["SCMK", "SCSK"]

_AUTO = StrOptions({"auto"})
_AT_LEAST_ZERO = Interval(Real, 0, None, closed="left")
_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")


class _LearnedGraphClustering(FittedSummaryMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """What SCSK and SCMK share: everything but the number of kernels."""

    _parameter_constraints: dict[str, list] = {
        "n_clusters": [_AT_LEAST_ONE, _AUTO],
        "max_clusters": [Interval(Integral, 2, None, closed="left")],
        "model": [StrOptions({"adaptive", "paper"})],
        "normalize": [str, tuple, list, None],
        "alpha": [_AT_LEAST_ZERO, _AUTO],
        "beta": [_AT_LEAST_ZERO, _AUTO],
        "gamma": [_AT_LEAST_ZERO, _AUTO],
        "ridge": [_AT_LEAST_ZERO, _AUTO],
        "n_neighbors": [_AT_LEAST_ONE, _AUTO],
        "whiten": [list, tuple, _AUTO, None],
        "solver": [StrOptions({"auto", "exact", "local", "alm"})],
        "max_iter": [_AT_LEAST_ONE, _AUTO],
        "tol": [_AT_LEAST_ZERO, _AUTO],
        "n_init": [_AT_LEAST_ONE],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
    }

    # The kernels of the estimator, under the name of its own parameter.
    _kernels: Any
    _kernel_argument: str

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None):
        """Learn graph, embedding and labels.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Or several views, or precomputed kernels; see the class.
        y : ignored
            Here for scikit-learn's sake.

        Returns
        -------
        self
        """
        settings = resolve(self)
        progress = Progress(self.verbose)
        rng = as_generator(self.random_state)
        with threads(self.n_jobs):
            samples = _fitting.read(self, X, self._kernels, self._kernel_argument)
            if self.n_clusters != "auto":
                check_cluster_count(self.n_clusters, samples.n_samples)
            fitted = _fitting.fit(self, samples, settings, rng, progress)
        progress.close()
        self._store(samples, fitted)
        return self

    def _store(self, samples: _fitting.Samples, fitted: _fitting.Fitted) -> None:
        solution = fitted.solution
        labels = fill_empty(solution.P @ solution.Q, solution.labels)
        order = order_of_appearance(labels)
        rotation = solution.Q[:, order]
        scores = solution.P @ rotation
        self.labels_ = np.argsort(order)[labels].astype(np.int32)
        self.n_clusters_ = solution.Q.shape[0]
        self.graph_ = solution.Z
        self.affinity_matrix_ = affinity(solution.Z)
        self.embedding_ = solution.P
        self.rotation_ = rotation
        self.membership_ = memberships(scores)
        self.outlier_score_ = fitted.outlier_score
        self.kernel_weights_ = fitted.kernel_weights
        self.kernel_names_ = fitted.kernel_names
        self.geometry_weights_ = fitted.geometry_weights
        self.objective_ = np.asarray(solution.objective)
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.converged
        self.stop_reason_ = solution.reason
        self.kkt_residual_ = solution.kkt
        self.eigenvalues_ = solution.eigenvalues
        self.cluster_evidence_ = fitted.evidence
        self._samples_ = samples
        self._sources_ = fitted.sources
        if not solution.converged:
            warnings.warn(
                f"The fit stopped because {solution.reason}; the residual of the optimality "
                f"conditions is {solution.kkt:.2g}. Raise max_iter, max_time or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the embedding of the training points."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """The embedding of new points: the weighted mean of those of their neighbours.

        Parameters
        ----------
        X : as in ``fit``
            For precomputed kernels, the kernel between new and training points.

        Returns
        -------
        ndarray of shape (n_new, n_clusters)
        """
        return self._placed(X)[0]

    def predict(self, X: Any) -> np.ndarray:
        """The cluster of new points, by their embedding and the learned rotation.

        Parameters
        ----------
        X : as in ``transform``

        Returns
        -------
        ndarray of shape (n_new,)
        """
        embedding, twin = self._placed(X)
        labels = assign(embedding, self.rotation_)
        # A training point keeps its label, also where an empty cluster had to be filled.
        return np.where(twin >= 0, self.labels_[twin], labels).astype(np.int32)

    def _placed(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        from unispectral.predict import in_chunks, place

        check_is_fitted(self)
        new = _fitting.read_new(self, X, self._samples_)
        with threads(self.n_jobs):

            def work(part: Any) -> np.ndarray:
                placement = place(self._sources_, part)
                return np.column_stack([placement.average(self.embedding_), placement.twin])

            found = in_chunks(work, new, self._samples_.n_samples)
        return found[:, :-1], found[:, -1].astype(np.intp)

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


class SCSK(_LearnedGraphClustering):
    """Spectral clustering with a single kernel and a learned graph (Kang et al., AAAI 2018).

    Parameters
    ----------
    n_clusters : int or "auto"
        The number of clusters, or leave it to the graph.
    kernel : str, kernel object, callable or "precomputed"
        ``"linear"`` (the Euclidean geometry), ``"gaussian"``, ``"polynomial"``, a name of the
        paper's twelve such as ``"polyplus_4"``, any scikit-learn kernel name, a function of two
        samples, or ``"precomputed"`` for a square matrix as X.
    model : {"adaptive", "paper"}
        ``"adaptive"`` is the label-free model, made to work without tuning. ``"paper"`` is the
        paper's objective, unmodified; see also :meth:`paper`.
    normalize : {"auto", "cosine", "center", "trace", "none"} or tuple
        Normalisation of the kernel; several are applied in order.
    alpha : float or "auto"
        Price of a coefficient of the graph: larger is sparser. In the adaptive model in units of
        the kernel's median, with 0 … 1 the useful range.
    beta : float or "auto"
        How strongly distances in the embedding raise the prices of edges. Adaptive: 0 … 3.
    gamma : float or "auto"
        How strongly the labels pull on the embedding. Adaptive: 0 … 1.
    ridge : float or "auto"
        Multiple of the kernel's diagonal added to its quadratic term: larger spreads each code
        over more neighbours. 0 in the paper.
    n_neighbors : int or "auto"
        Candidates of each code, its nearest neighbours. ``solver="exact"`` looks at all samples.
    whiten : list of (width, strength), "auto" or None
        Whitened geometries that compete with the kernel's own: the width of the Gaussian in units
        of the median distance, and how strongly common directions are shrunk. None for none.
    solver : {"auto", "exact", "local", "alm"}
        For ``model="paper"``: exact block-coordinate descent over all samples, the same over the
        nearest candidates, or the authors' own algorithm.
    max_clusters : int
        The most that ``n_clusters="auto"`` considers.
    max_iter, tol : int and float, or "auto"
        Limits of the iteration.
    n_init : int
        Starts of the read-out of the labels.
    max_time : float or None
        Seconds after which the fit returns the best it has, with a ConvergenceWarning.
    n_jobs : int or None
        Threads; None uses all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
    verbose : int
        1 reports progress on standard error.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    n_clusters_ : int
    graph_ : CSR array of shape (n_samples, n_samples)
        The learned graph Z; column i is the code of sample i.
    affinity_matrix_ : CSR array
        Its symmetric form.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The continuous labels P (adaptive: with rows of length one).
    rotation_ : ndarray of shape (n_clusters, n_clusters)
    membership_ : ndarray of shape (n_samples, n_clusters)
        How much each sample belongs to each cluster; rows sum to one.
    outlier_score_ : ndarray of shape (n_samples,)
        Large for samples with weak neighbours.
    kernel_weights_, kernel_names_ : weights of the kernels
    geometry_weights_ : dict
        Weight of each geometry that took part.
    objective_ : ndarray
        One value per iteration.
    n_iter_, converged_, stop_reason_ : how the fit ended, in numbers and words
    kkt_residual_ : float
        How far the codes are from optimal, relative to the kernel's diagonal.
    eigenvalues_ : ndarray
        The smallest eigenvalues of the graph's Laplacian.
    cluster_evidence_ : Evidence or None
        Why ``n_clusters="auto"`` chose this number.

    References
    ----------
    Z. Kang, C. Peng, Q. Cheng, Z. Xu: Unified Spectral Clustering with Optimal Graph. AAAI 2018.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> labels = SCSK(n_clusters=2).fit_predict(X)
    >>> bool((labels == y).all() or (labels != y).all())
    True
    """

    _kernel_argument = "kernel"
    _parameter_constraints: dict[str, list] = {
        **_LearnedGraphClustering._parameter_constraints,
        "kernel": "no_validation",  # type: ignore[dict-item]
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        kernel="linear",
        model="adaptive",
        normalize="auto",
        alpha="auto",
        beta="auto",
        gamma="auto",
        ridge="auto",
        n_neighbors="auto",
        whiten="auto",
        solver="auto",
        max_clusters=20,
        max_iter="auto",
        tol="auto",
        n_init=10,
        max_time=None,
        n_jobs=None,
        random_state=0,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.model = model
        self.normalize = normalize
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.ridge = ridge
        self.n_neighbors = n_neighbors
        self.whiten = whiten
        self.solver = solver
        self.max_clusters = max_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, n_clusters=8, *, kernel="polyplus_4", **params) -> SCSK:
        """The unmodified model of the paper: its objective, kernels of unit diagonal.

        Examples
        --------
        >>> SCSK.paper(3, alpha=0.01).model
        'paper'
        """
        return cls(n_clusters, kernel=kernel, model="paper", **params)

    @property
    def _kernels(self):
        return self.kernel

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


class SCMK(_LearnedGraphClustering):
    """Spectral clustering with multiple kernels and a learned graph (Kang et al., AAAI 2018).

    The kernels, or the views of the data, are weighted while the graph is learned.

    Parameters
    ----------
    n_clusters : int or "auto"
        The number of clusters, or leave it to the graph.
    kernels : str, list or "precomputed"
        ``"auto"``, ``"paper"`` (its twelve), ``"paper-text"`` (as its text prints them), a list
        of anything that :class:`SCSK` takes as a kernel, or ``"precomputed"`` for a list or stack
        of square matrices as X.
    views : mapping or None
        Names of views and the columns that make up each, for an X that is one table. X itself may
        also be a list or a mapping of tables; a row of NaN is a sample that a view lacks.
    model : {"adaptive", "paper"}
        ``"adaptive"`` is the label-free model: each kernel has its own graph, and the graphs are
        weighted. ``"paper"`` is the paper's objective: the kernels are weighted, then one graph.
    normalize, alpha, beta, gamma, ridge, n_neighbors : see :class:`SCSK`
    whiten, solver : see :class:`SCSK`
    temperature : float or "auto"
        How softly the kernels of the adaptive model are weighed: one whose clusters have a
        modularity lower by this much weighs e times less.
    max_clusters, max_iter, tol, n_init, max_time : see :class:`SCSK`
    n_jobs, random_state, verbose : see :class:`SCSK`

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
    view_weights_ : dict
        The sum of the weights of each view's kernels.
    labels_, n_clusters_, graph_, affinity_matrix_, embedding_, rotation_ : see :class:`SCSK`
    membership_, outlier_score_, objective_, n_iter_, converged_, stop_reason_ : see :class:`SCSK`

    References
    ----------
    Z. Kang, C. Peng, Q. Cheng, Z. Xu: Unified Spectral Clustering with Optimal Graph. AAAI 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> model = SCMK(n_clusters=3).fit(load_iris().data)
    >>> sorted(set(model.labels_.tolist()))
    [0, 1, 2]
    """

    _kernel_argument = "kernels"
    _parameter_constraints: dict[str, list] = {
        **_LearnedGraphClustering._parameter_constraints,
        "kernels": "no_validation",  # type: ignore[dict-item]
        "views": [Mapping, None],
        "temperature": [Interval(Real, 0, None, closed="neither"), _AUTO],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        kernels="auto",
        views=None,
        model="adaptive",
        normalize="auto",
        alpha="auto",
        beta="auto",
        gamma="auto",
        ridge="auto",
        n_neighbors="auto",
        whiten="auto",
        temperature="auto",
        solver="auto",
        max_clusters=20,
        max_iter="auto",
        tol="auto",
        n_init=10,
        max_time=None,
        n_jobs=None,
        random_state=0,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.views = views
        self.model = model
        self.normalize = normalize
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.ridge = ridge
        self.n_neighbors = n_neighbors
        self.whiten = whiten
        self.temperature = temperature
        self.solver = solver
        self.max_clusters = max_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, n_clusters=8, *, kernels="paper", **params) -> SCMK:
        """The unmodified model of the paper: its objective and its twelve kernels.

        Examples
        --------
        >>> SCMK.paper(3).kernels
        'paper'
        """
        return cls(n_clusters, kernels=kernels, model="paper", **params)

    @property
    def _kernels(self):
        return self.kernels

    @property
    def view_weights_(self) -> dict[str, float]:
        """The weight of each view: the sum over its kernels."""
        check_is_fitted(self)
        total = dict.fromkeys(self._samples_.view_names, 0.0)
        for view, weight in zip(self._samples_.kernel_views, self.kernel_weights_, strict=True):
            total[self._samples_.view_names[view]] += float(weight)
        return total
