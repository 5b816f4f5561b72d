"""What a fitted model answers beside its labels: other numbers of clusters, names, a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from unispectral._errors import InputError

if TYPE_CHECKING:
    from unispectral.answers.tree import ClusterTree
    from unispectral.report import Summary

__all__ = ["AnswersMixin", "OutliersMixin"]


class AnswersMixin:
    """Answers that follow from fitted attributes, made when they are asked for."""

    labels_: np.ndarray
    affinity_matrix_: Any
    n_clusters_: int
    view_weights_: dict[str, float]
    predict: Any
    _predictor_: Any
    _grown: tuple[np.ndarray, ClusterTree] | None = None

    @property
    def tree_(self) -> ClusterTree:
        """The clusters of this graph for every number of them, as one tree."""
        check_is_fitted(self)
        if self._grown is None or self._grown[0] is not self.labels_:
            from unispectral.answers.tree import grow_tree

            tree = grow_tree(self.affinity_matrix_, self.labels_, self._cluster_distances)
            self._grown = self.labels_, tree
        return self._grown[1]

    def _cluster_distances(self, labels: np.ndarray) -> np.ndarray | None:
        """How far clusters are apart in the geometry of the fit, where it knows all samples."""
        from unispectral.answers.tree import mean_distances

        part = self._predictor_.parts[0]
        geometry = getattr(part, "geometry", None)
        if geometry is None or part.n_samples < len(labels):
            return None
        # The geometry may have the samples in an order of its own.
        place = np.arange(len(labels)) if part.samples is None else np.argsort(part.samples)

        def distances(rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
            return geometry.distances(place[rows], place[cols])

        return mean_distances(distances, labels)

    def cut(self, n_clusters: int) -> np.ndarray:
        """Labels for another number of clusters, without another fit.

        The tree of the learned graph (``tree_``) is cut; at ``n_clusters_`` these are ``labels_``.
        A fit with this number learns a graph for it, and may find others: fit again where the
        number is settled.

        Parameters
        ----------
        n_clusters : int
            From 1 to ``tree_.max_clusters``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.tree_.cut(n_clusters)

    def rename(self, names: Mapping[int, str] | Sequence[str]) -> Self:
        """Give names to clusters, for summaries, plots and pages.

        They are in ``cluster_names_``, so that ``model.cluster_names_[model.predict(X)]`` has the
        name for each new sample, and are saved with the model. A fit forgets them.

        Parameters
        ----------
        names : mapping or sequence of str
            ``{0: "loyal"}`` names some clusters, a sequence all of them.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        count = int(self.n_clusters_)
        if not isinstance(names, Mapping):
            if isinstance(names, str) or len(names) != count:
                problem = f"must name all {count} clusters in their order"
                raise InputError("names", problem, "give a mapping to name some", value=names)
            names = dict(enumerate(names))
        known = list(getattr(self, "cluster_names_", map(str, range(count))))
        for cluster, name in names.items():
            if isinstance(cluster, bool) or cluster not in range(count):
                problem = f"names a cluster that is not from 0 to {count - 1}"
                raise InputError("names", problem, value=cluster)
            known[int(cluster)] = str(name)
        twice = sorted({name for name in known if known.count(name) > 1})
        if twice:
            raise InputError("names", f"gives two clusters the name {twice[0]!r}", value=names)
        self.cluster_names_ = np.array(known, dtype=object)
        return self

    def summary(self, X: object = None, **options: Any) -> Summary:
        """What the clustering comes to, in words: why this number, how sure, what each cluster is.

        Parameters
        ----------
        X : as in ``fit``, default=None
            The samples of the fit. Without them nothing is said of columns and of stability, for
            which up to 3,000 samples are clustered three more times.
        **options
            Those of :func:`unispectral.report.summarise`: ``columns`` (names of the columns),
            ``names`` (of the samples), ``texts`` (one for each sample), ``refit``.

        Returns
        -------
        Summary
            Printed, it is the text; its parts are attributes.
        """
        from unispectral.report import summarise

        check_is_fitted(self)
        return summarise(self, X, **options)

    def score(self, X: object, y: object = None) -> float:
        """How clearly the clusters show in these samples, without known classes; 1 is best.

        The modularity of the predicted clusters on the graph of each sample's ten nearest
        neighbours, in the columns as the model scales them; of several views the mean by their
        weights. It is what :class:`sklearn.model_selection.GridSearchCV` maximises. It compares
        numbers of neighbours, kernels or numbers of clusters on the same columns; it says nothing
        of other columns or units, prefers clusters of like size, and is above zero in samples
        without clusters, too.

        Parameters
        ----------
        X : as in ``predict_all``
        y : ignored

        Returns
        -------
        float
            At most 1; 0 for one cluster.
        """
        from unispectral._inputs import read_new
        from unispectral.model_selection import neighbour_modularity

        labels = self.predict(X)
        layout = self._predictor_.layout
        if get_tags(self).input_tags.pairwise:
            problem = "holds kernels, of which neighbours of new samples are not known"
            raise InputError("X", problem, "score an estimator of tables")
        tables = read_new(self, X, layout)
        weights = np.array(list(self.view_weights_.values()))
        found = [neighbour_modularity(table, labels) for table in tables]
        return float(np.average(found, weights=weights))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """In a notebook: what scikit-learn shows, and below it what was found."""
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle and hasattr(self, "labels_"):
            from html import escape

            lines = self.summary(refit=False).head()
            told = "".join(f"<p style='margin:.2em 0'>{escape(line)}</p>" for line in lines)
            bundle["text/html"] += f"<div style='font-size:.95em'>{told}</div>"
        return bundle


class OutliersMixin:
    """Which samples fit nowhere, by the scores of the fit."""

    labels_: np.ndarray
    outlier_score_: np.ndarray

    @property
    def outlier_threshold_(self) -> np.ndarray:
        """The outlier score above which a sample of each cluster fits nowhere.

        Infinite where no score stands apart from the others. A new sample fits nowhere if its
        score is above the threshold of its cluster.
        """
        from unispectral.answers.outliers import find_thresholds

        check_is_fitted(self)
        return find_thresholds(self.outlier_score_, self.labels_)

    @property
    def outlier_(self) -> np.ndarray:
        """Which samples fit nowhere: those above ``outlier_threshold_``; none, in most data."""
        return self.outlier_score_ > self.outlier_threshold_[self.labels_]
