"""Clusters that live: a fitted model takes further samples, and says what they change."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unispectral._alignment import sample_index
from unispectral._errors import InputError
from unispectral._inputs import Layout, read_new
from unispectral._result import Fitted
from unispectral._run import Run, whole_or_as_before
from unispectral.labels import label_shares, memberships
from unispectral.living._births import find_births
from unispectral.living._drift import measure_drift
from unispectral.living._growth import grow, grow_affinity, grow_graph
from unispectral.living._matching import match_clusters
from unispectral.living._record import Change, Record, as_frame, begin
from unispectral.predict import Trained

__all__ = ["LivingMixin"]

#: All samples are clustered anew once there are so many times those of the last clustering.
_GROWN = 1.2
#: What is known of the samples by a parameter: clustering anew keeps to it.
_OF_PARAMETERS = {"min_cluster_size", "max_cluster_size"}


class LivingMixin:
    """Further samples for a fitted model: ``update``, and what has changed since the fit."""

    labels_: np.ndarray
    n_clusters_: int
    cluster_ids_: np.ndarray
    cluster_names_: np.ndarray
    graph_: Any
    affinity_matrix_: Any
    embedding_: np.ndarray
    rotation_: np.ndarray
    membership_: np.ndarray
    outlier_score_: np.ndarray
    n_jobs: Any
    random_state: Any
    verbose: Any
    _predictor_: Any
    _record_: Record
    _sample_index_: Any

    def _store(self, fitted: Fitted) -> None:
        super()._store(fitted)  # type: ignore[misc]
        self.cluster_ids_ = np.arange(self.n_clusters_)
        self._record_ = begin(self.n_clusters_, self.outlier_score_, fitted.copies)

    def _cluster_held(self, run: Run) -> Fitted:
        """All samples that the model has, clustered anew."""
        raise NotImplementedError

    def update(self, X: object, *, refit: bool | Literal["auto"] = "auto") -> Self:
        """Take further samples in: they get labels, and the clusters may change with them.

        A new sample gets the cluster that ``predict`` would give it, and becomes one of the
        samples of the model, behind those of before. New samples that fit nowhere are remembered:
        once they make a clear cluster, it is born. When there are a fifth more samples than at
        the last clustering, all are clustered anew, and clusters keep their lasting numbers
        (``cluster_ids_``) as long as most of their samples stay together. ``changes_`` says what
        has happened. If anything fails, the model stays as it was.

        Parameters
        ----------
        X : as in ``predict_all``
            Tables or views; a model of precomputed kernels or of a graph takes no further samples.
        refit : bool or "auto"
            Whether all samples are clustered anew now: True does so in any case, False never.
            Where ``n_clusters`` is a number, there are then as many clusters and one more for each
            that was born. A model that ``fit`` was told something of its samples (known labels,
            links, weights) keeps to it, and is not clustered anew.

        Returns
        -------
        self
            ``labels_[-len(X):]`` are the labels of the new samples. What describes a whole
            clustering (such as ``structure_``, ``agreement_``, ``cluster_count_``,
            ``eigenvalues_`` and ``diagnostics_``) is of the last one.

        Examples
        --------
        >>> import numpy as np
        >>> from unispectral import UnifiedSpectralClustering
        >>> rng = np.random.default_rng(0)
        >>> first = np.repeat([[0.0, 0.0], [9.0, 0.0]], 50, axis=0) + rng.normal(size=(100, 2))
        >>> model = UnifiedSpectralClustering(2).fit(first)
        >>> later = np.array([[0.0, 9.0]]) + rng.normal(size=(40, 2))
        >>> model.update(later, refit=False).n_clusters_
        3
        >>> model.changes_["change"].tolist()
        ['born']
        """
        return self._update_in(X, refit, Run.of(self.n_jobs, self.random_state, self.verbose))

    @property
    def changes_(self) -> Any:
        """What updates have changed since the fit: a frame with one row for each change.

        ``update`` is its number; ``change`` is "grew", "born", "drifted" (its samples since the
        last clustering lie elsewhere than those of before), "merged" (into ``other``), "split"
        (from ``other``), "ended" or "refitted" (all were clustered anew); ``cluster`` and
        ``other`` are lasting numbers, as in ``cluster_ids_``; ``rows`` are the samples concerned,
        ``samples`` all that there were then, and ``amount`` is how far a cluster drifted, in
        units of its spread.
        """
        check_is_fitted(self)
        return as_frame(self._record_)

    def _update_in(self, X: object, refit: bool | Literal["auto"], run: Run) -> Self:
        """Take further samples in by a given run, whose executor may be a cluster."""
        check_is_fitted(self)
        refit = self._check_refit(refit)
        layout = self._predictor_.layout
        lacking = _find_lacking(layout)
        if lacking:
            problem = f"cannot be taken in: the model knows no {lacking}"
            raise InputError("X", problem, "fit the model to all samples, or to tables")
        index = sample_index(X)
        with whole_or_as_before(self), run.limit_threads() as run:
            new = read_new(self, X, layout)  # type: ignore[arg-type]
            self._update(new, refit, run)
            known = self._sample_index_
            self._sample_index_ = None
            if known is not None and index is not None:
                self._sample_index_ = known.append(index)
        run.progress.close()
        return self

    def _check_refit(self, refit: object) -> bool | Literal["auto"]:
        """The argument of that name; a model that keeps to what it was told is never refitted."""
        if isinstance(refit, (bool, np.bool_)):
            refit = bool(refit)
        elif refit != "auto":
            raise InputError("refit", "must be True, False or 'auto'", value=refit)
        told = set(getattr(self, "knowledge_", {})) - _OF_PARAMETERS
        if told and refit is True:
            problem = "would forget what fit was told of its samples (knowledge_)"
            raise InputError("refit", problem, "fit the model to all samples", value=refit)
        return False if told else refit

    def _update(self, new: list[Any], refit: bool | Literal["auto"], run: Run) -> None:
        """Take checked samples in; notes what changes."""
        before = len(self.labels_)
        trained = Trained(
            self.labels_, self.embedding_, self.rotation_, self.outlier_score_, self.membership_
        )
        growth = grow(self._predictor_, new, trained, run)
        found = growth.prediction
        self._predictor_ = growth.predictor
        self.labels_ = np.concatenate([self.labels_, found.labels])
        self.embedding_ = _append(self.embedding_, found.embedding)
        self.membership_ = _append(self.membership_, found.membership)
        self.outlier_score_ = np.concatenate([self.outlier_score_, found.outlier_score])
        self.graph_ = grow_graph(self.graph_, growth.codes)
        self.affinity_matrix_ = grow_affinity(self.affinity_matrix_, growth.codes)

        total = len(self.labels_)
        n_clustered = self._record_.n_clustered
        changes = self._give_birth()
        changes += self._measure_changes(before)
        if refit is True or (refit == "auto" and total >= _GROWN * n_clustered):
            changes += self._cluster_anew(run)
        self._record_ = self._record_.note(changes, total)

    def _give_birth(self) -> list[Change]:
        """Make clusters of the samples that fit nowhere, where they are clear ones."""
        record = self._record_
        labels = self.labels_
        fresh = np.arange(len(labels)) >= record.n_clustered
        settled = np.bincount(labels[~fresh], minlength=self.n_clusters_) > 0
        rejected = fresh & (self.outlier_score_ > record.limit) & settled[labels]
        born = find_births(self.affinity_matrix_, labels, fresh, rejected)
        if not born:
            return []
        count = self.n_clusters_ + len(born)
        labels = labels.copy()
        embedding = np.zeros((len(labels), count), dtype=self.embedding_.dtype)
        embedding[:, : self.n_clusters_] = self.embedding_
        rotation = np.eye(count)
        rotation[: self.n_clusters_, : self.n_clusters_] = self.rotation_
        ids = record.next_id + np.arange(len(born))
        for at, members in enumerate(born, start=self.n_clusters_):
            labels[members] = at
            embedding[members] = 0.0
            embedding[members, at] = 1.0
        self.labels_ = labels
        self.n_clusters_ = count
        self.embedding_ = embedding
        self.rotation_ = rotation
        if self._predictor_.by_labels:
            self.membership_ = label_shares(self.affinity_matrix_, labels, count)
        else:
            self.membership_ = memberships(embedding @ rotation)
        self.cluster_ids_ = np.concatenate([self.cluster_ids_, ids])
        self.cluster_names_ = np.append(self.cluster_names_, _name(ids, self.cluster_names_))
        self._record_ = record._replace(next_id=int(ids[-1]) + 1, added=record.added + len(born))
        return [
            Change("born", int(number), len(members))
            for number, members in zip(ids, born, strict=True)
        ]

    def _measure_changes(self, before: int) -> list[Change]:
        """Which clusters have grown by the samples from ``before`` on, and which have drifted.

        Samples that came since the last clustering are compared with those that were there then:
        a drift that one small batch does not show is seen over several.
        """
        labels = self.labels_
        ids = self.cluster_ids_
        everyone = np.arange(len(labels))
        settled = np.bincount(labels[:before], minlength=len(ids)) > 0
        grown = np.bincount(labels[before:], minlength=len(ids))
        first = self._record_.n_clustered
        later = np.bincount(labels[first:], minlength=len(ids))
        drift = np.zeros(len(ids))
        seen = set()
        for part in self._predictor_.parts:
            own = everyone if part.samples is None else part.samples
            old = own < first
            for one in part.geometry.base.parts:
                if one.view in seen or part.weight <= 0:
                    continue
                seen.add(one.view)
                source = one.kernel.source
                shift = measure_drift(source, labels[own], old, len(ids))
                drift = np.maximum(drift, shift)
        changes = [
            Change("grew", int(ids[at]), int(grown[at])) for at in np.flatnonzero(grown * settled)
        ]
        return changes + [
            Change("drifted", int(ids[at]), int(later[at]), amount=float(drift[at]))
            for at in np.flatnonzero(drift * grown)
        ]

    def _cluster_anew(self, run: Run) -> list[Change]:
        """Cluster all samples anew, with the numbers and names of the clusters of before."""
        labels = self.labels_
        ids = self.cluster_ids_
        names = dict(zip(ids.tolist(), self.cluster_names_, strict=True))
        record = self._record_
        fresh = np.arange(len(labels)) >= record.n_clustered
        self._store(self._cluster_held(run))
        match = match_clusters(labels, ids, self.labels_, fresh, record.next_id)
        order = match.order
        self.labels_ = np.argsort(order)[self.labels_].astype(np.int32)
        self.rotation_ = self.rotation_[:, order]
        self.membership_ = self.membership_[:, order]
        self.cluster_ids_ = match.ids
        kept = [names[number] for number in match.ids.tolist() if number in names]
        fallow = match.ids[len(kept) :]
        self.cluster_names_ = np.array([*kept, *_name(fallow, kept)], dtype=object)
        self._record_ = record.cluster_anew(self._record_)._replace(next_id=match.next_id)
        return [Change("refitted", -1, len(labels)), *match.changes]


def _find_lacking(layout: Layout) -> str:
    """What a model would have to know of new samples, and does not."""
    if layout.kind == "kernels":
        return "kernel between new samples"
    if layout.has_graph:
        return "edges between new nodes"
    return ""


def _append(rows: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Rows with more behind them, in the precision of the first."""
    return np.concatenate([rows, more.astype(rows.dtype, copy=False)])


def _name(ids: np.ndarray, taken: Any) -> list[str]:
    """The names of new clusters: their numbers, unless somebody has given them to others."""
    taken = set(taken)
    return [f"{number}" if f"{number}" not in taken else f"cluster {number}" for number in ids]
