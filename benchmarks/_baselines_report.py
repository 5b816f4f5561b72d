"""The page of the comparison methods, made from stored cells."""

from __future__ import annotations

from typing import Any

from benchmarks._report import markdown_table
from benchmarks._unrecorded import FORESTS, K_MEANS_RUNS, UNRECORDED

_HEAD = """# The comparison methods: record, replay, paper

Written by `make check-baselines` from `baselines.json`. Figures of the record are means over 20
repeats, between 0 and 1; figures of the paper are per cent.

## Against the record

The recorded runs are replayed with the random numbers of the record. The record has six decimals,
so *exact* means that all three scores agree to 1e-6. The other verdicts come from replays with
relative noise of 1e-16 in the kernels: *tie* means that some of these meet the record exactly;
*rounding* that the result moves under the noise but did not meet the record in the few tries made;
*differs* that the result stands still somewhere else than the record. A field that is empty, or
counts fewer cells than the others of its column, has not been run yet: the command goes on where
it stopped.
"""

_NOTES = """
Kernels close to the identity (Gaussians of width 0.01 and 0.05, and 0.1 on text) have hardly any
neighbours and nearly degenerate Laplacians: rounding decides there, as the record itself shows by
scores near chance. The k-means of SC on the binary digits, with 36 clusters, meets ties too.

AASC was recorded with two versions of its code, which differ in the start of a root search: -1 for
YALE, +1 for the texts and the binary digits. Which one the other sets had is not known, so both
are shown. On JAFFE the search from -1 ends near a pole, where rounding decides;
ORL and COIL20 meet the record from neither start, and why is an open question.
"""

_UNRECORDED = f"""
## Without a record

SSR, ClustRF and TSEP have no record: the figures below stand beside the paper's, as mean ±
standard deviation. SSR and TSEP: {K_MEANS_RUNS} runs of k-means with one start each on the one
embedding, and the run of the best k-means objective. ClustRF: {FORESTS} forests of 200 trees. The
paper's purity of these columns may be the swapped one (classes over clusters), so both are shown;
a single giant cluster has a swapped purity near 100.
"""

_WHY = """
What explains the differences:

- SSR: the codes are the exact solution of a convex problem without parameters, so only k-means is
  left. The paper's figures are multiples of 1/n, that is single runs. The row *random starts* uses
  random rows as first centres, as the record of the other methods does, in place of scikit-learn's
  k-means++: the difference between the two rows is k-means alone.
- ClustRF: the paper names neither the number of trees nor the seed; its figures are single runs.
- TSEP: the paper gives neither alpha nor the rule by which it was chosen, nor whether rows of the
  eigenvectors were scaled. *TSEP* is the best of twelve kernels, chosen by each score as in the
  paper's table, *TSEP-m* the mean over the twelve.
"""

_COLUMNS = ("Accuracy", "NMI", "Purity")


def render(cells: dict[str, Any], paper: dict[str, Any]) -> str:
    """The whole page."""
    recorded = {key: cell for key, cell in cells.items() if "verdict" in cell}
    unrecorded = [name for name in paper["Accuracy"] if f"{name} SSR" in cells]
    parts = [_HEAD, _summary(recorded), _NOTES, _details(recorded), _UNRECORDED]
    parts += [_beside_paper(cells, paper, dataset) for dataset in unrecorded]
    return "\n".join([*parts, _WHY]).rstrip() + "\n"


def _summary(cells: dict[str, Any]) -> str:
    """How many cells of each method and data set are exact."""
    methods = sorted({key.split()[1] for key in cells})
    rows = []
    for dataset in dict.fromkeys(key.split()[0] for key in sorted(cells)):
        row = [dataset]
        for method in methods:
            verdicts = [
                cell["verdict"]
                for key, cell in cells.items()
                if key.split()[:2] == [dataset, method]
            ]
            ties = verdicts.count("tie")
            exact = f"{verdicts.count('exact') + ties}/{len(verdicts)}" if verdicts else ""
            row.append(exact + (f" ({ties} at a tie)" if ties else ""))
        rows.append(row)
    return "Cells that meet the record:\n\n" + markdown_table(["", *methods], rows)


def _details(cells: dict[str, Any]) -> str:
    header = ["data", "method", "cell", "score", "recorded", "ours", "difference", "verdict"]
    rows = []
    for key, cell in sorted(cells.items()):
        dataset, method, name = key.split(" ", 2)
        for metric, r, o in zip(
            ("ACC", "NMI", "purity"), cell["recorded"], cell["ours"], strict=True
        ):
            rows.append(
                [
                    dataset,
                    method,
                    name,
                    metric,
                    f"{r:.6f}",
                    f"{o:.6f}",
                    f"{o - r:+.6f}",
                    cell["verdict"],
                ]
            )
    return "### Cell by cell\n\n" + markdown_table(header, rows)


def _beside_paper(cells: dict[str, Any], paper: dict[str, Any], dataset: str) -> str:
    rows = []
    for method in UNRECORDED:
        cell = cells.get(f"{dataset} {method}")
        if cell is None:
            continue
        if method == "TSEP":
            for column, prefix in (("TSEP", ""), ("TSEP-m", "kernels_")):
                for alpha in sorted(cell, key=float):
                    title = f"{column}, alpha {alpha}"
                    rows.append(_row(title, cell[alpha], prefix, paper, dataset, column))
        else:
            rows.append(_row(method, cell, "", paper, dataset, method.partition(",")[0]))
    header = [
        "method",
        "paper ACC / NMI / purity",
        "ours ACC",
        "NMI",
        "purity",
        "swapped purity",
        "best objective ACC / NMI / purity",
    ]
    return f"### {dataset}\n\n" + markdown_table(header, rows) + "\n"


def _row(
    title: str, cell: dict[str, Any], prefix: str, paper: dict[str, Any], dataset: str, column: str
) -> list[str]:
    quoted = " / ".join(f"{paper[score][dataset][column]:.2f}" for score in _COLUMNS)
    ours = [
        f"{mean:.1f} ± {spread:.1f}"
        for mean, spread in zip(cell[f"{prefix}mean"], cell[f"{prefix}spread"], strict=True)
    ]
    best = cell.get(f"{prefix}best")
    shown = " / ".join(f"{value:.1f}" for value in best[:3]) if best else ""
    return [title, quoted, *ours, shown]
