"""The two models as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real

from sklearn.utils.validation import check_is_fitted

from unispectral._base import AT_LEAST_ZERO, AUTO, LearnedGraphClustering
from unispectral._compat import Interval

__all__ = ["SCMK", "SCSK"]


class SCSK(LearnedGraphClustering):
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
        Candidates of each code, its nearest neighbours. ``"auto"`` is 8, or as many as a cluster
        of mean size has other members if these are fewer, but at least 3. ``solver="exact"``
        looks at all samples.
    whiten : list of (width, strength), "auto" or None
        Whitened geometries that compete with the kernel's own: the width of the Gaussian in units
        of the median distance, and how strongly common directions are shrunk. None for none.
    scale_codes : bool or "auto"
        Scale every code to sum one, so that samples far from all others are not cut off first.
    laplacian : {"auto", "normalized", "unnormalized"}
        Whose eigenvectors are the embedding. The unnormalised one prefers to cut off few samples.
    unit_rows : bool or "auto"
        Scale the rows of the embedding to length one.
    mend : bool or "auto"
        Join components too small to be clusters to their surroundings.
    assign_labels : {"auto", "best", "kmeans", "rotation"}
        How labels are read out of the embedding: k-means, the paper's rotation, or whichever of
        the two has the larger modularity on the graph.
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
    checkpoint : str, path-like or None
        A file that keeps what a long fit has computed. A fit that was killed takes up from there
        when it is started again with the same samples and parameters, and finds the same labels;
        the file is removed at the end. Not for ``solver="alm"``.
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
        **LearnedGraphClustering._parameter_constraints,
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
        scale_codes="auto",
        laplacian="auto",
        unit_rows="auto",
        mend="auto",
        assign_labels="auto",
        solver="auto",
        max_clusters=20,
        max_iter="auto",
        tol="auto",
        n_init=10,
        max_time=None,
        checkpoint=None,
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
        self.scale_codes = scale_codes
        self.laplacian = laplacian
        self.unit_rows = unit_rows
        self.mend = mend
        self.assign_labels = assign_labels
        self.solver = solver
        self.max_clusters = max_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.max_time = max_time
        self.checkpoint = checkpoint
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


class SCMK(LearnedGraphClustering):
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
    whiten, scale_codes, laplacian, unit_rows, mend, assign_labels, solver : see :class:`SCSK`
    sharpness : float or "auto"
        Kernels of the adaptive model weigh this power of their evidence: 0 weighs all alike that
        are used at all, large values leave the best alone.
    min_evidence : float or "auto"
        Kernels with less evidence are not used, but for the best. 0 … 1.
    fuse : bool or "auto"
        Take the weighted sum of the distances of the kernels that are used as one kernel more,
        which has its own graph and evidence.
    max_clusters, max_iter, tol, n_init, max_time, checkpoint : see :class:`SCSK`
    n_jobs, random_state, verbose : see :class:`SCSK`

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
    kernel_evidence_ : ndarray of shape (n_kernels,) or None
        How far the modularity of each kernel's own clusters exceeds that of a cloud without
        clusters: 0 is no better, 1 is separate clusters. None with one kernel, and in the
        paper's model.
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
        **LearnedGraphClustering._parameter_constraints,
        "kernels": "no_validation",  # type: ignore[dict-item]
        "views": [Mapping, None],
        "sharpness": [AT_LEAST_ZERO, AUTO],
        "min_evidence": [Interval(Real, 0, 1, closed="both"), AUTO],
        "fuse": ["boolean", AUTO],
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
        scale_codes="auto",
        laplacian="auto",
        unit_rows="auto",
        mend="auto",
        assign_labels="auto",
        sharpness="auto",
        min_evidence="auto",
        fuse="auto",
        solver="auto",
        max_clusters=20,
        max_iter="auto",
        tol="auto",
        n_init=10,
        max_time=None,
        checkpoint=None,
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
        self.scale_codes = scale_codes
        self.laplacian = laplacian
        self.unit_rows = unit_rows
        self.mend = mend
        self.assign_labels = assign_labels
        self.sharpness = sharpness
        self.min_evidence = min_evidence
        self.fuse = fuse
        self.solver = solver
        self.max_clusters = max_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.max_time = max_time
        self.checkpoint = checkpoint
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
