"""Ordinary tables as they come: clusters before and after a look at the columns.

Run it by ``python -m benchmarks.tables`` after ``pip install --group study``. Each table is
written as CSV, with its ids, years and codes, and clustered by the default model with the number
of known classes: once by its numeric columns as they stand, gaps filled with medians, and once as
``unispectral cluster`` takes it. The classes are used for the adjusted Rand index only.
``--categories`` compares categories that make clusters with categories beside them, on the
tables of `benchmarks.label_free.categories`.
"""

from __future__ import annotations

import argparse
import io
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from benchmarks.label_free import categories
from benchmarks.label_free.data import Absent
from unispectral import UnifiedSpectralClustering
from unispectral.tables import Table, profile, read_table

__all__ = ["TABLES", "compare", "main", "make_customers", "make_survey"]

_WORDS = np.array(["never", "rarely", "sometimes", "often", "always"])
_MOST_ROWS = 600


def _penguins() -> tuple[Any, str]:
    try:
        from palmerpenguins import load_penguins
    except ImportError as error:
        raise Absent("palmerpenguins is not installed; it is in the group 'study'") from error
    return load_penguins(), "species"


def _from_r(package: str, name: str, target: str) -> Callable[[], tuple[Any, str]]:
    return lambda: (categories.MixedTable(package, name, target).frame(), target)


def make_customers() -> tuple[Any, str]:
    """Recency, frequency and value of three segments, with ids, postcodes, dates and copies."""
    rng = np.random.default_rng(0)
    segment = rng.integers(0, 3, 300)

    def factors(*centres: float) -> np.ndarray:
        return np.exp(np.array(centres)[segment] + rng.normal(0, 0.5, len(segment)))

    recency = np.ceil(factors(5.3, 4.0, 2.0))
    frame = pd.DataFrame(
        {
            "customer_id": 10_001 + rng.permutation(300),
            "postcode": rng.integers(1_000, 99_999, 300),
            "recency_days": recency,
            "orders": np.ceil(factors(0.5, 2.0, 3.2)),
            "revenue": factors(3.0, 5.0, 7.0).round(2),
            "last_order": pd.Timestamp("2024-12-31") - pd.to_timedelta(recency, unit="D"),
            "segment": segment,
        }
    )
    frame.loc[5:8, "revenue"] = np.nan
    return pd.concat([frame, frame.head(12)]), "segment"


def make_survey() -> tuple[Any, str]:
    """Twenty-six questions answered in words by three groups."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 200)
    usual = rng.integers(0, 5, (3, 26))
    answers = np.clip(usual[group] + rng.integers(-1, 2, (200, 26)), 0, 4)
    frame = pd.DataFrame(_WORDS[answers], columns=[f"q{j}" for j in range(1, 27)])
    frame.insert(0, "respondent", range(1, 201))
    frame["comment"] = [None, "great", *[None] * 198]
    return frame.assign(group=group), "group"


def _numbered_survey() -> tuple[Any, str]:
    """The same with answers as numbers, and with the numbers of the respondents."""
    frame, target = make_survey()
    places = {word: at for at, word in enumerate(_WORDS)}
    questions = [name for name in frame.columns if name.startswith("q")][:6]
    for question in questions:
        frame[question] = frame[question].map(places)
    return frame[["respondent", *questions, target]], target


def _numbered(load: Callable[..., Any]) -> Callable[[], tuple[Any, str]]:
    """A table of scikit-learn with a column of row numbers, as such files often have."""

    def numbered() -> tuple[Any, str]:
        data = load(as_frame=True)
        frame = data.data.sample(frac=1, random_state=0)
        frame.insert(0, "Id", range(1, len(frame) + 1))
        return frame.assign(species=data.target[frame.index]), "species"

    return numbered


#: Tables by name; each gives a frame and the column with the classes.
TABLES: dict[str, Callable[[], tuple[Any, str]]] = {
    "penguins": _penguins,
    "titanic": _from_r("vcdExtra", "Titanicp", "survived"),
    "customers": make_customers,
    "survey in words": make_survey,
    "survey in numbers": _numbered_survey,
    "mpg": _from_r("ggplot2", "mpg", "class"),
    "iris with ids": _numbered(load_iris),
    "wine with ids": _numbered(load_wine),
    "hawks": _from_r("Stat2Data", "Hawks", "Species"),
    "crabs": _from_r("MASS", "crabs", "sp"),
    "cars": _from_r("MASS", "Cars93", "Type"),
}


def compare(frame: Any, target: str) -> tuple[int, float, float]:
    """The number of classes, and the adjusted Rand index before and after."""
    frame = frame[frame[target].notna()].head(10_000)
    some = np.sort(np.random.default_rng(0).permutation(len(frame))[:_MOST_ROWS])
    content = frame.iloc[some].to_csv(index=False).encode()
    try:
        before = _score(read_table(io.BytesIO(content), truth=target, impute="median"))
    except ValueError:  # no numeric column
        before = np.nan
    after = read_table(io.BytesIO(content), truth=target, encode=True)
    return len(np.unique(after.truth)), before, _score(after)


def _score(table: Table) -> float:
    classes: Any = table.truth
    ready = table.preparation is not None and table.preparation.scale != "none"
    scaling = "none" if ready else "auto"
    model = UnifiedSpectralClustering(len(np.unique(classes)), scaling=scaling, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(adjusted_rand_score(classes, model.fit_predict(table.values)))


def _compare_categories(table: categories.MixedTable) -> tuple[float, float]:
    """The adjusted Rand index with categories in the clusters, and beside them."""
    frame, classes = table.load()
    frame = frame.head(_MOST_ROWS).assign(known_class_=classes[:_MOST_ROWS])
    content = frame.to_csv(index=False).encode()
    kinds = [c.name for c in profile(frame) if c.kind == "category" and c.distinct <= 20]
    found = []
    for use in (kinds, []):
        table_ = read_table(io.BytesIO(content), truth="known_class_", encode=True, use=use)
        found.append(_score(table_))
    return found[0], found[1]


def _print_categories() -> None:
    print(f"{'table':<24} {'used':>7} {'beside':>7}")
    for half, tables in (("design", categories.DESIGN), ("validation", categories.VALIDATION)):
        scores = []
        for table in tables:
            try:
                scores.append(_compare_categories(table))
            except Absent as error:
                print(f"{table.name:<24} {error}")
                return
            print(f"{table.name:<24} {scores[-1][0]:7.3f} {scores[-1][1]:7.3f}", flush=True)
        means = np.mean(scores, axis=0)
        print(f"{f'mean, {half} half':<24} {means[0]:7.3f} {means[1]:7.3f}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both scores of each table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--categories", action="store_true", help="compare ways of categories")
    if parser.parse_args(arguments).categories:
        _print_categories()
        return
    print(f"{'table':<20} {'rows':>5} {'classes':>7} {'before':>7} {'after':>7}")
    scores = []
    for name, load in TABLES.items():
        try:
            frame, target = load()
        except Absent as error:
            print(f"{name:<20} {error}")
            continue
        count, *found = compare(frame, target)
        scores.append(found)
        print(f"{name:<20} {len(frame):5d} {count:7d} {found[0]:7.3f} {found[1]:7.3f}", flush=True)
    means = np.nan_to_num(np.array(scores)).mean(axis=0)
    print(f"{'mean':<20} {'':5} {'':7} {means[0]:7.3f} {means[1]:7.3f}")


if __name__ == "__main__":
    main()
