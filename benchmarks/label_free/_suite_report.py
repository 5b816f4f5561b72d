"""The public benchmark suite in tables: by half and part, beside published methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks._report import Target, markdown_table
from benchmarks._store import Store
from benchmarks.label_free.suite import HALVES, SHOWN, published

OURS, PEER = "unispectral", "SC knn"
#: A difference of the adjusted Rand index that counts as won or lost.
MARGIN = 0.02

#: Adjusted Rand index and NCA by method and set.
Scores = dict[str, dict[str, tuple[float, float]]]


def targets(store: Store) -> list[Target]:
    """ARI, NCA and cost of the whole suite, and the numbers of clusters."""
    scores = _scores(store)
    found = []
    if scores:
        whole, kept = list(scores[OURS]), _of(scores[OURS], HALVES["validation"])
        for at, name, least in ((0, "ARI", 0.86), (1, "NCA", 0.90)):
            ours, apart = _mean(scores[OURS], whole, at), _mean(scores[OURS], kept, at)
            best = _best_published(scores, whole, at)
            reached = f"{ours:.3f} (validation half {apart:.3f}; {best})"
            found.append(Target(f"Suite: {name}", f"at least {least:.2f}", reached, ours >= least))
        ratio = _ratio(store)
        reached = f"{ratio:.1f} times"
        what = "Suite: CPU time beside scikit-learn's nearest-neighbour spectral clustering"
        found.append(Target(what, "at most 5 times", reached, ratio <= 5.0))
    counts = store.results("suite-count")
    if counts:
        right = sum(one["ours"] in one["references"] for one in counts.values())
        what = "Suite: number of clusters is that of a reference"
        found.append(Target(what, "50 of 73", f"{right} of {len(counts)}", right >= 50))
        ari = {"/".join(name): (one["ari"],) for name, one in counts.items()}
        whole, apart = _mean(ari, list(ari), 0), _mean(ari, _of(ari, HALVES["validation"]), 0)
        what = "Suite: ARI with the number of clusters unknown"
        reached = f"{whole:.3f} (validation half {apart:.3f})"
        found.append(Target(what, "at least 0.72", reached, whole >= 0.72))
        seconds = sum(one["seconds"] for one in counts.values())
        what = "Suite: CPU time with the number of clusters unknown"
        found.append(Target(what, "at most 15 s", f"{seconds:.1f} s", seconds <= 15.0))
    return found


def section(store: Store) -> str:
    """The halves apart, by part; then wins and losses."""
    scores = _scores(store)
    if not scores:
        return ""
    text = (
        "## The public benchmark suite\n\nThe sets of at most 10,000 points of Gagolewski's suite "
        "(clustering-data-v1), features as they are, each method given the number of clusters of "
        "each reference labelling; noise points do not count, and the best reference does. ARI, "
        "and in brackets the normalised clustering accuracy (NCA). *SC knn* is scikit-learn's "
        "nearest-neighbour spectral clustering, run here with its 10 neighbours; the others are "
        "computed from their published labellings, for settings that were good in the mean of "
        "the whole suite. Means are over the sets on which a method was published.\n\n"
    )
    for half, parts in HALVES.items():
        rows = []
        for method, values in scores.items():
            names = _of(values, parts)
            cells = [_cell(values, _of(values, [part])) for part in parts]
            rows.append([_shown(method), len(names), *cells, _cell(values, names)])
        head = ["method", "sets", *parts, "all"]
        text += f"### {half.capitalize()} half\n\n{markdown_table(head, rows)}\n\n"
    text += _all_sets(store, scores)
    return text


def _all_sets(store: Store, scores: Scores) -> str:
    rows = [
        [_shown(method), len(values), _cell(values, list(values))]
        for method, values in scores.items()
    ]
    text = f"### Both halves\n\n{markdown_table(['method', 'sets', 'all'], rows)}\n\n"
    cost = store.results("suite").values()
    seconds, peer = (sum(one[key] for one in cost) for key in ("seconds", "peer seconds"))
    text += (
        f"CPU time of all fits, one thread, in the same run: {seconds:.1f} s of ours, "
        f"{peer:.1f} s of *SC knn*, {seconds / peer:.1f} times.\n\n"
    )
    peers = [PEER, *(method for method in ("Genie_G0.3", "GIc") if method in scores)]
    rows = [_against(scores, peer) for peer in peers]
    head = ["peer", "won", "level", "lost", "lost most"]
    text += (
        f"Sets won and lost by more than {MARGIN} of the ARI:\n\n{markdown_table(head, rows)}\n\n"
    )
    counts = store.results("suite-count")
    if counts:
        right = sum(one["ours"] in one["references"] for one in counts.values())
        one = sum(result["ours"] == 1 for result in counts.values())
        text += (
            f'`n_clusters="auto"` finds the number of a reference on '
            f"{right} of {len(counts)} sets, and no clusters at all on {one}.\n"
        )
    return text


def _against(scores: Scores, peer: str) -> list[Any]:
    gaps = {
        name: value[0] - scores[peer][name][0]
        for name, value in scores[OURS].items()
        if name in scores[peer]
    }
    won = sum(gap > MARGIN for gap in gaps.values())
    lost = sorted(
        (name for name, gap in gaps.items() if gap < -MARGIN), key=lambda name: gaps[name]
    )
    worst = ", ".join(f"{name} {gaps[name]:+.2f}" for name in lost[:6])
    return [_shown(peer), won, len(gaps) - won - len(lost), len(lost), worst]


def _scores(store: Store) -> Scores:
    """Ours, the peer's and the published methods'; nothing if the suite did not run."""
    cells = {"/".join(key): result for key, result in store.results("suite").items()}
    if not cells:
        return {}
    found: Scores = {
        OURS: {name: (one["ari"], one["nca"]) for name, one in cells.items()},
        PEER: {name: (one["peer ari"], one["peer nca"]) for name, one in cells.items()},
    }
    known = published()
    for method in SHOWN:
        if method in known:
            values = known[method]
            found[method] = {name: tuple(values[name]) for name in cells if name in values}  # type: ignore[misc]
    return found


def _of(values: Mapping[str, Any], parts: Sequence[str]) -> list[str]:
    return [name for name in values if name.split("/")[0] in parts]


def _mean(values: Mapping[str, Sequence[float]], names: Sequence[str], at: int) -> float:
    return float(np.mean([values[name][at] for name in names])) if names else float("nan")


def _cell(values: Mapping[str, Sequence[float]], names: Sequence[str]) -> str:
    return f"{_mean(values, names, 0):.3f} ({_mean(values, names, 1):.3f})" if names else ""


def _shown(method: str) -> str:
    return f"**{method}**" if method == OURS else SHOWN.get(method, method)


def _best_published(scores: Scores, names: Sequence[str], at: int) -> str:
    score: Callable[[str], float] = lambda method: _mean(scores[method], names, at)  # noqa: E731
    peers = [method for method in scores if method != OURS and len(scores[method]) == len(names)]
    best = max(peers, key=score)
    return f"best other {_shown(best)} {score(best):.3f}"


def _ratio(store: Store) -> float:
    cells = store.results("suite").values()
    return sum(one["seconds"] for one in cells) / max(
        sum(one["peer seconds"] for one in cells), 1e-9
    )
