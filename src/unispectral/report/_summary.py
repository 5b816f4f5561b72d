"""What a clustering comes to, in words: one text for the terminal, the page and Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from unispectral._alignment import align_to_fit
from unispectral._errors import InputError, Sentence
from unispectral.report._advice import advice
from unispectral.report._clusters import as_numbers, certainty_of, contrasts
from unispectral.report._columns import Columns
from unispectral.report._names import Portrait, draw_portraits, name_by_words
from unispectral.report._sureness import find_way_out, measure_sureness, tell_sureness

#: Samples that are named, and clusters that are listed.
_NAMED, _LISTED = 8, 40


class ClusterSummary(NamedTuple):
    """One cluster in a line.

    ``name`` is the one that was given, ``proposal`` what it might be called; both may be empty.
    """

    number: int
    size: int
    share: float
    name: str
    proposal: str
    text: str


@dataclass(frozen=True)
class Summary:
    """What a clustering comes to; printed, it is the text that the terminal and the page show.

    Attributes
    ----------
    answer : str
        How many clusters of how many samples.
    why : str
        Why this number.
    sure : str
        How sure that is, in words and a number.
    clusters : tuple of ClusterSummary
    outliers : str
        Which samples fit nowhere; empty where the model cannot tell.
    columns : tuple of str
        What was done to the columns, and what the fit was told of the samples.
    diagnostics : tuple of str
        What speaks against the clusters, and what to try instead.
    stability : float or None
        The agreement behind ``sure``.
    others : dict
        The agreement of other numbers of clusters, by number.
    by : str
        Whose agreement that is: of "candidates" for the clusters, or of "fits" without a tenth of
        the samples.
    """

    answer: str
    why: str = ""
    sure: str = ""
    clusters: tuple[ClusterSummary, ...] = ()
    outliers: str = ""
    columns: tuple[str, ...] = ()
    diagnostics: tuple[str, ...] = ()
    stability: float | None = None
    others: Mapping[int, float] = field(default_factory=dict)
    by: str = ""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return str(self)

    def sentences(self) -> list[str]:
        """The sentences before the clusters, and those after them."""
        return [text for text in (*self.head(), *self.foot()) if text]

    def head(self) -> list[str]:
        """How many clusters, why, and how sure."""
        return [text for text in (self.answer, self.why, self.sure) if text]

    def foot(self) -> list[str]:
        """Which samples fit nowhere, and what was done to the columns."""
        return [text for text in (self.outliers, *self.columns) if text]

    def lines(self) -> list[str]:
        """The text in lines: the answer, the clusters, the rest, the diagnostics."""
        lines = self.head()
        if len(self.clusters) > 1:
            lines += ["", *self._table()]
        if self.foot():
            lines += ["", *self.foot()]
        if self.diagnostics:
            lines += [
                "",
                "What speaks against it:",
                *(f"- {sentence}" for sentence in self.diagnostics),
            ]
        return lines

    def _table(self) -> list[str]:
        called = [one.name or one.proposal for one in self.clusters[:_LISTED]]
        width = max([len("name"), *map(len, called)])
        named = f"{'name':<{width}}  " if any(called) else ""
        apart = "what sets it apart" if any(one.text for one in self.clusters) else ""
        lines = [f"cluster     size    share  {named}{apart}".rstrip()]
        for one, name in zip(self.clusters, called, strict=False):
            shown = f"{name:<{width}}  " if named else ""
            line = f"{one.number:7d} {one.size:8,d}  {100 * one.share:5.1f} %  {shown}{one.text}"
            lines.append(line.rstrip())
        if len(self.clusters) > _LISTED:
            lines.append(f"… and {len(self.clusters) - _LISTED} more clusters")
        return lines

    def in_words(self, reword: Callable[[str], str]) -> Summary:
        """The same with every sentence about parameters in other words, such as a shell's."""
        return replace(
            self,
            why=reword(self.why),
            sure=reword(self.sure),
            outliers=reword(self.outliers),
            columns=tuple(map(reword, self.columns)),
            diagnostics=tuple(map(reword, self.diagnostics)),
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as plain texts and numbers, for a page or a file."""
        return {
            "answer": self.answer,
            "why": self.why,
            "sure": self.sure,
            "clusters": [one._asdict() for one in self.clusters],
            "outliers": self.outliers,
            "columns": list(self.columns),
            "diagnostics": list(self.diagnostics),
            "stability": self.stability,
            "others": {str(count): value for count, value in self.others.items()},
            "by": self.by,
        }


def summarise(
    model: object,
    X: object = None,
    *,
    labels: object = None,
    columns: Sequence[str] | None = None,
    names: object = None,
    texts: object = None,
    preparation: Sequence[dict[str, Any]] | None = None,
    samples: object = None,
    warnings: Sequence[str] | None = None,
    refit: bool = True,
) -> Summary:
    """Say what a clustering comes to: how many clusters and why, how sure, and what each is.

    Parameters
    ----------
    model : fitted clusterer, or Pipeline that ends in one
    X : data frame, array, sparse matrix, or list or dict of these, default=None
        The samples of the fit. Without them nothing is said of columns and of stability.
    labels : array of shape (n,), default=None
        Of a model without ``labels_``.
    columns : sequence of str, default=None
        Names of the columns of X.
    names : sequence, default=None
        Names of the samples.
    texts : sequence of str, default=None
        A text for each sample, whose words describe the clusters in place of columns: of documents
        that were clustered by an embedding.
    preparation : sequence of dict, default=None
        How columns were scaled, as :func:`unispectral.tables.read_table` has it.
    samples : as X, default=None
        The samples of the fit, if X is the same in other units. Columns of X that the fit did not
        have describe the clusters, too.
    warnings : sequence of str, default=None
        What the fit warned of, in place of what the model kept of it.
    refit : bool, default=True
        Whether up to 3,000 samples are clustered three more times, each without a tenth of them,
        to tell how stable the clusters are and which other number is.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral import UnifiedSpectralClustering
    >>> from unispectral.report import summarise
    >>> X = np.concatenate([np.arange(8.0), 50 + np.arange(8.0)])[:, None]
    >>> print(summarise(UnifiedSpectralClustering(2).fit(X), X, columns=["age"]))
    2 clusters of 16 samples.
    Why 2: so many were asked for; n_clusters='auto' leaves it to the data.
    How sure: 100 % of the samples belong clearly to one cluster.
    <BLANKLINE>
    cluster     size    share  name      what sets it apart
          0        8   50.0 %  low age   age 3.5 (others 53.5)
          1        8   50.0 %  high age  age 53.5 (others 3.5)
    <BLANKLINE>
    Fit nowhere: none; no sample stands apart from all others.
    """
    pipeline = model
    if hasattr(model, "steps"):
        model = model.steps[-1][1]
    labels = read_labels(model, labels)
    if not isinstance(X, Columns):
        X = align_to_fit(X, model)
    names = align_to_fit(names, model, argument="names")
    texts = align_to_fit(texts, model, argument="texts")
    sizes = np.bincount(labels)
    table = read_columns(X, labels, columns, preparation, model)
    sure = measure_sureness(pipeline, X if samples is None else samples, labels, refit)
    certainty = certainty_of(model, None if table is None else table.X, labels).value
    if warnings is None:
        warnings = getattr(model, "diagnostics_", ())
    return Summary(
        answer=_answer(labels, model),
        why=_why(model, len(sizes)),
        sure=tell_sureness(sure, certainty, len(sizes)),
        clusters=_describe(model, labels, table, texts),
        outliers=_outliers(model, names),
        columns=(*_scaling(model), *_tell_knowledge(model)),
        diagnostics=(*advice(model, labels, certainty, warnings), *find_way_out(sure, len(sizes))),
        stability=sure.value,
        others=sure.others,
        by=sure.by,
    )


def read_labels(model: object, labels: object) -> np.ndarray:
    """The clusters as numbers from 0, of the model or as given."""
    labels = getattr(model, "labels_", None) if labels is None else labels
    if labels is None:
        raise InputError("estimator", "has no labels_", "fit it first, or give labels")
    labels = np.asarray(labels)
    if labels.ndim != 1 or len(labels) == 0 or labels.dtype.kind not in "iu" or labels.min() < 0:
        problem = "must be whole numbers from 0, one for each sample"
        raise InputError("labels", problem, "where −1 is noise, give labels=model.labels_ + 1")
    return labels.astype(np.int64)


def _answer(labels: np.ndarray, model: object) -> str:
    n, count = len(labels), int(labels.max()) + 1
    samples = "1 sample" if n == 1 else f"{n:,} samples"
    if count > 1:
        return f"{count} clusters of {samples}."
    if getattr(model, "cluster_count_", None) is not None:
        return f"No clusters: all {samples} are one."
    return f"1 cluster of {samples}."


def _why(model: object, count: int) -> str:
    """Why this number, and which came next."""
    found = getattr(model, "cluster_count_", None)
    born = _count_born(model)
    since = f"; since then {born} more {'was' if born == 1 else 'were'} born" if born else ""
    if found is not None:
        return f"Why {count}: {found.reason}{_runner_up(found)}{since}."
    if not hasattr(model, "structure_"):
        return ""
    if born:
        return f"Why {count}: {count - born} were asked for{since}."
    asked = f"Why {count}: so many were asked for; {{n_clusters}} leaves it to the data."
    return Sentence(asked, n_clusters="auto")


def _count_born(model: object) -> int:
    """The clusters of a model that were born since all samples were clustered together."""
    record = getattr(model, "_record_", None)
    if record is None:
        return 0
    from unispectral.living.report import count_born

    return count_born(record)


def _runner_up(found: Any) -> str:
    """The number with the next best evidence, with both figures."""
    scores = np.asarray(found.scores, dtype=float)
    counts = np.arange(2, len(scores) + 2)
    others = np.flatnonzero((counts != found.n_clusters) & np.isfinite(scores))
    if not len(others):
        return ""
    best = others[np.argmax(scores[others])]
    if found.n_clusters < 2:
        return f"; of more than one, {counts[best]} would stand out most"
    own = scores[found.n_clusters - 2]
    digits = 2 if f"{own:.2f}" != f"{scores[best]:.2f}" else 4
    told = f"{scores[best]:.{digits}f} against {own:.{digits}f}".replace("-", "−")
    if scores[best] > own:
        hardly = f"{counts[best]} has hardly more evidence ({told})"
        return f"; {hardly}, and of like evidence the smallest number is taken"
    return f"; next best is {counts[best]} (evidence {told})"


def read_columns(
    X: object,
    labels: np.ndarray,
    columns: Sequence[str] | None,
    preparation: Sequence[dict[str, Any]] | None,
    model: object,
) -> Columns | None:
    """The columns of the samples, with the names that they have; None without samples."""
    if X is None:
        return None
    if isinstance(X, Columns):
        return X
    asked = columns
    if columns is None and not hasattr(X, "columns"):
        columns = getattr(model, "feature_names_in_", None)
    tables = list(X.values()) if isinstance(X, Mapping) else [X]
    named = columns is not None or all(hasattr(table, "columns") for table in tables)
    table = as_numbers(X, len(labels), columns)
    count = len(table.names)
    if asked is not None and len(asked) != count:
        raise InputError("columns", f"has {len(asked)} names, but X {count} columns")
    return Columns(table.values, table.names, preparation, named=named, plans=table.plans)


def _describe(
    model: object, labels: np.ndarray, table: Columns | None, texts: Any
) -> tuple[ClusterSummary, ...]:
    sizes = np.bincount(labels)
    portraits = [Portrait("", "") for _ in sizes]
    if texts is not None:
        portraits = name_by_words(texts, labels)
    elif table is not None:
        portraits = draw_portraits(table, contrasts(table.X, labels), labels)
    names = given_names(model, len(sizes))
    return tuple(
        ClusterSummary(number, int(size), float(size / len(labels)), name, *portrait)
        for number, (size, name, portrait) in enumerate(zip(sizes, names, portraits, strict=True))
    )


def given_names(model: object, count: int) -> list[str]:
    """The names that ``rename`` gave to clusters; empty for the others."""
    names = getattr(model, "cluster_names_", None)
    if names is None or len(names) != count:
        return [""] * count
    return ["" if name == str(number) else str(name) for number, name in enumerate(names)]


def _outliers(model: Any, names: Any) -> str:
    outlier = getattr(model, "outlier_", None)
    if outlier is None:
        return ""
    found = np.flatnonzero(outlier)
    if not len(found):
        return "Fit nowhere: none; no sample stands apart from all others."
    order = found[np.argsort(-np.asarray(model.outlier_score_)[found], kind="stable")][:_NAMED]
    called = [str(names[i]) if names is not None else str(i) for i in order]
    rows = "" if names is not None else ("row " if len(found) == 1 else "rows ")
    more = f" and {len(found) - len(called):,} more" if len(found) > len(called) else ""
    share = f"{len(found):,} of {len(outlier):,} samples"
    return f"Fit nowhere: {share}, the oddest first: {rows}{', '.join(called)}{more}."


def _tell_knowledge(model: object) -> list[str]:
    """What the fit was told of its samples."""
    told = getattr(model, "knowledge_", None)
    if not told:
        return []
    from unispectral.knowledge._read import put_in_words

    return [put_in_words(told)]


def _scaling(model: Any) -> list[str]:
    scaling = getattr(model, "scaling_", None)
    if not isinstance(scaling, Mapping):
        return []
    told: list[str] = []
    shifts = model._predictor_.layout.shifts
    for (table, reason), shift in zip(scaling.items(), shifts, strict=False):
        if shift is not None and shift.is_standardised:
            of = "" if table == "X" else f" of {table}"
            how = f"Columns{of}: {reason} ({{scaling}} leaves them as they are)."
            told.append(Sentence(how, scaling="none"))
    return told
