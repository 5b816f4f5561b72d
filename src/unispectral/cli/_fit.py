"""Run a method on what was read, and tell what it found: to machines, and in lines to people."""

from __future__ import annotations

import shlex
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from unispectral._errors import Sentence, plural
from unispectral._version import __version__
from unispectral.cli._app import say_in_shell
from unispectral.cli._input import Input
from unispectral.cli._methods import METHODS
from unispectral.cli._outputs import say
from unispectral.tables._source import TableError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from unispectral.report import Summary

#: Clusters and kernels that are listed, and the length of the longest bar.
_CLUSTERS = 40
_KERNELS = 5
_WIDTH = 24


#: Columns of so few values are compared with the clusters; from this index on they are the same.
_FEW_VALUES = 20
_ALIKE = 0.9


@dataclass
class CommandFit:
    """A fitted method, its data and its labels."""

    estimator: Any
    data: Input
    method: str
    labels: np.ndarray
    seconds: float
    warnings: list[str] = field(default_factory=list)
    #: A text for each row, whose words describe the clusters.
    texts: np.ndarray | None = None


def fit(estimator: BaseEstimator, data: Input, method: str, *, quiet: bool = True) -> CommandFit:
    """Fit, show how far it has got, and keep warnings as sentences."""
    known = METHODS[method]
    if data.several and not known.views:
        able = ", ".join(name for name, other in METHODS.items() if other.views)
        raise click.UsageError(f"The method {method} takes one table; views are for {able}.")
    _check_rows(estimator.n_clusters, data.n_samples)
    samples = data.samples()
    begun = time.perf_counter()
    verbose = getattr(estimator, "verbose", None)
    if known.ours and not verbose:
        estimator.set_params(verbose=int(not quiet and sys.stderr is not None))
        if not _is_compiled():
            say("The first run compiles its loops, which takes some seconds.", quiet=quiet)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = np.asarray(estimator.fit_predict(samples))
    seconds = time.perf_counter() - begun
    # Packages warn about each other; what the fit says is for people.
    others = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    ours = [warning for warning in caught if not issubclass(warning.category, others)]
    sentences = list(dict.fromkeys(map(_read_warning, ours)))
    sentences += explain_by_one_column(data, labels)
    if known.ours:
        estimator.set_params(verbose=verbose)  # how it was shown is no part of the model
    return CommandFit(estimator, data, method, labels, seconds, sentences, find_texts(data))


def keep_scales(estimator: BaseEstimator, data: Input, scale: str | None) -> None:
    """Leave columns as they are where the user has said how, or a look at them has scaled them.

    Categories, answers and places have distances that no scaling of columns knows of.
    """
    scaled = all(part["scale"] != "none" for part in data.preparation)
    if (scale or scaled) and "scaling" in estimator.get_params(deep=False):
        estimator.set_params(scaling="none")


def explain_by_one_column(data: Input, labels: np.ndarray) -> list[str]:
    """A sentence where the clusters are hardly more than the few values of one column."""
    tables = list(data.tables.values())
    if len(tables) > 1 or tables[0].profile is None or tables[0].frame is None:
        return []
    from sklearn.metrics import adjusted_rand_score

    from unispectral.tables._columns import texts_of

    used = [column for column in tables[0].profile if column.role == "use"]
    for column in used if len(used) > 1 else ():
        if column.distinct > _FEW_VALUES:
            continue
        values = np.array([str(text) for text in texts_of(tables[0].frame[column.name])])
        alike = adjusted_rand_score(values, labels)
        if alike >= _ALIKE:
            told = f"The clusters are hardly more than the values of {column.name!r}"
            index = f"(adjusted Rand index {alike:.2f}, where 1 is the same)"
            remedy = f"--leave-out {shlex.quote(column.name)} shows whether there are others"
            return [f"{told} {index}; {remedy}."]
    return []


def _check_rows(n_clusters: int | str, n_rows: int) -> None:
    """Refuse for every method alike what no clustering can be made of."""
    if n_rows < 2:
        raise TableError("The table", "has one row only", "clusters need two at least")
    if isinstance(n_clusters, int) and n_clusters > n_rows:
        problem = f"is more than the {plural(n_rows, 'row')} of the table"
        raise TableError("n_clusters", problem, "ask for fewer clusters", value=n_clusters)


def find_texts(data: Input) -> np.ndarray | None:
    """The texts beside an embedding: those of a file, or a column of text beside numbered ones.

    The words of the texts describe clusters where the names of the columns say nothing.
    """
    if data.texts is not None:
        return data.texts
    table = next(iter(data.tables.values()))
    if data.several or table.profile is None or table.frame is None:
        return None
    from unispectral.report._columns import Columns
    from unispectral.tables._columns import texts_of

    names = [column.name for column in table.profile if column.kind == "text"]
    if not names or not Columns(table.values, table.columns).numbered.all():
        return None
    return np.array([str(text) for text in texts_of(table.frame[names[0]])], dtype=object)


def describe_fit(fitted: CommandFit) -> Summary:
    """What the clustering comes to, in the words of the shell: for the terminal and the page."""
    from unispectral.report import summarise

    estimator = fitted.estimator
    data = fitted.data
    X, columns = data.stack()
    told = summarise(
        estimator,
        None if data.image_shape or data.is_graph else X,  # single pixels tell nothing
        labels=fitted.labels,
        columns=None if data.is_graph else columns,
        names=data.names,
        texts=fitted.texts,
        preparation=None if data.is_graph else data.preparation,
        samples=None if data.is_graph else data.samples(),
        warnings=fitted.warnings,
    )
    return told.in_words(say_in_shell)


def _read_warning(caught: warnings.WarningMessage) -> str:
    """What a warning says, with the parameters that it names where it is one of ours."""
    arguments = getattr(caught.message, "args", ())
    if arguments and isinstance(arguments[0], Sentence):
        return arguments[0]
    return str(caught.message)


def _is_compiled() -> bool:
    """Whether an earlier run has left compiled loops on the disk."""
    from unispectral.graph import _loops

    stats = getattr(_loops._pivot_blocks, "stats", None)  # None with NUMBA_DISABLE_JIT
    place = stats and stats.cache_path  # None where nothing can be kept
    return stats is None or (place is not None and any(Path(place).glob("_loops.*.nbi")))


def tell(
    method: str, sizes: np.ndarray, seconds: float, truth: Any = None, labels: Any = None
) -> dict[str, Any]:
    """Sizes of the clusters, and scores if the classes are known, as JSON takes them."""
    told = {"method": method, "n_samples": int(sizes.sum()), "n_clusters": len(sizes)}
    told |= {"sizes": sizes.tolist(), "seconds": round(seconds, 3)}
    if truth is not None:
        from unispectral.metrics import scores

        told["scores"] = {name: float(value) for name, value in scores(truth, labels).items()}
    return told


def summarise(fitted: CommandFit) -> dict[str, Any]:
    """What is worth telling about a fit, as JSON takes it."""
    estimator = fitted.estimator
    data = fitted.data
    labels = fitted.labels
    summary = tell(fitted.method, np.bincount(labels), fitted.seconds, data.truth, labels)
    for name in ("converged_", "stop_reason_", "n_iter_"):
        if hasattr(estimator, name):
            summary[name.rstrip("_")] = getattr(estimator, name)
    objective = np.atleast_1d(getattr(estimator, "objective_", ()))
    if len(objective):
        summary["objective"] = float(objective[-1])
    parts = [getattr(estimator, f"kernel_{name}_", ()) for name in ("names", "weights")]
    kernels = dict(zip(*parts, strict=False))
    geometries = getattr(estimator, "geometry_weights_", None)
    for kind, weights in (("geometry", geometries), ("kernel", kernels)):
        if isinstance(weights, dict) and len(weights) > 1:
            ordered = sorted(weights.items(), key=lambda item: -item[1])
            summary[f"{kind}_weights"] = {str(name): float(value) for name, value in ordered}
    summary["scaling"] = dict(getattr(estimator, "scaling_", {}))
    if (count := getattr(estimator, "cluster_count_", None)) is not None:
        summary["why_this_number"] = count.reason
    if hasattr(estimator, "affinity_matrix_"):
        degrees = np.asarray(estimator.affinity_matrix_.sum(axis=1)).ravel()
        summary["points_without_neighbour"] = int((degrees <= 0).sum())
    tables = data.tables.values()
    return summary | {
        "n_features": data.n_features,
        "tables": list(dict.fromkeys(part["source"] for part in data.reading)),
        "dropped": {column: why for table in tables for column, why in table.dropped},
        "warnings": fitted.warnings,
        "parameters": estimator.get_params(deep=False),
        "version": __version__,
    }


def method_lines(summary: dict[str, Any]) -> list[str]:
    """The scores, what the method weighed, and how long it took."""
    lines = [*_score_lines(summary)]
    if weights := summary.get("kernel_weights"):
        from unispectral.plotting.charts import NO_WEIGHT

        heavy = [f"{name} {v:.3f}" for name, v in weights.items() if v >= NO_WEIGHT]
        light = len(weights) - len(heavy)
        more = len(heavy) - _KERNELS
        none = f"; {light} {'has' if light == 1 else 'have'} none"
        named = ", ".join(heavy[:_KERNELS]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"Kernel weights: {named}{none if light else ''}.")
    elif weights := summary.get("geometry_weights"):
        from unispectral.plotting.charts import distances_in_words

        lines.append(f"{distances_in_words(weights)}.")
    how = f"{summary['seconds']:.1f} s"
    if summary.get("n_iter"):
        if summary.get("converged", True):
            state = ""
        else:
            state = "; it did not converge"
        how += f", {plural(summary['n_iter'], 'iteration')}{state}"
    return [*lines, f"Found by {METHODS[summary['method']].name} in {how}."]


def size_lines(summary: dict[str, Any]) -> list[str]:
    """The sizes of the clusters with a bar for each, and the scores."""
    sizes = summary["sizes"]
    lines = ["", "cluster     size    share"]
    for cluster, size in enumerate(sizes[:_CLUSTERS]):
        if size:
            bar = "█" * max(1, round(_WIDTH * size / max(sizes)))
        else:
            bar = ""
        lines.append(f"{cluster:7d} {size:8,d}  {100 * size / sum(sizes):5.1f} %  {bar}")
    if len(sizes) > _CLUSTERS:
        lines.append(f"… and {len(sizes) - _CLUSTERS} more clusters")
    if scored := _score_lines(summary):
        lines += ["", *scored]
    return lines


def _score_lines(summary: dict[str, Any]) -> list[str]:
    if "scores" not in summary:
        return []
    words = {"nmi": "NMI", "ari": "ARI"}
    shown = [
        f"{words.get(name, name.replace('_', ' '))} {value:.3f}"
        for name, value in summary["scores"].items()
    ]
    return [f"Against the known classes: {'  '.join(shown)}"]
