"""How good the numbers of clusters are that one fit has without another: ``cut`` beside fits.

Run it by ``python -m benchmarks.cuts``. On the design sets of up to 800 samples and 15 classes the
default model is fitted with the known number of classes, and with one and two more and fewer.
Printed are the adjusted Rand indices of the cuts of each tree with the fit of the same number, and
of both with the known classes, which are used for nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from robustness._design_sets import design_sets
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering

__all__ = ["Cut", "compare_cuts", "main"]

_MOST_SAMPLES, _MOST_CLASSES = 800, 15
_AROUND = (-2, -1, 0, 1, 2)


class Cut(NamedTuple):
    """One cut beside one fit: the numbers of both, how far they agree, and the known classes."""

    fitted: int
    wanted: int
    alike: float
    of_cut: float
    of_fit: float


def compare_cuts(X: Any, classes: np.ndarray) -> list[Cut]:
    """Cut the tree of the fit with the known number at others, and those of others at this."""
    known = classes >= 0
    count = len(np.unique(classes[known]))
    numbers = [count + more for more in _AROUND if count + more >= 2]
    models = {number: UnifiedSpectralClustering(number).fit(X) for number in numbers}
    found = []
    for fitted, model in models.items():
        for wanted, fresh in models.items():
            if (fitted == count) == (wanted == count) or wanted > model.tree_.max_clusters:
                continue
            cut = model.cut(wanted)
            scores = [
                adjusted_rand_score(classes[known], labels[known])
                for labels in (cut, fresh.labels_)
            ]
            alike = adjusted_rand_score(fresh.labels_, cut)
            found.append(Cut(fitted, wanted, alike, *scores))
    return found


def _line(what: str, cuts: Iterable[Cut]) -> str:
    rows = np.array([(cut.alike, cut.of_cut, cut.of_fit) for cut in cuts])
    means = "".join(f"{mean:10.3f}" for mean in rows.mean(axis=0))
    return f"{what:<44}{len(rows):5d}{np.quantile(rows[:, 0], 0.1):10.3f}{means}"


def main() -> None:
    """Print the table."""
    found: list[Cut] = []
    centred: list[Cut] = []
    n_sets = 0
    for one in design_sets():
        if one.name.startswith("views/"):
            continue
        try:
            X, labellings = one.load()
        except OSError:  # it is not on this machine
            continue
        classes = np.asarray(labellings[0])
        count = len(np.unique(classes[classes >= 0]))
        if X.shape[0] > _MOST_SAMPLES or not 2 <= count <= _MOST_CLASSES:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cuts = compare_cuts(X, classes)
        n_sets += 1
        found += [cut for cut in cuts if cut.fitted == count]
        centred += [cut for cut in cuts if cut.wanted == count]
    print(f"{n_sets} design sets; adjusted Rand indices, and of the first the 10 % quantile, too")
    heads = ("cuts", "10 %", "with fit", "cut, true", "fit, true")
    print(f"{'':<44}{heads[0]:>5}" + "".join(f"{head:>10}" for head in heads[1:]))
    print(_line("fewer clusters than fitted", [cut for cut in found if cut.wanted < cut.fitted]))
    print(_line("more clusters than fitted", [cut for cut in found if cut.wanted > cut.fitted]))
    print(
        _line("the known number, of fits with more", [c for c in centred if c.wanted < c.fitted])
    )
    print(
        _line("the known number, of fits with fewer", [c for c in centred if c.wanted > c.fitted])
    )


if __name__ == "__main__":
    main()
