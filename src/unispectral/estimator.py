"""The label-free model as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from unispectral._base import (
    AT_LEAST_ONE,
    AT_LEAST_ZERO,
    AUTO,
    LearnedGraphClustering,
    RandomState,
    Verbose,
    kernel_specs,
)
from unispectral._compat import Interval, StrOptions, fit_context
from unispectral._errors import InputError, Sentence
from unispectral._inputs import Samples, read, read_nodes, take_graphs
from unispectral._result import Fitted
from unispectral._run import Run
from unispectral._validation import check_cluster_count
from unispectral.answers import OutliersMixin
from unispectral.labelfree import Recipe
from unispectral.labelfree._scaling import scaling_of
from unispectral.living import LivingMixin

if TYPE_CHECKING:
    from unispectral.knowledge import Knowledge

__all__ = ["UnifiedSpectralClustering"]


class UnifiedSpectralClustering(LivingMixin, OutliersMixin, LearnedGraphClustering):
    """Clustering with a learned graph that needs no tuning, from one table or several views.

    Graph, embedding and labels are found together, as in the models of Kang et al. (AAAI 2018);
    every number is scale-free, and nothing has to be set: the number of clusters, too, is left to
    the data, unless it is given.

    Parameters
    ----------
    n_clusters : int or "auto"
        The number of clusters; "auto" leaves it to the data, and ``cluster_count_`` says why.
    kernels : str, kernel object, callable, list of these, mapping, "precomputed" or "graph"
        ``"linear"`` (Euclidean distances), ``"gaussian"``, ``"polynomial"``, a name of the
        paper's twelve such as ``"polyplus_4"``, any scikit-learn kernel name, a function of two
        samples, or a list of them; ``"paper"`` are its twelve. ``"precomputed"`` takes a square
        matrix, or a list or stack of them, as X; distances D become a kernel by
        ``np.exp(-D / np.median(D))``. Several kernels are weighted. ``"graph"`` takes a graph, or
        a list or mapping of graphs on the same nodes, as X: a symmetric matrix of weights of at
        least 0, sparse or dense, or a graph of networkx or igraph (what scikit-learn calls
        ``affinity="precomputed"``); new nodes are given by their weights to the old ones. Where
        some of several views are graphs, a mapping names these: ``{"ties": "graph"}``.
    views : mapping or None
        Names of views and the columns that make up each (names, numbers, a slice or a mask), for
        an X that is one table. X itself may also be a list or a mapping of tables; a row of NaN
        is a sample that a view lacks, and frames are matched by their index.
    scaling : {"auto", "standard", "counts", "none"}
        Whether columns are standardised, or weighted as counts. ``"auto"`` standardises
        measurements in different units, of which one or two would decide alone; weights counts of
        words (whole numbers, dense or sparse, most of them 0, most others 1: logarithms times the
        inverse document frequency, in rows of length one); and leaves pixels, other sparse tables
        and columns of like spread as they are. ``scaling_`` says what was done and why. Columns
        that do not vary are left out.
    n_neighbors : int or "auto"
        Candidates of each sample's code, its nearest neighbours. ``"auto"`` is 8, or as many as a
        cluster of mean size has other members if these are fewer, but at least 3.
    whiten : "auto", float or None
        Whether directions in which all samples vary are shrunk before distances are taken, as
        helps where clusters are subspaces. ``"auto"`` lets the plain distance and two strengths
        compete on few samples; a number is the strength, None takes the plain distance.
    alpha : float
        Penalty of a coefficient of the graph, in units of the kernel's median: larger is sparser.
        0 … 1 is the useful range.
    beta : float
        How strongly distances in the embedding raise the penalties of edges, 0 … 3.
    ridge : float
        Multiple of the kernel's diagonal added to its quadratic term: larger spreads each code
        over more neighbours.
    committee : bool
        Whether the clusters of one table are put to the vote: a graph of another number of
        neighbours, a Gaussian mixture, and spanning trees in few columns or communities in many
        take part, and the clusters that agree most with the others are taken. False takes those
        of the first graph, in about two thirds of the time.
    min_cluster_size, max_cluster_size : int or None
        The least and the most samples that a cluster may hold. Limits that cannot be kept are
        refused; both alike make clusters of equal size.
    trust : float
        How far labels that ``fit`` is told count: 1 keeps them as they are given, less lets the
        graph overrule them.
    max_clusters : int or "auto"
        The most that ``n_clusters="auto"`` considers; ``"auto"`` grows with the number of samples,
        from 20 for 300 samples to 100 for 1,500, and the square root of more than 10,000.
    max_iter : int
        Passes over graph and embedding.
    tol : float or "auto"
        Stops early when a pass changes the graph by less than this share.
    n_init : int
        Starts of the label assignment.
    n_jobs : int or None
        Threads. None is that of ``joblib.parallel_config`` where there is one, otherwise all
        cores, or ``OMP_NUM_THREADS`` where that is set, as for scikit-learn's own threads; −1 is
        all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        Draws the cells in which neighbours are searched for, above 10,000 samples of more than
        8 columns; None draws others in every fit. The clusters of other tables do not depend on
        it.
    verbose : int or callable
        1 reports progress on standard error; a function is called with the stage, the steps
        done, their number or None, and a note. Callbacks of :mod:`sklearn.callback`, such as its
        ``ProgressBar``, are given by ``set_callbacks``.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    n_clusters_ : int
    cluster_ids_ : ndarray of shape (n_clusters,)
        The lasting number of each cluster, which ``update`` carries over; those of the samples are
        ``cluster_ids_[labels_]``. After ``fit`` they are 0, 1, ….
    changes_ : DataFrame
        What updates have changed since the fit.
    graph_ : CSR array of shape (n_samples, n_samples)
        The learned graph Z; column i is the code of sample i.
    affinity_matrix_ : CSR array
        Its symmetric form.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The continuous labels P, with rows of length one. Above 10,000 samples, whose clusters are
        communities of the graph, the shares of the clusters among the edges of each sample.
    rotation_ : ndarray of shape (n_clusters, n_clusters)
    membership_ : ndarray of shape (n_samples, n_clusters)
        How surely each sample belongs to each cluster; rows sum to one, and the largest is that
        of its label.
    outlier_score_ : ndarray of shape (n_samples,)
        Large for samples that their neighbours explain badly.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Of all views. The closer a kernel puts samples that are neighbours by others, the more it
        weighs; 0 for those whose neighbours no other shares, which show nothing but noise. Of
        several tables two such weightings compete.
    kernel_names_ : tuple of str
    kernel_agreement_ : ndarray of shape (n_kernels,) or None
        The modularity of the clusters on each kernel's own graph: how well they show in it. None
        with one kernel.
    scaling_ : dict
        For each table whether it was standardised, and why.
    view_weights_ : dict
        The sum of the weights of each view's kernels.
    geometry_weights_ : dict
        Weight of each geometry that took part.
    objective_ : ndarray
        One value per pass.
    n_iter_, stop_reason_ : int and str
        Passes, and why there were no more. They are steps towards clearer clusters, not a search
        for a fixed point: to have made all of them is the usual end.
    converged_ : bool
        Whether the eigenvectors of the last pass reached their tolerance; if not, the fit warns.
    kkt_residual_ : float
        How far the codes are from optimal, relative to the kernel's diagonal.
    eigenvalues_ : ndarray
        The smallest eigenvalues of the graph's Laplacian; none above 10,000 samples.
    agreement_ : float or None
        The mean adjusted Rand index between these clusters and those of the other candidates, 1
        where all agree; below 0.4 the fit warns. None where no vote was taken: with several
        views, above 10,000 samples, for clusters that are components of the graph, and without
        ``committee``.
    structure_ : float or None
        The first eigenvalues of the graph beside those of samples of the same shape without
        clusters: from 0 for separate clusters to 1 for none. Above 0.6 the fit warns.
    cluster_count_ : ClusterCount or None
        Why ``n_clusters="auto"`` chose this number, which may be 1.
    cluster_names_ : ndarray of str
        What the clusters are called: the labels that ``fit`` was told, otherwise numbers, unless
        ``rename`` gave them names.
    knowledge_ : dict
        What ``fit`` was told of the samples, in numbers; empty where that is nothing.

    See Also
    --------
    SCSK, SCMK : The paper's own models.

    References
    ----------
    Z. Kang, C. Peng, Q. Cheng, Z. Xu: Unified Spectral Clustering with Optimal Graph. AAAI 2018.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unispectral import UnifiedSpectralClustering
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> labels = UnifiedSpectralClustering(n_clusters=2).fit_predict(X)
    >>> bool((labels == y).all() or (labels != y).all())
    True
    """

    _remedy = Sentence("Compare the clusters with those of another {n_neighbors}.", "n_neighbors")
    _parameter_constraints: dict[str, list[Any]] = {
        **LearnedGraphClustering._parameter_constraints,
        "n_clusters": [AT_LEAST_ONE, AUTO],
        "kernels": "no_validation",  # type: ignore[dict-item]
        "views": [Mapping, None],
        "scaling": [StrOptions({"auto", "standard", "counts", "none"})],
        "n_neighbors": [AT_LEAST_ONE, AUTO],
        "whiten": [Interval(Real, 0, None, closed="neither"), AUTO, None],
        "alpha": [AT_LEAST_ZERO],
        "beta": [AT_LEAST_ZERO],
        "committee": ["boolean"],
        "min_cluster_size": [AT_LEAST_ONE, None],
        "max_cluster_size": [AT_LEAST_ONE, None],
        "trust": [Interval(Real, 0, 1, closed="right")],
        "max_clusters": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [AT_LEAST_ONE],
    }

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = "auto",
        *,
        kernels: object = "linear",
        views: Mapping[Any, Any] | None = None,
        scaling: Literal["auto", "standard", "counts", "none"] = "auto",
        n_neighbors: int | Literal["auto"] = "auto",
        whiten: float | Literal["auto"] | None = "auto",
        alpha: float = 1e-3,
        beta: float = 1.0,
        ridge: float = 1.0,
        committee: bool = True,
        min_cluster_size: int | None = None,
        max_cluster_size: int | None = None,
        trust: float = 1.0,
        max_clusters: int | str = "auto",
        max_iter: int = 2,
        tol: float | Literal["auto"] = "auto",
        n_init: int = 4,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
        verbose: Verbose = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.views = views
        self.scaling = scaling
        self.n_neighbors = n_neighbors
        self.whiten = whiten
        self.alpha = alpha
        self.beta = beta
        self.ridge = ridge
        self.committee = committee
        self.min_cluster_size = min_cluster_size
        self.max_cluster_size = max_cluster_size
        self.trust = trust
        self.max_clusters = max_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _recipe(self) -> Recipe:
        """The numbers of the model that the parameters ask for."""
        auto = "auto"
        if self.whiten == auto:
            strengths = Recipe().whiten
        elif self.whiten is None:
            strengths = ()
        else:
            strengths = (float(self.whiten),)
        return Recipe(
            n_clusters=0 if self.n_clusters == auto else int(self.n_clusters),
            alpha=float(self.alpha),
            beta=float(self.beta),
            ridge=float(self.ridge),
            n_neighbors=None if self.n_neighbors == auto else int(self.n_neighbors),
            whiten=strengths,
            compete=self.whiten is None or isinstance(self.whiten, str),
            committee=bool(self.committee),
            max_clusters=None if self.max_clusters == auto else int(self.max_clusters),
            max_iter=int(self.max_iter),
            tol=None if self.tol == auto else float(self.tol),
            n_init=int(self.n_init),
        )

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        *,
        must_link: object = None,
        cannot_link: object = None,
        connectivity: object = None,
    ) -> Self:
        """Learn graph, embedding and labels.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Or several views, precomputed kernels or a graph; see the class.
        y : array of shape (n_samples,), default=None
            Labels as far as they are known: −1, None or NaN where they are not. They are kept
            (``trust``), and the others follow; numbers below the number of clusters are the
            numbers of their clusters, others are in ``cluster_names_``. A ``y`` without unknown
            entries is ignored, as everywhere in scikit-learn: it is what scores compare with.
        sample_weight : array of shape (n_samples,), default=None
            How many samples each stands for; one of weight 0 takes no part, and is predicted.
        must_link, cannot_link : list of pairs or groups of rows, default=None
            Rows that belong to one cluster, and rows that belong to different ones: by their
            names in the index of a frame, or of the nodes of a graph, otherwise counted from 0.
        connectivity : sparse or dense matrix, or graph of networkx or igraph, default=None
            Which samples may be joined: regions with a border, pixels side by side, moments that
            follow each other. Only these pairs get an edge in the learned graph, and each cluster
            hangs together by them, as in scikit-learn's ``AgglomerativeClustering``.

        Returns
        -------
        self
        """
        more: dict[str, Any] = {}
        if sample_weight is not None:
            from unispectral.knowledge._read import read_weights

            more["weights"] = read_weights(sample_weight, X)
        if self.min_cluster_size is not None or self.max_cluster_size is not None:
            more["least"] = self.min_cluster_size
            more["most"] = self.max_cluster_size
        if y is not None:
            more["trust"] = self.trust
        if connectivity is not None:
            more["connectivity"] = connectivity
        return self._fit_knowing(X, self._read_knowledge(X, y, must_link, cannot_link, **more))

    def _solve(self, X: object, run: Run, known: Knowledge | None) -> Fitted:
        """Check the samples and fit the model to them, keeping to what is known of them."""
        recipe = self._recipe()
        samples = self._read(X, None if known is None else known.weights)
        if recipe.n_clusters:
            check_cluster_count(recipe.n_clusters, samples.n_samples, samples.tables)
        if known is None:
            from unispectral.labelfree._fit import fit

            found = fit(samples, recipe, run)
        else:
            from unispectral.labelfree._known import fit_knowing

            found = fit_knowing(samples, recipe, known, run)
        self.scaling_ = dict(zip(samples.layout.view_names, samples.scaling, strict=False))
        return self._note(found)

    def _cluster_held(self, run: Run) -> Fitted:
        from unispectral.labelfree._fit import fit
        from unispectral.labelfree._known import fit_knowing
        from unispectral.living._refit import held_samples, spread_views

        kernels = kernel_specs(self.kernels, "kernels")
        assert kernels is not None, "a model of matrices takes no further samples"
        predictor = self._predictor_
        n = len(self.labels_)
        sources = self._record_.sources(n)
        samples, views = held_samples(predictor, sources, kernels, self.scaling_)
        recipe = self._recipe()
        if recipe.n_clusters:
            recipe = recipe.with_clusters(min(recipe.n_clusters + self._record_.added, n))
        if self.min_cluster_size is None and self.max_cluster_size is None:
            found = fit(samples, recipe, run)
        else:
            limits = {"least": self.min_cluster_size, "most": self.max_cluster_size}
            known = self._read_knowledge(samples.tables[0], None, None, None, **limits)
            assert known is not None
            found = fit_knowing(samples, recipe, known, run)
        whole = spread_views(found, views, predictor.layout, len(kernels), self.kernel_names_)
        return self._note(whole)

    def _note(self, found: Fitted) -> Fitted:
        """Set the attributes that the label-free model alone has."""
        self.kernel_agreement_ = found.kernel_agreement
        self.agreement_ = found.agreement
        self.structure_ = found.structure
        self.cluster_count_ = found.cluster_count
        return found

    def _read(self, X: object, weights: np.ndarray | None) -> Samples:
        """The samples as the model takes them: of tables, kernels or a graph."""
        if isinstance(self.kernels, str) and self.kernels == "graph":
            if self.views is not None:
                problem = "names columns of a table, but kernels='graph' takes a graph"
                raise InputError("views", problem, "leave views out")
            return read_nodes(self, X)
        given = self.kernels
        beside = None if self.views is not None else take_graphs(X, given)
        if beside is not None and len(beside.graphs) == len(beside.views):
            return read_nodes(self, X)
        if beside is not None:
            X = beside.views
            given = beside.kernels
        kernels = kernel_specs(given, "kernels")
        scaling: Any = partial(scaling_of, scaling=self.scaling)
        if weights is not None:
            from unispectral.labelfree._known import repeat_rows

            scaling = lambda table: scaling_of(repeat_rows(table, weights), scaling=self.scaling)  # noqa: E731
        graphs = () if beside is None else beside.graphs
        samples = read(self, X, kernels, views=self.views, scaling=scaling, graphs=graphs)
        return samples if beside is None else replace(samples, notes=beside.notes)
