"""How many clusters, whether there are any, and the advice on it: tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks._report import Target, markdown_table
from benchmarks._store import Store
from benchmarks.label_free.structure import ALARM, ASKED, KINDS
from unispectral.report._sureness import STABLE

#: From this accuracy on, the advice that there is nothing is a false alarm.
HIGH = 0.8


def targets(store: Store) -> list[Target]:
    """The numbers of clusters, and the advice."""
    found = []
    synthetic = list(store.results("count").values())
    if synthetic:
        right = sum(one["ours"] == one["true"] for one in synthetic)
        gap = sum(one["eigengap"] == one["true"] for one in synthetic)
        reached = f"{right} of {len(synthetic)} (eigengap of a 10-neighbour graph: {gap})"
        what = "Number of clusters on well-separated synthetic problems"
        found.append(Target(what, "24 of 24", reached, right == len(synthetic)))
    real = list(store.results("count-real").values())
    if real:
        near = sum(_near(one["ours"], one["true"]) for one in real)
        gap = sum(_near(one["eigengap"], one["true"]) for one in real)
        what = "Number of clusters on real sets, within max(1, 10 %)"
        reached = f"{near} of {len(real)} (eigengap: {gap})"
        found.append(Target(what, "7 of 13", reached, near >= 7))
    for drawn, title in ((False, "seen"), (True, "fresh draws")):
        noise = _noise(store, fresh=drawn)
        if noise:
            right = sum(one["ours"] == 1 for one in noise)
            what, reached = (
                f"One cluster on samples without any ({title})",
                f"{right} of {len(noise)}",
            )
            found.append(Target(what, "18 of 20", reached, right >= 0.9 * len(noise)))
    return [*found, *_advice_targets(store)]


def _advice_targets(store: Store) -> list[Target]:
    found = []
    sets = _advised(store)
    high = {name: one for name, one in sets.items() if one["accuracy"] >= HIGH}
    if high:
        false = [name for name, one in high.items() if _alarm(one["structure"])]
        reached = f"{len(false)} of {len(high)}" + (f" ({', '.join(false)})" if false else "")
        what = f"“No more than chance” where accuracy is at least {HIGH:.0%}"
        found.append(Target(what, "at most 10 %", reached, len(false) <= 0.1 * len(high)))
    for drawn, title in ((False, "seen"), (True, "fresh draws")):
        given = [value for one in _noise(store, fresh=drawn) for value in one["structure"]]
        if given:
            hits = sum(_alarm(value) for value in given)
            what = f"“No more than chance” on samples without clusters ({title})"
            reached = f"{hits} of {len(given)}"
            found.append(Target(what, "at least 90 %", reached, hits >= 0.9 * len(given)))
    return found


def section(store: Store) -> str:
    """Synthetic problems, real sets, samples without clusters, advice, stability."""
    text = _counts(store) + _structureless(store) + _advice(store) + _stability(store)
    return f"## How many clusters, and whether there are any\n\n{text}" if text else ""


def _counts(store: Store) -> str:
    text = ""
    for part, title in (
        ("count", "Synthetic problems (two draws each; at most 30 clusters considered)"),
        ("count-real", "Real sets (at most 150 considered; YALE, ORL, COIL20, TR11, BA: design)"),
    ):
        found: dict[str, list[dict[str, int]]] = {}
        for key, result in store.results(part).items():
            found.setdefault(key[0], []).append(result)
        rows = [
            [name, all_[0]["true"], _listed(all_, "ours"), _listed(all_, "eigengap")]
            for name, all_ in found.items()
        ]
        if rows:
            head = ["problem", "true", 'n_clusters="auto"', "eigengap, 10 neighbours"]
            text += f"### {title}\n\n{markdown_table(head, rows)}\n\n"
    return text


def _structureless(store: Store) -> str:
    results = store.results("structureless")
    rows = []
    for number, (kind, columns, n) in enumerate(KINDS):
        draws = [result for key, result in sorted(results.items()) if key[0] == str(number)]
        if draws:
            alarms = [
                f"{sum(_alarm(one['structure'][at]) for one in draws)} of {len(draws)}"
                for at in range(len(ASKED))
            ]
            rows.append([f"{kind}, {columns} columns", n, _listed(draws, "ours"), *alarms])
    if not rows:
        return ""
    head = ["samples", "n", "numbers found", *(f"alarm, {c} asked" for c in ASKED)]
    return (
        "### Samples without clusters\n\nThe first draw of each was looked at while the rule was "
        'made, the others were not. *Numbers found* are those of `n_clusters="auto"`, where 1 is '
        f"right; *alarm* says how often `structure_` is above {ALARM} when so many clusters are "
        f"asked for.\n\n{markdown_table(head, rows)}\n\n"
    )


def _advice(store: Store) -> str:
    sets = _advised(store)
    rows = [
        [
            name,
            f"{100 * one['accuracy']:.1f}",
            f"{100 * one['ari']:.1f}",
            f"{one['structure']:.2f}",
        ]
        for name, one in sorted(sets.items(), key=lambda pair: -(pair[1]["structure"] or 0.0))
        if _alarm(one["structure"])
    ]
    if not sets:
        return ""
    table = markdown_table(["set", "accuracy", "ARI", "structure_"], rows) if rows else "None."
    return (
        f"### Alarms on the {len(sets)} sets of the study\n\nSets on which a fit with the true "
        f"number of clusters warns that they are no more than chance.\n\n{table}\n"
    )


def _stability(store: Store) -> str:
    """How stable clusters are, by what they are worth."""
    sets = _advised(store).values()
    groups = {
        f"sets with an accuracy of at least {HIGH:.0%}": [
            one["stability"] for one in sets if one["accuracy"] >= HIGH
        ],
        "the other sets": [one["stability"] for one in sets if one["accuracy"] < HIGH],
        "samples without clusters": [
            value for fresh in (False, True) for one in _noise(store, fresh=fresh)
            for value in one["stability"]
        ],
    }  # fmt: skip
    rows = [
        [
            what,
            len(found),
            *(f"{np.quantile(found, share):.2f}" for share in (0.1, 0.5, 0.9)),
            sum(value < STABLE for value in found),
        ]
        for what, found in groups.items()
        if found
    ]
    if not rows:
        return ""
    head = ["clusters of", "number", "tenth", "median", "nine tenths", f"below {STABLE}"]
    return (
        "### Stability\n\nThe adjusted Rand index between a fit and others without a tenth of the "
        "samples (`unispectral.model_selection.stability`, mean of three): its quantiles, and how "
        f"often it is below {STABLE}, where the command line calls clusters unstable.\n\n"
        f"{markdown_table(head, rows)}\n"
    )


def _noise(store: Store, *, fresh: bool) -> list[dict[str, Any]]:
    results = store.results("structureless")
    return [result for key, result in results.items() if (key[1] != "0") is fresh]


def _advised(store: Store) -> dict[str, dict[str, Any]]:
    return {key[0]: result for key, result in store.results("advice").items()}


def _alarm(structure: float | None) -> bool:
    return structure is not None and structure > ALARM


def _near(found: int, true: int) -> bool:
    return abs(found - true) <= max(1.0, 0.1 * true)


def _listed(results: Iterable[dict[str, Any]], name: str) -> str:
    return ", ".join(str(one[name]) for one in results)
