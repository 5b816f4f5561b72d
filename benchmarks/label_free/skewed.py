"""Is one cluster found in skewed and heavy-tailed noise? One command, resumable.

``python -m benchmarks.label_free.skewed`` draws 200 tables without clusters, whose columns are
lognormal, Cauchy, of Student's t with two degrees of freedom, or exponential, and counts their
clusters by ``n_clusters="auto"``. Figures go to docs/results/skewed.json one by one, so that a
second call goes on where the first stopped, and the table to docs/results/skewed.md.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._report import markdown_table
from benchmarks._store import Store
from benchmarks.label_free._fingerprint import behaviour
from unispectral import UnifiedSpectralClustering

__all__ = ["KINDS", "draw_noise", "main"]

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
KINDS = {
    "lognormal": lambda rng, size: rng.lognormal(size=size),
    "Cauchy": lambda rng, size: rng.standard_cauchy(size),
    "Student t, 2": lambda rng, size: rng.standard_t(2, size),
    "exponential": lambda rng, size: rng.exponential(size=size),
}
COLUMNS = (2, 3, 5, 10, 20)
ROWS = (100, 200, 500, 1_000, 2_000)
#: Draws of each kind, number of columns and number of rows.
_DRAWS = 2


def draw_noise(kind: str, columns: int, rows: int, draw: int) -> np.ndarray:
    """Independent columns of one kind; no draw was looked at while the rule was made."""
    number = list(KINDS).index(kind)
    rng = np.random.default_rng([number, columns, rows, draw])
    return KINDS[kind](rng, (rows, columns))


def count(kind: str, columns: int, rows: int, draw: int) -> dict[str, Any]:
    """What is found in one of the tables."""
    X = draw_noise(kind, columns, rows, draw)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model = UnifiedSpectralClustering(committee=False, n_jobs=1).fit(X)
    return {"clusters": int(model.n_clusters_), "structure": round(float(model.structure_), 3)}


def write(store: Store) -> str:
    """How often one cluster is found, by kind and by number of columns and rows."""
    results = store.results("skewed")
    rows = []
    for kind in (*KINDS, "all"):
        own = {key: one for key, one in results.items() if kind in (key[0], "all")}
        cells = [_share(own, 1, columns) for columns in COLUMNS]
        cells += [_share(own, 2, n) for n in ROWS]
        rows.append([kind, *cells, _share(own)])
    head = ["columns of", *(f"{c} columns" for c in COLUMNS), *(f"{n:,} rows" for n in ROWS)]
    return (
        '# Skewed and heavy-tailed noise\n\nHow often `n_clusters="auto"` finds one cluster, '
        f"which is right (`python -m benchmarks.label_free.skewed`).\n\n"
        f"{markdown_table([*head, 'all'], rows)}\n"
    )


def _share(results: dict[tuple[str, ...], Any], at: int = 0, value: int | None = None) -> str:
    some = [one for key, one in results.items() if value is None or key[at] == str(value)]
    return f"{sum(one['clusters'] == 1 for one in some)} of {len(some)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, and write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.label_free.skewed", description=__doc__
    )
    parser.add_argument("--draws", type=int, default=_DRAWS, help="tables of each shape")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--store", type=Path, default=RESULTS / "skewed.json")
    given = parser.parse_args(arguments)
    store = Store(given.store, fresh=given.fresh)
    condition = behaviour("count")
    shapes = itertools.product(range(given.draws), KINDS, COLUMNS, ROWS)
    for draw, kind, columns, rows in shapes:
        work = partial(count, kind, columns, rows, draw)
        store.cell(f"skewed/{kind}/{columns}/{rows}/{draw}", work, condition=condition)
    text = write(store)
    given.store.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
