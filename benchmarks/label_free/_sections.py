"""The parts of the report beside the main table; here kernels of noise, outliers, new points."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._report import Target, markdown_table
from benchmarks._store import Store
from benchmarks.label_free import _count_report, _suite_report, _views_report


def targets(store: Store) -> list[Target]:
    """Target, reached and met of every part that ran."""
    found = [*_suite_report.targets(store), *_views_report.targets(store)]
    found += [*_count_report.targets(store), *_split_targets(store)]
    return [*found, *_noise_targets(store), *_outlier_targets(store)]


def sections(store: Store) -> list[str]:
    """Every part that ran, as Markdown."""
    reports = (_suite_report, _views_report, _count_report)
    found = [report.section(store) for report in reports]
    return [*found, _splits(store), _noise(store), _outliers(store)]


def _table(head: list[str], rows: list[list[Any]]) -> str:
    return markdown_table(head, rows) + "\n"


def _noise_loss(store: Store) -> dict[tuple[int, int, int], dict[str, tuple[float, float]]]:
    """Loss in points and weight of the noise, by case and set."""
    found: dict[tuple[int, int, int], dict[str, tuple[float, float]]] = {}
    results = store.results("noise")
    for (name, good, noise, features), result in results.items():
        clean = results.get((name, good, "0", "10"))
        if noise != "0" and clean is not None:
            loss = 100.0 * (clean["accuracy"] - result["accuracy"])
            case = (int(good), int(noise), int(features))
            found.setdefault(case, {})[name] = (loss, result["noise_weight"])
    return dict(sorted(found.items(), reverse=True))


def _noise_targets(store: Store) -> list[Target]:
    out = []
    for (good, noise, features), losses in _noise_loss(store).items():
        mean = float(np.mean([loss for loss, _ in losses.values()]))
        worst = max(losses, key=lambda name: losses[name][0])
        kernels = "one good kernel" if good == 1 else f"{good} good kernels"
        out.append(
            Target(
                f"Cost of {noise} noise kernels ({features} features) beside {kernels}",
                "at most 2 points",
                f"{mean:.1f} on average, worst {losses[worst][0]:.1f} ({worst})",
                mean <= 2.0,
            )
        )
    return out


def _noise(store: Store) -> str:
    losses = _noise_loss(store)
    if not losses:
        return ""
    results = store.results("noise")
    names = sorted({key[0] for key in results})
    rows = []
    for good in sorted({int(key[1]) for key in results}, reverse=True):
        clean = [results.get((name, str(good), "0", "10")) for name in names]
        values = [f"{100 * one['accuracy']:.1f}" if one else "" for one in clean]
        rows.append([f"{good} good", *values])
        for (own, noise, features), found in losses.items():
            if own == good:
                cells = [
                    f"{0.0 - found[name][0]:+.1f} ({found[name][1]:.2f})" if name in found else ""
                    for name in names
                ]
                rows.append([f"{good} good + {noise} noise, {features} features", *cells])
    return (
        "## Kernels of pure noise\n\nGood are the Gaussian kernels of 1, 2 and 4 times the median "
        "distance; noise are the Gaussian kernels of points drawn at random, given as "
        "precomputed matrices. Accuracy without noise, then its change and, in brackets, the "
        "weight that the noise got.\n\n" + _table(["kernels", *names], rows)
    )


def _means(store: Store, part: str) -> dict[str, dict[str, float]]:
    """Mean over seeds of every quantity, by set."""
    found: dict[str, list[dict[str, float]]] = {}
    for key, result in store.results(part).items():
        found.setdefault(key[0], []).append(result)
    return {
        name: {quantity: float(np.mean([one[quantity] for one in all_])) for quantity in all_[0]}
        for name, all_ in found.items()
    }


def _outlier_targets(store: Store) -> list[Target]:
    found = _means(store, "outliers")
    if not found:
        return []
    areas = {name: one["auc"] for name, one in found.items()}
    below = [f"{name} {area:.2f}" for name, area in areas.items() if area < 0.9]
    mean = float(np.mean(list(areas.values())))
    reached = f"{mean:.3f} on average, {len(areas) - len(below)} of {len(areas)} sets"
    if below:
        reached += f" (below: {', '.join(below)})"
    return [
        Target("Outlier score with 5 % uniform noise", "AUC at least .9", reached, mean >= 0.9)
    ]


def _outliers(store: Store) -> str:
    found = _means(store, "outliers")
    if not found:
        return ""
    rows = [
        [name, *(f"{one[c]:.3f}" for c in ("auc", "lof", "forest"))] for name, one in found.items()
    ]
    rows.append(
        [
            "*mean*",
            *(f"{np.mean([o[c] for o in found.values()]):.3f}" for c in ("auc", "lof", "forest")),
        ]
    )
    return (
        "## Outliers\n\nOne point drawn uniformly from the bounding box is added for every twenty "
        "samples of a design set; area under the ROC curve of `outlier_score_`, beside "
        "scikit-learn's LocalOutlierFactor and IsolationForest with their defaults. In two "
        "dimensions some of the added points fall inside the clusters, where no score can tell "
        "them.\n\n" + _table(["set", "unispectral", "LOF", "IsolationForest"], rows)
    )


def _split_targets(store: Store) -> list[Target]:
    found = _means(store, "split")
    if not found:
        return []
    lost = {name: 100.0 * (one["at_once"] - one["held_out"]) for name, one in found.items()}
    beyond = [f"{name} {loss:.1f}" for name, loss in lost.items() if loss > 3.0]
    mean = float(np.mean(list(lost.values())))
    reached = f"{len(lost) - len(beyond)} of {len(lost)} sets within"
    if beyond:
        reached += f" (beyond: {', '.join(beyond)})"
    same = min(one["same_on_training"] for one in found.values())
    return [
        Target(
            "New points: mean accuracy lost on held-out halves",
            "3 points",
            f"{mean:.1f}",
            mean <= 3.0,
        ),
        Target(
            "New points: accuracy lost on the held-out half", "3 on every set", reached, not beyond
        ),
        Target(
            "predict on the training points gives their labels",
            "at least 99 %",
            f"{100 * same:.1f} % at worst",
            same >= 0.99,
        ),
    ]


def _splits(store: Store) -> str:
    found = _means(store, "split")
    if not found:
        return ""
    columns = ("at_once", "clustered_half", "held_out")
    rows = [
        [
            name,
            *(f"{100 * one[column]:.1f}" for column in columns),
            f"{100 * (one['held_out'] - one['at_once']):+.1f}",
        ]
        for name, one in found.items()
    ]
    head = ["set", "clustered at once", "clustered half", "predicted half", "difference"]
    return (
        "## New points\n\nHalf of each class is clustered and the other half predicted, against "
        "the accuracy on that other half when all points are clustered at once (three "
        "splits). The accuracy on the clustered half tells what is lost by clustering half the "
        "points from what is lost by predicting.\n\n" + _table(head, rows)
    )
