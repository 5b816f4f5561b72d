"""What is each part of the model worth? One command, resumable: ``make study-parts``.

Every part is switched off in turn, the others stay. Each data set is one pair, with the part and
without it; the mean of the differences has an interval by resampling the sets. Design sets are
those on which the model was made, validation sets took no part in it. A few problems are made for
parts that protect against failures which these sets do not show. Figures go to
docs/results/parts.json one by one, so that a second call goes on where the first stopped.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._store import Store
from benchmarks.field import data as folders
from benchmarks.label_free import suite, views
from benchmarks.label_free._fingerprint import behaviour
from benchmarks.label_free._made import DRAWS, MADE
from benchmarks.label_free._parts_report import write
from benchmarks.label_free.data import SETS, Absent
from unispectral.labelfree import Recipe, cluster
from unispectral.labelfree._recipe import MEMBERS
from unispectral.labelfree._scaling import scaling_of

__all__ = ["PARTS", "Part", "main"]

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
#: Sets that take minutes, or are there in another form.
_LEFT_OUT = ("TDT2", "MNIST 5k", "AR")
#: The share of the rows that each view lacks where completion is measured.
_LACKING = 0.2


@dataclass(frozen=True)
class Part:
    """A part of the model: what it does, and how it is switched off.

    ``kinds`` are the kinds of problems on which it can matter. ``scaled`` is how a table was
    scaled that is then taken as it is.
    """

    name: str
    does: str
    off: Mapping[str, Any] = field(default_factory=dict)
    kinds: tuple[str, ...] = ("table", "views")
    scaled: str = ""


def _without(kind: str) -> tuple[str, ...]:
    """The members of the vote but one."""
    return tuple(one for one in MEMBERS if one != kind)


_TABLE = ("table",)
_VIEWS = ("views",)
ALL = Part("all parts", "the model as it is")
PARTS = (
    Part("order", "samples are taken in an order of their own", {"order": False}),
    Part("copies", "equal rows are fitted once, and count as often", {"copies": False}),
    Part("standardising", "columns in different units are standardised", scaled="standardised"),
    Part("word counts", "counts of words are weighted", scaled="weighted as counts"),
    Part("selection", "whitened geometries compete with the plain one", {"whiten": ()}),
    Part("second look", "others are looked at where none shows clusters", {"reconsider": False}),
    Part("repair", "components too small to be clusters are joined to others", {"repair": False}),
    Part("joining", "no more components than clusters are left", {"join": False}),
    Part("coupling", "distances in the embedding raise the penalties of edges", {"max_iter": 1}),
    Part("refinement", "clusters are merged and split on the graph", {"refine": False}),
    Part(
        "core samples", "samples of low density are labelled last", {"core_first": False}, _TABLE
    ),
    Part("view selection", "views that show nothing get weight 0", {"select": False}, _VIEWS),
    Part("own graphs", "each view's graph is a quarter of the sum", {"fused_share": 1.0}, _VIEWS),
    Part("other weights", "views by other weights compete", {"reweigh": False}, _VIEWS),
    Part(
        "completion",
        "rows that a view lacks are put where their neighbours in others are",
        {"complete": False},
        ("lacking",),
    ),
    Part("vote", "candidates of other kinds vote", {"committee": False}, _TABLE),
    *(
        Part(f"vote of {kind}", f"{does} takes part", {"members": _without(kind)}, _TABLE)
        for kind, does in (
            ("graph", "a graph of another number of neighbours, and its communities,"),
            ("communities", "the communities of that graph, in many columns,"),
            ("mixture", "a mixture of Gaussians"),
            ("trees", "a pair of clusterings by a spanning tree, in few columns,"),
        )
    ),
)


@dataclass(frozen=True)
class Problem:
    """Samples with one or several reference labellings; 0 is noise."""

    name: str
    half: str
    kind: str
    load: Callable[[], tuple[Any, list[np.ndarray]]]
    #: The only part that is switched off here; any that can matter otherwise.
    part: str = ""


def problems() -> Iterator[Problem]:
    """All problems whose data are here."""
    for half in suite.HALVES:
        for one in folders.problems(f"suite-{half}"):
            yield Problem(f"suite, {one.name}", half, "table", partial(suite.load, one.name))
    for one in folders.problems("shapes"):
        yield Problem(f"shapes, {one.name}", "design", "table", partial(_load_folder, one))
    for name, one in SETS.items():
        half = "design" if one.role == "design" else "validation"
        if name not in _LEFT_OUT:
            yield Problem(f"tables, {name}", half, "table", partial(_load_set, name))
    for one in folders.problems("views"):
        yield Problem(f"views, {one.name}", "design", "views", partial(_load_folder, one))
        yield _lack(f"lacking, {one.name}", "design", one.load)
    for name, problem in views.PROBLEMS.items():
        half = "design" if problem.seen else "validation"
        yield Problem(f"views, {name}", half, "views", partial(_load_folder, problem))
        yield _lack(f"lacking, {name}", half, problem.load)


def _lack(name: str, half: str, load: Callable[[], Any]) -> Problem:
    return Problem(name, half, "lacking", partial(_load_lacking, load), "completion")


def made_problems() -> Iterator[Problem]:
    """Those that were made for a part, a few draws of each."""
    for part, (_, make) in MADE.items():
        for draw in range(DRAWS):
            load = partial(_load_made, make, draw)
            yield Problem(f"made, {part} {draw}", "made", "made", load, part)


def _load_made(make: Callable[..., Any], draw: int) -> tuple[Any, list[np.ndarray]]:
    X, y = make(np.random.default_rng(draw))
    return X, [y + 1]


def _load_folder(one: folders.Problem | views.Problem) -> tuple[Any, list[np.ndarray]]:
    X, y = one.load()
    return X, [y + 1]


def _load_set(name: str) -> tuple[Any, list[np.ndarray]]:
    X, y = SETS[name].load()
    return X, [y + 1]


def _load_lacking(load: Callable[[], Any]) -> tuple[Any, list[np.ndarray]]:
    """Views each of which lacks a fifth of the samples, no sample all of them."""
    given, y = load()
    rng = np.random.default_rng(0)
    lacking = rng.random((len(y), len(given))) < _LACKING
    lacking[lacking.all(axis=1), 0] = False
    tables = {}
    for at, (name, table) in enumerate(given.items()):
        table = np.array(table.toarray() if hasattr(table, "toarray") else table, dtype=float)
        table[lacking[:, at]] = np.nan
        tables[name] = table
    return tables, [y + 1]


def _is_scaled(X: Any, how: str) -> bool:
    """Whether a table, or one of several, is scaled by some rule."""
    tables = X.values() if isinstance(X, Mapping) else [X]
    return any(scaling_of(table, "auto")[1].startswith(how) for table in tables)


def measure(X: Any, references: Sequence[np.ndarray], part: Part) -> dict[str, float]:
    """The adjusted Rand index of a fit without a part, and its CPU seconds on one thread."""
    best, seconds = -1.0, 0.0
    scaling = "none" if part.scaled else "auto"
    for k in sorted({int(y.max()) for y in references}):
        recipe = replace(Recipe(n_clusters=k), **part.off)
        begun = time.process_time()
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            labels = cluster(X, recipe, scaling=scaling, n_jobs=1).labels
        seconds += time.process_time() - begun
        for y in references:
            if int(y.max()) == k:
                best = max(best, float(adjusted_rand_score(y[y > 0], labels[y > 0])))
    return {"ari": round(best, 4), "seconds": round(seconds, 3)}


def run(store: Store, halves: Sequence[str], parts: Sequence[Part], most: int) -> None:
    """Measure what is missing: problem by problem, so that each is loaded once.

    In an order drawn once, so that a run that is stopped has seen some of all kinds.
    """
    condition = f"{Recipe()}; {behaviour('labels')}; {behaviour('kernels')}"
    found = list(problems())
    order = np.random.default_rng(0).permutation(len(found))
    for problem in [*made_problems(), *(found[at] for at in order)]:
        if problem.half not in halves:
            continue
        try:
            X, references = problem.load()
        except Absent:
            continue
        if len(references[0]) > most:
            continue
        whole: dict[str, float] = {}
        for part in (ALL, *parts):
            if part is not ALL and not applies(part, problem):
                continue
            key = "/".join(("part", problem.half, problem.name.replace("/", ":"), part.name))
            work = partial(measure, X, references, part)
            if part.scaled and not _is_scaled(X, part.scaled):
                work = partial(dict, whole)  # the same fit
            result = store.cell(key, work, condition=condition)
            whole = whole or result


def applies(part: Part, problem: Problem) -> bool:
    """Whether a part is switched off on a problem."""
    if problem.part:
        return problem.part == part.name
    return problem.kind in part.kinds


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study, or what is missing of it, and write the report."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.label_free.parts", description=__doc__
    )
    parser.add_argument("--parts", help="names of parts, separated by commas; all otherwise")
    halves = "made,design,validation"
    parser.add_argument("--halves", default=halves, help=f"of {halves}")
    parser.add_argument(
        "--most-samples", type=int, default=10_000, help="leave out sets that have more"
    )
    parser.add_argument("--report", action="store_true", help="only write the report again")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--store", type=Path, default=RESULTS / "parts.json")
    given = parser.parse_args(arguments)
    known = {part.name: part for part in PARTS}
    wanted = list(known) if given.parts is None else given.parts.split(",")
    for name in wanted:
        if name not in known:
            raise SystemExit(f"--parts {name!r} is not one of {', '.join(known)}.")
    store = Store(given.store, fresh=given.fresh)
    if not given.report:
        parts = [known[name] for name in wanted]
        run(store, given.halves.split(","), parts, given.most_samples)
    print(write(store, PARTS, given.store.with_suffix(".md")))


if __name__ == "__main__":
    main()
