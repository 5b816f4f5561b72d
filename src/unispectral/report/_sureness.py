"""How sure a clustering is: whether it is found again, and which other number of clusters is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unispectral._errors import Sentence

#: From and up to this many samples clusters are found again without a tenth of them.
_LEAST_REFITTED, _MOST_REFITTED = 20, 3_000
#: Clusters that agree by less are not stable: on the design sets of the study those of high
#: accuracy agree by more. The words for agreement from there on.
STABLE = 0.75
_WORDS = ((0.95, "very stable"), (STABLE, "stable"), (0.5, "doubtful"), (-1.0, "not stable"))
#: Another number of clusters is worth a try if it is more stable by this, and not below the mean
#: nor below a half, where clusterings have little in common.
_MORE_STABLE, _HALF_STABLE, _OTHERS = 0.05, 0.5, 3
#: A sample belongs clearly to its cluster if this leads the next best by so much.
_CLEARLY = 0.5


class Sureness(NamedTuple):
    """How far clusters are the same again, how that was found, and of other numbers of them."""

    value: float | None
    by: str
    others: dict[int, float]


def measure_sureness(pipeline: object, X: Any, labels: np.ndarray, refit: bool) -> Sureness:
    """The agreement of the candidates, where the model has one, or else of more fits."""
    from unispectral.model_selection import _is_of_fit, stability_by_count

    model = pipeline
    if hasattr(pipeline, "steps"):
        model = pipeline.steps[-1][1]
    agreement = getattr(model, "agreement_", None)
    count = int(labels.max()) + 1
    least = max(_LEAST_REFITTED, 2 * count)
    able = hasattr(model, "structure_") and X is not None
    others: dict[int, float] = {}
    names = getattr(model, "feature_names_in_", None)
    if names is not None and hasattr(X, "columns") and set(names) < set(X.columns):
        X = X[list(names)]  # the others describe the clusters
    able = able and refit and least <= len(labels) <= _MOST_REFITTED
    if able and _is_of_fit(pipeline, X):
        seed = getattr(model, "random_state", 0)
        found = stability_by_count(pipeline, X, random_state=seed if isinstance(seed, int) else 0)
        others = {number: value for number, value in found.items() if number != count}
        if agreement is None:
            return Sureness(found[count], "fits", others)
    if agreement is not None:
        return Sureness(float(agreement), "candidates", others)
    return Sureness(None, "", others)


def tell_sureness(sure: Sureness, certainty: np.ndarray, count: int) -> str:
    said = []
    if sure.value is not None:
        word = next(word for least, word in _WORDS if sure.value >= least)
        how = "without a tenth of the samples the clusters agree by"
        if sure.by == "candidates":
            how = "the ways to cluster that were tried agree by"
        if count == 1 and sure.by == "fits":
            how = "without a tenth of the samples the answer agrees by"
        said.append(f"{word}: {how} {sure.value:.2f} (adjusted Rand index; 1 is the same)")
    if count > 1:
        said.append(f"{share_clear(certainty)} of the samples belong clearly to one cluster")
    return f"How sure: {'; '.join(said)}." if said else ""


def share_clear(certainty: np.ndarray) -> str:
    """How many samples belong clearly to their cluster; 100 % are all of them."""
    share = 100 * float(np.mean(certainty >= _CLEARLY))
    decimals = int(99.0 < share < 100.0)
    return f"{min(share, 99.9) if decimals else share:.{decimals}f} %"


def find_way_out(sure: Sureness, count: int) -> list[str]:
    """A sentence where the clusters are not stable, with the numbers of them that are more so."""
    if sure.value is None or sure.value >= STABLE:
        return []
    told = "The clusters change when a tenth of the samples is left out"
    if sure.by == "candidates":
        told = "The ways to cluster that were tried find different clusters"
    # Among equals the finer clusters say more.
    better = sorted(sure.others.items(), key=lambda item: (-round(item[1], 2), -item[0]))
    usual = np.mean(list(sure.others.values())) if sure.others else 0.0
    least = max(sure.value + _MORE_STABLE, usual, _HALF_STABLE)
    listed = [f"{number} ({value:.2f})" for number, value in better if value >= least][:_OTHERS]
    if listed:
        first = better[0][0]
        which = f"more stable are {' or '.join(listed)} clusters; try {{n_clusters}}"
        return [Sentence(f"{told} ({sure.value:.2f}): {which}.", n_clusters=first)]
    tried = ""
    if sure.others:
        low, high = min(sure.others), max(sure.others)
        found = max(sure.others.values()) >= _HALF_STABLE
        state = "clearly more stable" if found else "stable, either"
        tried = f"no other number from {low} to {high} is {state}; "
    remedy = "other columns may show clusters, or there are none"
    return [f"{told} ({sure.value:.2f}): {tried}{remedy}."]
