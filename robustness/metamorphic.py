"""What cannot matter: the same samples in other words, and the clusters that are found in them.

A table times a number, moved, with its rows or columns in another order, in single precision, or
beside columns that do not vary holds the same samples, so that the clusters must be the same. One
sample more or less, or every sample twice, must leave clear clusters as they are. Each relation is
tried on all sets on which the model was designed, with their number of clusters and without.

``python -m robustness.metamorphic`` goes through the sets, the small ones first, and writes the
table as it goes; it resumes where it was stopped.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from benchmarks._report import markdown_table
from benchmarks._store import Store

from robustness._design_sets import design_sets
from robustness._results import Part, Plan, Result
from unispectral._files import write_text_atomic

__all__ = ["PARTS", "RELATIONS", "Relation", "agreement"]

_RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
#: Agreement that counts as the same: all but ties that rounding moves.
_SAME = 0.99
#: The same for samples more or less, where the clusters of the fit are those of the reference.
_LIKE, _CLEAR = 0.95, 0.95
#: Factors of a table; those that are powers of two change no digit.
_FACTORS = {
    "1e-12": 1e-12,
    "2^-20": 2.0**-20,
    "0.1": 0.1,
    "2": 2.0,
    "3": 3.0,
    "10": 10.0,
    "2^30": 2.0**30,
    "1e12": 1e12,
}
_CONSTANTS = (1, 2, 7, 50)


class Changed(NamedTuple):
    """A table that was changed: its rows ``new`` are the rows ``old`` of the one before."""

    samples: Any
    old: np.ndarray
    new: np.ndarray


Change = Callable[[Any, np.random.Generator], Changed]


@dataclass(frozen=True)
class Relation:
    """A change of the samples that must not change their clusters.

    Attributes
    ----------
    change : callable
        Of the samples and a generator of random numbers: the changed ones.
    needs_clear : bool
        Whether it is promised only where the clusters are clear.
    dense : bool
        Whether sparse tables have no such change.
    standardised : bool
        Whether it is promised only for tables that are standardised.
    measured : bool
        Whether it is not promised for counts of words: moved or negated ones are none.
    prepare : callable
        What is done to the samples of both fits.
    """

    change: Change
    needs_clear: bool = False
    dense: bool = False
    standardised: bool = False
    measured: bool = False
    prepare: Callable[[Any], Any] | None = None


def _tables(samples: Any, change: Callable[[Any], Any]) -> Any:
    """The same change of every table."""
    if isinstance(samples, dict):
        return {name: change(table) for name, table in samples.items()}
    return change(samples)


def _first(samples: Any) -> Any:
    return next(iter(samples.values())) if isinstance(samples, dict) else samples


def _n_rows(samples: Any) -> int:
    return _first(samples).shape[0]


def _columnwise(change: Callable[[Any, np.random.Generator], Any]) -> Change:
    """A change of tables that leaves the rows where they are."""

    def changed(samples: Any, rng: np.random.Generator) -> Changed:
        rows = np.arange(_n_rows(samples))
        return Changed(_tables(samples, lambda table: change(table, rng)), rows, rows)

    return changed


def _taken(samples: Any, rows: np.ndarray) -> Any:
    return _tables(samples, lambda table: table[rows])


def _permute_rows(samples: Any, rng: np.random.Generator) -> Changed:
    rows = rng.permutation(_n_rows(samples))
    return Changed(_taken(samples, rows), rows, np.arange(len(rows)))


def _remove_row(samples: Any, rng: np.random.Generator) -> Changed:
    n = _n_rows(samples)
    rows = np.delete(np.arange(n), rng.integers(n))
    return Changed(_taken(samples, rows), rows, np.arange(n - 1))


def _double_rows(samples: Any, rng: np.random.Generator) -> Changed:
    n = _n_rows(samples)
    rows = np.tile(np.arange(n), 2)
    return Changed(_taken(samples, rows), rows, np.arange(2 * n))


def _add_outlier(samples: Any, rng: np.random.Generator) -> Changed:
    """One sample a thousand ranges away."""

    def extended(table: Any) -> Any:
        if sp.issparse(table):
            row = sp.csr_array(table[[0]] * 1e3)
            return sp.csr_array(sp.vstack([table, row]))
        row = table.min(axis=0) - 1e3 * float(np.ptp(table, axis=0).max())
        return np.vstack([table, row])

    rows = np.arange(_n_rows(samples))
    return Changed(_tables(samples, extended), rows, rows)


def _move(table: np.ndarray, rng: np.random.Generator, far: float) -> np.ndarray:
    """Every column by another distance, of so many times its spread at most."""
    spread = np.maximum(table.std(axis=0), 1e-300)
    return table + rng.uniform(-far, far, table.shape[1]) * spread


def _add_constants(table: Any, rng: np.random.Generator, count: int) -> Any:
    values = rng.choice([0.0, 1.0, -3.5, 1e6], count)
    if sp.issparse(table):
        return sp.csr_array(sp.hstack([table, sp.csr_array((table.shape[0], count))]))
    return np.hstack([table, np.tile(values, (len(table), 1))])


def _permute_columns(table: Any, rng: np.random.Generator) -> Any:
    return table[:, rng.permutation(table.shape[1])]


def _negate_columns(table: Any, rng: np.random.Generator) -> Any:
    signs = rng.choice([-1.0, 1.0], table.shape[1])
    return sp.csr_array(table * signs) if sp.issparse(table) else table * signs


def _copy_column(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The column with the largest variance twice."""
    return np.column_stack([table, table[:, np.argmax(table.std(axis=0))]])


def _single(table: Any, rng: np.random.Generator | None = None) -> Any:
    return table.astype(np.float32)


def _representable(samples: Any) -> Any:
    return _tables(samples, lambda table: _single(table).astype(np.float64))


def _relations() -> dict[str, Relation]:
    found = {
        f"times {name}": Relation(_columnwise(lambda table, rng, by=by: table * by))
        for name, by in _FACTORS.items()
    }
    for far in (10.0, 1000.0):
        moved = _columnwise(partial(_move, far=far))
        found[f"columns moved by {far:g} deviations"] = Relation(moved, dense=True, measured=True)
    found["rows permuted"] = Relation(_permute_rows)
    found["columns permuted"] = Relation(_columnwise(_permute_columns))
    found["columns negated"] = Relation(_columnwise(_negate_columns), measured=True)
    found["single precision"] = Relation(_columnwise(_single), prepare=_representable)
    for count in _CONSTANTS:
        constant = _columnwise(partial(_add_constants, count=count))
        found[f"{count} constant columns more"] = Relation(constant)
    found["the widest column twice"] = Relation(
        _columnwise(_copy_column), dense=True, standardised=True
    )
    found["one far sample more"] = Relation(_add_outlier, needs_clear=True)
    found["one sample less"] = Relation(_remove_row, needs_clear=True)
    found["every sample twice"] = Relation(_double_rows, needs_clear=True)
    return found


#: Every relation by its name.
RELATIONS = _relations()


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """The adjusted Rand index, 1 only for the same clusters."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(one, other))


def fit(samples: Any, n_clusters: int | str) -> Any:
    """A fitted model, on one thread."""
    from unispectral import UnifiedSpectralClustering

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of doubtful results: the same ones are doubtful again
        return UnifiedSpectralClustering(n_clusters, n_jobs=1).fit(samples)


class Base(NamedTuple):
    """A fit of unchanged samples; ``clear`` says that it finds the classes."""

    labels: np.ndarray
    clear: bool
    standardised: bool
    counted: bool


def base_fit(samples: Any, references: list[np.ndarray], n_clusters: int | str) -> Base:
    model = fit(samples, n_clusters)
    found = [agreement(y[y >= 0], model.labels_[y >= 0]) for y in references]
    done = model.scaling_.values()
    standardised = any(said.startswith("standardised") for said in done)
    counted = any(said.startswith("weighted as counts") for said in done)
    return Base(model.labels_, max(found) >= _CLEAR, standardised, counted)


def applies(relation: Relation, samples: Any, base: Base) -> bool:
    """Whether a relation is promised of these samples."""
    tables = samples.values() if isinstance(samples, dict) else [samples]
    if relation.dense and any(sp.issparse(table) for table in tables):
        return False
    if relation.standardised and not base.standardised:
        return False
    if relation.measured and base.counted:
        return False
    return base.clear or not relation.needs_clear


def try_relation(
    relation: Relation, samples: Any, base: np.ndarray, n_clusters: int | str, seed: int
) -> float:
    """How far the clusters of the changed samples agree with those of the unchanged ones."""
    changed = relation.change(samples, np.random.default_rng(seed))
    labels = fit(changed.samples, n_clusters).labels_
    return agreement(base[changed.old], labels[changed.new])


@cache
def _loaded(name: str) -> tuple[Any, list[np.ndarray]]:
    return next(one for one in design_sets() if one.name == name).load()


@cache
def _base(name: str, n_clusters: int | str, prepare: Any) -> Base:
    samples, references = _loaded(name)
    return base_fit(samples if prepare is None else prepare(samples), references, n_clusters)


def _part(name: str, plan: Plan) -> Result:
    """One relation on all sets."""
    relation = RELATIONS[name]
    result = Result(f"metamorphic: {name}", plan.seed)
    sets = design_sets()[:: plan.pick(12, 1)]
    worst, where, same = 1.0, "", 0
    for one in sets:
        samples, references = _loaded(one.name)
        if relation.prepare is not None:
            samples = relation.prepare(samples)
        for k in (int(references[0].max()) + 1, "auto"):
            base = _base(one.name, k, relation.prepare)
            if not applies(relation, samples, base):
                continue
            found = try_relation(relation, samples, base.labels, k, plan.seed)
            least = _LIKE if relation.needs_clear else _SAME
            case = f"{one.name}, {k} clusters"
            result.check(found >= least, case, f"adjusted Rand index {found:.4f}")
            same += int(found == 1.0)
            if found < worst:
                worst, where = found, f" ({case})"
    result.facts["sets"] = len(sets)
    result.facts["fits with the same clusters"] = f"{same} of {result.n_cases}"
    result.facts["least adjusted Rand index"] = f"{worst:.3f}{where}"
    return result


PARTS: dict[str, Part] = {name: partial(_part, name) for name in RELATIONS}


_HEAD = """# What cannot matter

The same samples in other words: each relation is tried on the {count} sets on which the model was
designed that are here and have at most {most:,} samples, with their number of clusters and with
`"auto"` (`python -m robustness.metamorphic`). A relation holds where the adjusted Rand index of
the two clusterings is .99, or, of samples that are not the same, .95; these are promised only
where the clusters of the fit are those of the reference.

"""


def _try_all(name: str, n_clusters: int | str) -> dict[str, float]:
    """The agreement under every relation that is promised of a set, by their names."""
    samples, _ = _loaded(name)
    found = {}
    for title, relation in RELATIONS.items():
        prepared = samples if relation.prepare is None else relation.prepare(samples)
        base = _base(name, n_clusters, relation.prepare)
        if applies(relation, prepared, base):
            index = try_relation(relation, prepared, base.labels, n_clusters, 0)
            found[title] = round(index, 4)
    return found


def write_table(store: Store, most: int, path: Path | None) -> str:
    """How many of the fits hold, are the same, and the worst, of each relation."""
    cells = store.results("set")
    rows = []
    for title, relation in RELATIONS.items():
        least = _LIKE if relation.needs_clear else _SAME
        for auto in (False, True):
            found = {
                name: indices[title]
                for (name, k), indices in cells.items()
                if title in indices and (k == "auto") == auto
            }
            if found:
                worst = min(found, key=lambda name: found[name])
                rows.append([
                    title,
                    "auto" if auto else "given",
                    len(found),
                    sum(index >= least for index in found.values()),
                    sum(index == 1.0 for index in found.values()),
                    f"{found[worst]:.3f}" + ("" if found[worst] == 1.0 else f" ({worst})"),
                ])  # fmt: skip
    count = len({name for name, _ in cells})
    head = ["relation", "clusters", "fits", "hold", "identical", "least index"]
    text = _HEAD.format(count=count, most=most) + markdown_table(head, rows) + "\n"
    if path is not None:
        write_text_atomic(path, text)
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """Try what is missing, and write the table again after each set."""
    parser = argparse.ArgumentParser(prog="python -m robustness.metamorphic", description=__doc__)
    parser.add_argument("--most-samples", type=int, default=10_000, help="leave out larger sets")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--store", type=Path, default=_RESULTS / "metamorphic.json")
    given = parser.parse_args(arguments)
    store = Store(given.store, fresh=given.fresh)
    names = [one.name for one in design_sets()]
    sizes = {name: _n_rows(_loaded(name)[0]) for name in names}
    for name in sorted(names, key=lambda name: sizes[name]):
        if sizes[name] > given.most_samples:
            break
        for k in (int(_loaded(name)[1][0].max()) + 1, "auto"):
            key = f"set/{name.replace('/', ':')}/{k}"
            store.cell(key, partial(_try_all, name, k), condition="")
        write_table(store, given.most_samples, given.store.with_suffix(".md"))
    print(write_table(store, given.most_samples, given.store.with_suffix(".md")))


if __name__ == "__main__":
    main()
