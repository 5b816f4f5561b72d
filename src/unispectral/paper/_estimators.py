"""The paper's two models as scikit-learn estimators: SCSK is SCMK with one kernel."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unispectral._base import (
    AT_LEAST_ZERO,
    AUTO,
    LearnedGraphClustering,
    RandomState,
    Verbose,
    kernel_specs,
)
from unispectral._compat import StrOptions
from unispectral._errors import InputError, warn
from unispectral._inputs import read
from unispectral._parameters import Declared, count, non_negative, parameter, positive
from unispectral._result import Fitted
from unispectral._run import Run
from unispectral._validation import check_cluster_count
from unispectral.paper._descent import Objective

if TYPE_CHECKING:
    from unispectral.knowledge import Knowledge

#: Limits where ``"auto"`` leaves them to the solver.
_LIMITS = {"alm": (200, 1e-3), "exact": (50, 1e-5), "local": (50, 1e-5)}


#: Parameters that a solver does not use.
_UNUSED = {"alm": ("ridge", "n_init"), "exact": ("mu", "step"), "local": ("mu", "step")}


class _PaperModel(Declared, LearnedGraphClustering):
    """What SCSK and SCMK share: everything but the name of the kernels' parameter.

    Parameters
    ----------
    n_clusters : int
        The number of clusters.
    normalize : {"auto", "cosine", "center", "trace", "max", "none"} or tuple
        Normalisation of each kernel; several are applied in order. ``"auto"`` is ``"cosine"``,
        that of the paper's kernel files, and none for precomputed kernels; ``"max"`` is that of
        its text.
    alpha : float
        Penalty of a coefficient of the graph: larger is sparser.
    beta : float
        Weight of the spectral term.
    gamma : float
        Weight of the distance to the discrete labels; above a thousandth of ``beta`` the first
        labels stay what they are.
    mu : float
        Where the penalty of ``solver="alm"`` starts. It grows in every iteration and freezes the
        codes, which acts like a ridge: the paper's results depend on it, and the paper does not
        give it.
    ridge : float
        Multiple of the kernel's diagonal added to its quadratic term by the other solvers, which
        is what ``mu`` amounts to; 0 in the paper.
    solver : {"alm", "exact", "local"}
        ``"alm"`` is the paper's own algorithm, which made its figures. ``"exact"`` minimises the
        printed objective by block-coordinate descent, each block to its optimum; ``"local"`` does
        so over each sample's nearest candidates, for many samples.
    step : {"optimal", "search"}
        How ``"alm"`` finds the embedding in each iteration: to its optimum, or by the curvilinear
        search of the authors' program (:func:`unispectral.paper.search_embedding`), which is
        slower and gives up early. With ``"search"`` the paper is run to the letter.
    max_iter : int or "auto"
        Limit of the iterations: 200 with ``"alm"``, 50 otherwise.
    tol : float or "auto"
        Change at which they end: 1e-3 with ``"alm"``, of the codes to their thresholded copy, and
        1e-5 otherwise, of the objective.
    n_init : int
        Starts of the first rotation, for ``"exact"`` and ``"local"``.
    max_time : float or None
        Seconds after which the fit returns what it has, with a ConvergenceWarning.
    n_jobs : int or None
        Threads. None is that of ``joblib.parallel_config`` where there is one, otherwise all
        cores, or ``OMP_NUM_THREADS`` where that is set, as for scikit-learn's own threads; −1 is
        all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        Where random numbers come from; None takes others in every fit.
    verbose : int or callable
        1 reports progress on standard error; a function is called with the stage, the steps
        done, their number or None, and a note. Callbacks of :mod:`sklearn.callback`, such as its
        ``ProgressBar``, are given by ``set_callbacks``.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    n_clusters_ : int
    graph_ : CSR array of shape (n_samples, n_samples)
        The learned graph Z; column i is the code of sample i.
    affinity_matrix_ : CSR array
        Its symmetric form.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The continuous labels P.
    rotation_ : ndarray of shape (n_clusters, n_clusters)
    membership_ : ndarray of shape (n_samples, n_clusters)
        How much each sample belongs to each cluster; rows sum to one.
    outlier_score_ : ndarray of shape (n_samples,)
        Large for samples of small degree in the graph: 0.5 at the median degree, 1 without any
        edge. Where the model spreads its weights evenly, all scores are close to 0.5.
    kernel_weights_ : ndarray of shape (n_kernels,)
    kernel_names_ : tuple of str
    view_weights_ : dict
        The sum of the weights of each view's kernels.
    objective_ : ndarray
        One value per iteration; with ``"alm"`` it may rise.
    n_iter_, converged_, stop_reason_ : how the fit ended, in numbers and words
    kkt_residual_ : float
        How far the codes are from optimal, relative to the kernel's diagonal; with ``"alm"``, how
        far the codes are from their thresholded copy.
    eigenvalues_ : ndarray
        The smallest eigenvalues of the graph's Laplacian; empty with ``"alm"``.
    """

    n_clusters: int = count(default=8, kw_only=False)
    normalize: str | Sequence[str] | None = parameter(str, tuple, list, None, default="auto")
    alpha: float = non_negative(default=0.01)
    beta: float = non_negative(default=1e-4)
    gamma: float = non_negative(default=1e-7)
    mu: float = positive(default=30.0)
    ridge: float = non_negative(default=0.0)
    solver: Literal["alm", "exact", "local"] = parameter(
        StrOptions({"alm", "exact", "local"}), default="alm"
    )
    step: Literal["optimal", "search"] = parameter(
        StrOptions({"optimal", "search"}), default="optimal"
    )
    max_iter: int | Literal["auto"] = count(AUTO, default="auto")
    tol: float | Literal["auto"] = parameter(AT_LEAST_ZERO, AUTO, default="auto")
    n_init: int = count(default=10)
    max_time: float | None = positive(default=None)
    n_jobs: int | None = parameter(Integral, default=None)
    random_state: RandomState = parameter("random_state", np.random.Generator, default=0)
    verbose: Verbose = parameter("verbose", callable, default=0)

    def _solve(self, X: object, run: Run, known: Knowledge | None) -> Fitted:
        from unispectral.paper._fit import fit

        kernels = kernel_specs(getattr(self, self._kernel_argument), self._kernel_argument)
        normalize = self.normalize
        if isinstance(normalize, str) and normalize == "auto":
            if kernels is None:
                normalize = None
            else:
                normalize = "cosine"
        samples = read(self, X, kernels, normalize=normalize)
        if kernels is None:
            n_kernels = len(samples.bank or ())
        else:
            n_kernels = len(kernels)
        if self._kernel_argument == "kernel" and n_kernels > 1:
            if kernels is None:
                argument = "X"
                what = "square matrix"
            else:
                argument = "kernel"
                what = "kernel"
            problem = f"holds {n_kernels} kernels, but SCSK takes one {what}"
            raise InputError(argument, problem, "use SCMK")
        check_cluster_count(self.n_clusters, samples.n_samples, samples.tables)
        self._warn_of_parameters_without_effect()
        max_iter, tol = _LIMITS[self.solver]
        found = fit(
            samples,
            Objective(
                int(self.n_clusters),
                alpha=float(self.alpha),
                beta=float(self.beta),
                gamma=float(self.gamma),
                ridge=float(self.ridge),
                mu=float(self.mu),
            ),
            self.solver,
            run,
            max_iter=max_iter if self.max_iter == "auto" else int(self.max_iter),
            tol=tol if self.tol == "auto" else float(self.tol),
            n_init=int(self.n_init),
            max_time=self.max_time,
            step=self.step,
        )
        if known is None:
            return found
        from unispectral.knowledge._apply import apply_knowledge

        return apply_knowledge(found, known, int(self.n_clusters), run)

    def _warn_of_parameters_without_effect(self) -> None:
        """Say so where a parameter was set that the chosen solver does not use."""
        usual = inspect.signature(type(self)).parameters
        for name in _UNUSED[self.solver]:
            value = getattr(self, name)
            if value != usual[name].default:
                solvers = [repr(solver) for solver in _UNUSED if name not in _UNUSED[solver]]
                text = f"{name}={value!r} has no effect with solver={self.solver!r}; "
                warn(f"{text}leave it out, or use solver={' or '.join(solvers)}.", UserWarning)


class SCSK(_PaperModel):
    """Spectral clustering with a single kernel and a learned graph (Kang et al., AAAI 2018).

    The paper's Algorithm 1, and its printed objective solved exactly. It has parameters that the
    paper tuned with labels; :class:`unispectral.UnifiedSpectralClustering` needs none.

    Parameters
    ----------
    kernel : str, kernel object, callable or "precomputed"
        ``"linear"``, ``"gaussian"``, ``"polynomial"``, a name of the paper's twelve such as
        ``"polyplus_4"``, any scikit-learn kernel name, a function of two samples, or
        ``"precomputed"`` for a square matrix as X; distances D become a kernel by
        ``np.exp(-D / np.median(D))``.

    See Also
    --------
    UnifiedSpectralClustering : The model that needs no tuning.

    References
    ----------
    Z. Kang, C. Peng, Q. Cheng, Z. Xu: Unified Spectral Clustering with Optimal Graph. AAAI 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unispectral import SCSK
    >>> model = SCSK(n_clusters=3, solver="exact").fit(load_iris().data)
    >>> sorted(set(model.labels_.tolist()))
    [0, 1, 2]
    """

    kernel: Any = parameter(default="linear")

    _kernel_argument = "kernel"


class SCMK(_PaperModel):
    """Spectral clustering with multiple kernels and a learned graph (Kang et al., AAAI 2018).

    The paper's Algorithm 2, and its printed objective solved exactly: the kernels are weighted
    while the graph of their sum is learned. It has parameters that the paper tuned with labels;
    :class:`unispectral.UnifiedSpectralClustering` needs none.

    Parameters
    ----------
    kernels : str, list or "precomputed"
        ``"paper"`` (its twelve), ``"paper-text"`` (as its text prints them), a list of anything
        that :class:`SCSK` takes as a kernel, or ``"precomputed"`` for a list or stack of square
        matrices as X. X may also be a list or a mapping of tables, of which each gets all
        kernels.

    See Also
    --------
    UnifiedSpectralClustering : The model that needs no tuning.

    References
    ----------
    Z. Kang, C. Peng, Q. Cheng, Z. Xu: Unified Spectral Clustering with Optimal Graph. AAAI 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unispectral import SCMK
    >>> model = SCMK(n_clusters=3, solver="exact").fit(load_iris().data)
    >>> len(model.kernel_weights_)
    12
    """

    kernels: Any = parameter(default="paper")
    alpha: float = non_negative(default=0.001)
    mu: float = positive(default=3.0)
