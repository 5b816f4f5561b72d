"""The page about known labels and pairs, from the file of its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._store import Store
from unispectral._files import write_text_atomic

#: Sets by which the rules were chosen.
_DESIGN = ("TR45", "TR11", "COIL20", "digits", "WebKB")
#: Sets with a lower accuracy without labels are those where labels are needed.
_NEEDY = 80.0

_HEAD = """# What known labels and pairs gain

A share of the labels is drawn and told (`fit(X, y)` with −1 for the others); the clustering
accuracy is that of the samples whose label was not told, in per cent, the mean of {draws} draws
(`make study-known`). "without" is the same model that is told nothing, on the same samples. In
brackets is the least gain over "without" of any draw. Peers get the same labels and the first
fifty principal components. With few labels many classes have none: of the 15 classes of YALE,
2 % are three labels. How a few known labels change clusters was chosen on {design}, by other
draws; the pieces that more labels merge were chosen earlier, on nearly all of these sets and
draws.

"""

_ASKED = """
## Questions

So many pairs were asked about and answered, ten at a time: those that `uncertain_pairs` names, or
random ones (the mean of the draws). The accuracy is that of all samples. What is asked, and what
the answers change, was chosen on digits, TR45, TR11 and WebKB.

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
    text = _HEAD.format(draws=draws, design=", ".join(_DESIGN))
    text += _table(labels, "told", ["LabelSpreading", "SelfTraining"])
    text += _means(labels)
    text += _PAIRS + _table(_collect(store, "pair"), "linked", ["PCK-means"])
    if asked := _collect(store, "ask"):
        text += _ASKED + _questions(asked)
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


def _questions(found: dict[tuple[str, str], dict[str, Any]]) -> str:
    """The accuracy after so many answers, a column for each number of them."""
    counts = sorted({count for _, count in found}, key=int)
    head = " | ".join(f"{count} asked | {count} random" for count in counts)
    lines = [f"| set | without | {head} |", "|---|---|" + "---|" * (2 * len(counts))]
    for name in dict.fromkeys(name for name, _ in found):
        rows = [found.get((name, count), {}) for count in counts]
        if not all({"asked", "random"} <= {*cells} for cells in rows):
            continue
        scores = [_mean(cells[way]) for cells in rows for way in ("asked", "random")]
        without = f"{rows[0]['asked']['without']:.1f}"
        lines.append("| " + " | ".join([name, without, *scores]) + " |")
    return "\n".join(lines) + "\n"


def _means(found: dict[tuple[str, str], dict[str, Any]]) -> str:
    """The mean gain over the sets, of all and of those where the model alone is below 80."""
    lines = [
        "",
        "| known | gain, all sets | sets below 80 | sets not used for choices | worst set |",
        "|---|---|---|---|---|",
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
        others = [gain for name, gain in gains.items() if name not in _DESIGN]
        apart = f"{np.mean(others):+.1f} ({len(others)})" if others else ""
        below = f"{np.mean([gains[name] for name in needy]):+.1f} ({len(needy)})" if needy else ""
        lines.append(
            f"| {100 * float(share):g} % | {np.mean(list(gains.values())):+.1f} ({len(gains)}) "
            f"| {below} | {apart} | {worst} {gains[worst]:+.1f} |"
        )
    return "\n".join(lines) + "\n"
