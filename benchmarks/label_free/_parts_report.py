"""The page about the parts of the model, from the file of its figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._report import markdown_table
from benchmarks._store import Store
from benchmarks.label_free._made import MADE
from unispectral._files import write_text_atomic

_HALVES = ("design", "validation")
_DRAWS = 10_000
#: A difference of less than this is none.
_NOTICED = 0.02

_HEAD = """# What each part of the model is worth

Every part was switched off in turn, all others stayed as they are (`make study-parts`). Each data
set is one pair: the adjusted Rand index with the part less that without it, in points. In square
brackets is the interval that holds 95 % of the means when the sets are drawn again (10,000 draws);
"+ / −" counts the sets that gain or lose two points by the part. Time is the processor time of the
fits without the part over that with it, on the sets where it can matter: below 1, the part costs
that much.

Design sets (so far {design}) are those on which the model was made; validation sets (so far
{validation}) took no part in it. Sets are taken in an order drawn once, so that a run that was
stopped, or that left the large sets out (`--most-samples`), has seen some of all kinds.

"""


def interval(gains: np.ndarray) -> tuple[float, float]:
    """Between which the mean lies in 95 of 100 draws of as many sets.

    Examples
    --------
    >>> interval(np.full(9, 0.5))
    (0.5, 0.5)
    """
    rng = np.random.default_rng(0)
    drawn = gains[rng.integers(len(gains), size=(_DRAWS, len(gains)))].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def write(store: Store, parts: Sequence[Any], path: Path | None) -> str:
    """Write the page beside its figures; its text."""
    cells: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for (half, problem, part), result in store.results("part").items():
        cells.setdefault((half, part), {})[problem] = result
    names = {half: _count_groups(cells.get((half, "all parts"), {})) for half in _HALVES}
    lines = [
        "| part | what it does | design sets | gain, design | + / − | validation sets "
        "| gain, validation | + / − | time |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for part in parts:
        cols = [part.name, part.does]
        for half in _HALVES:
            cols += _compare(cells.get((half, "all parts"), {}), cells.get((half, part.name), {}))
        cols.append(_time(cells, part.name))
        lines.append("| " + " | ".join(cols) + " |")
    text = _HEAD.format(**names) + "\n".join(lines) + "\n" + _show_made(cells)
    if path is not None:
        write_text_atomic(path, text)
    return text


_MADE = """
## Failures that the sets do not show

Some parts hardly matter on the sets, and protect against failures that were seen elsewhere: by
these figures they stay. Each of these problems was made for one part; the figures are the mean
adjusted Rand index of three draws.

"""


def _show_made(cells: dict[tuple[str, str], dict[str, dict[str, float]]]) -> str:
    whole = cells.get(("made", "all parts"), {})
    rows = []
    for part, (problem, _) in MADE.items():
        without = cells.get(("made", part), {})
        both = [name for name in without if name in whole]
        if both:
            means = [np.mean([found[name]["ari"] for name in both]) for found in (whole, without)]
            rows.append([part, problem, *(f"{mean:.2f}" for mean in means)])
    if not rows:
        return ""
    return _MADE + markdown_table(["part", "problem", "with it", "without"], rows) + "\n"


def _count_groups(found: dict[str, Any]) -> str:
    groups = [name.split(",")[0] for name in found]
    return ", ".join(f"{groups.count(group)} {group}" for group in dict.fromkeys(groups))


def _compare(whole: dict[str, dict], without: dict[str, dict]) -> list[str]:
    """Number of sets, mean gain with its interval, and sets that gain or lose."""
    both = [name for name in without if name in whole]
    if not both:
        return ["", "", ""]
    gains = np.array([whole[name]["ari"] - without[name]["ari"] for name in both])
    low, high = interval(gains)
    counts = f"{int((gains >= _NOTICED).sum())} / {int((gains <= -_NOTICED).sum())}"
    mean = f"{100 * gains.mean():+.2f} [{100 * low:+.2f}, {100 * high:+.2f}]"
    return [str(len(both)), mean, counts]


def _time(cells: dict[tuple[str, str], dict[str, dict]], part: str) -> str:
    total = np.zeros(2)
    for half in _HALVES:
        whole, without = cells.get((half, "all parts"), {}), cells.get((half, part), {})
        for name in without:
            if name in whole:
                total += without[name]["seconds"], whole[name]["seconds"]
    return f"{total[0] / total[1]:.2f}" if total[1] else ""
