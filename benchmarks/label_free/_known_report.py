"""The page about known labels and pairs, from the file of its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._store import Store
from unispectral._files import write_text_atomic

#: Sets with a lower accuracy without labels are those where labels are needed.
_NEEDY = 80.0

_HEAD = """# What known labels and pairs gain

A share of the labels is drawn and told (`fit(X, y)` with −1 for the others); the clustering
accuracy is that of the samples whose label was not told, in per cent, the mean of {draws} draws
(`make study-known`). "without" is the same model that is told nothing, on the same samples. In
brackets is the least gain over "without" of any draw. Peers get the same labels and the first
fifty principal components. With few labels many classes have none: of the 15 classes of YALE,
2 % are three labels. How known labels merge and split clusters was chosen on nearly these sets
and draws, validation sets among them, so that the gains are optimistic.

"""

_PAIRS = """
## Pairs

So many pairs as a share of the samples, half of them of one class, half of two, were told as
`must_link` and `cannot_link`; the accuracy is that of all samples. The peer is k-means that pays
for broken pairs (PCK-means of Basu, Banerjee and Mooney, 2004; our own code).

"""


def write(store: Store, path: Path | None) -> str:
    """Write the page beside its figures; its text."""
    labels = _collect(store, "label")
    draws = max((len(one["accuracy"]) for one in store.results("label").values()), default=0)
    text = _HEAD.format(draws=draws)
    text += _table(labels, "told", ["LabelSpreading", "SelfTraining"])
    text += _means(labels)
    text += _PAIRS + _table(_collect(store, "pair"), "linked", ["PCK-means"])
    if path is not None:
        write_text_atomic(path, text)
    return text


def _collect(store: Store, part: str) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """The cells of each set and share, by method."""
    found: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for (name, share, method), cell in store.results(part).items():
        found.setdefault((name, share), {})[method] = cell
    return dict(sorted(found.items(), key=lambda one: (one[0][0].lower(), float(one[0][1]))))


def _table(found: dict[tuple[str, str], dict[str, Any]], ours: str, peers: list[str]) -> str:
    lines = [
        f"| set | known | without | {ours} | gain (least) | {' | '.join(peers)} |",
        "|---|---|---|---|---|" + "---|" * len(peers),
    ]
    for (name, share), cells in found.items():
        if ours not in cells or "without" not in cells:
            continue
        gains = _gains(cells, ours)
        count = cells[ours].get("told") or cells[ours].get("pairs")
        row = [name, f"{100 * float(share):g} % ({count})", _mean(cells["without"])]
        row += [_mean(cells[ours]), f"{gains.mean():+.1f} ({gains.min():+.1f})"]
        row += [_mean(cells[peer]) if peer in cells else "" for peer in peers]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def _gains(cells: dict[str, Any], ours: str) -> np.ndarray:
    return np.array(cells[ours]["accuracy"]) - np.array(cells["without"]["accuracy"])


def _mean(cell: dict[str, Any]) -> str:
    return f"{np.mean(cell['accuracy']):.1f}"


def _means(found: dict[tuple[str, str], dict[str, Any]]) -> str:
    """The mean gain over the sets, of all and of those where the model alone is below 80."""
    lines = [
        "",
        "| known | gain, all sets | gain, sets below 80 | worst set |",
        "|---|---|---|---|",
    ]
    for share in sorted({share for _, share in found}, key=float):
        gains = {}
        needy = []
        for (name, other), cells in found.items():
            if other != share or "told" not in cells or "without" not in cells:
                continue
            gains[name] = float(_gains(cells, "told").mean())
            if np.mean(cells["without"]["accuracy"]) < _NEEDY:
                needy.append(name)
        if not gains:
            continue
        worst = min(gains, key=lambda name: gains[name])
        below = f"{np.mean([gains[name] for name in needy]):+.1f} ({len(needy)})" if needy else ""
        lines.append(
            f"| {100 * float(share):g} % | {np.mean(list(gains.values())):+.1f} ({len(gains)}) "
            f"| {below} | {worst} {gains[worst]:+.1f} |"
        )
    return "\n".join(lines) + "\n"
