"""Why the paper's algorithm and its printed objective give different clusters.

``python -m benchmarks.paper_story`` writes ``paper_story.json``, ``paper_story.md`` and
``paper_story.png``: the accuracy of the exact solver over its ridge, that of the authors'
algorithm over its iterations with the penalty growing as in their code and constant as in their
text, which ridge gives codes closest to the frozen ones, and what the symmetrisation does.
"""

from __future__ import annotations

import argparse
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._data import load
from benchmarks._measure import machine, measured_on
from benchmarks._report import markdown_table
from benchmarks._store import Store
from unispectral._files import atomic_path, write_text_atomic
from unispectral._run import Run
from unispectral.kernels import KernelBank
from unispectral.metrics import scores
from unispectral.paper import DenseGraph, Objective, alm, descend

__all__ = ["draw", "follow", "main", "render", "solve"]

PAPER_PENALTIES = {"alpha": 1e-4, "beta": 1e-4, "gamma": 1e-7}
RIDGES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
PENALTIES = (1.0, 10.0, 100.0)
PICTURED = 100.0  # the penalty whose iterations are drawn
#: The variants of the algorithm: whether the penalty grows, whether the loop symmetrises.
VARIANTS = {
    "as in the code": {},
    "penalty constant": {"growth": 1.0},
    "not symmetrised": {"symmetrise": False},
}


@lru_cache(maxsize=1)
def _kernel(data: str) -> tuple[np.ndarray, np.ndarray, int]:
    X, y, n_clusters = load(data)
    return np.asarray(KernelBank(X, ["linear"]).matrix(0), dtype=np.float64), y, n_clusters


def _accuracy(y: np.ndarray, labels: np.ndarray) -> float:
    return 100.0 * scores(y, labels)["accuracy"]


def _objective(K: np.ndarray, Z: np.ndarray) -> float:
    """The terms of the codes: Tr(K − 2KZ + ZᵀKZ) + αΣZ."""
    KZ = K @ Z
    fit = np.trace(K) - 2.0 * np.trace(KZ) + float(np.vdot(Z, KZ))
    return float(fit + PAPER_PENALTIES["alpha"] * Z.sum())


@lru_cache(maxsize=len(RIDGES))
def _exact(data: str, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Codes and labels of the printed objective with a ridge."""
    K, _, n_clusters = _kernel(data)
    graph = DenseGraph(KernelBank.from_matrices([K]), 1e-6, Run.of(n_jobs=1))
    solution = descend(graph, Objective(n_clusters, **PAPER_PENALTIES, ridge=ridge))
    return solution.Z.toarray(), solution.labels


def solve(data: str, ridges: tuple[float, ...]) -> list[dict[str, float]]:
    """The printed objective, with each ridge, solved exactly."""
    K, y, _ = _kernel(data)
    found = []
    for ridge in ridges:
        Z, labels = _exact(data, ridge)
        found.append(
            {
                "ridge": ridge,
                "accuracy": _accuracy(y, labels),
                "objective": _objective(K, Z),
                "neighbours": float(np.median((1e-6 * Z.max() < Z).sum(axis=0))),
            }
        )
    return found


def follow(
    data: str,
    mu: float,
    options: dict[str, Any],
    *,
    starts: int,
    max_iter: int,
    ridges: tuple[float, ...] = (),
) -> dict[str, Any]:
    """The authors' algorithm, the accuracy of every iteration of every start.

    With `ridges`, also how far the first start's last codes are from the exact ones of each.
    """
    K, y, n_clusters = _kernel(data)
    runs: dict[str, Any] = {"paths": [], "objective": [], "stop": []}
    last: Any = None
    for seed in range(starts):
        path = []
        for state in alm(
            K,
            n_clusters,
            **PAPER_PENALTIES,
            mu=mu,
            random_state=seed,
            max_iter=max_iter,
            **options,
        ):
            path.append(round(_accuracy(y, state.labels), 2))
        runs["paths"].append(path)
        runs["objective"].append(_objective(K, state.Z))
        runs["stop"].append(state.stop_reason)
        last = last or state
    runs["apart"] = [_apart(last.Z, _exact(data, ridge)[0]) for ridge in ridges]
    return runs


def _apart(Z: np.ndarray, exact: np.ndarray) -> float:
    """‖Z − Z(ρ)‖ / ‖Z‖ for the exact, symmetrised codes Z(ρ)."""
    return float(np.linalg.norm(Z - (exact + exact.T) / 2) / np.linalg.norm(Z))


def measure(store: Store, sets: list[str], symmetry: str, starts: int, max_iter: int) -> None:
    """Fill the store."""
    for data in sets:
        store.cell(f"exact {data}", partial(solve, data, RIDGES))
        for mu in PENALTIES:
            job = partial(follow, data, mu, {}, starts=starts, max_iter=max_iter, ridges=RIDGES)
            store.cell(f"alm {data} {mu:g}", job)
        options = VARIANTS["penalty constant"]
        job = partial(follow, data, PICTURED, options, starts=starts, max_iter=max_iter)
        store.cell(f"constant {data}", job)
    for mu in PENALTIES:
        job = partial(follow, sets[0], mu, {"step": "search"}, starts=starts, max_iter=max_iter)
        store.cell(f"searched {sets[0]} {mu:g}", job)
    store.cell(f"exact {symmetry}", partial(solve, symmetry, (0.0, 1.0)))
    for name, options in VARIANTS.items():
        job = partial(follow, symmetry, 1.0, options, starts=1, max_iter=max_iter)
        store.cell(f"variant {symmetry} {name}", job)


def render(cells: dict[str, Any], sets: list[str], symmetry: str, conditions: Any) -> str:
    """The tables, as Markdown."""
    parts = ["# The objective and the algorithm", _about()]
    for data in sets:
        exact, constant = cells[f"exact {data}"], cells[f"constant {data}"]
        parts.append(f"## {data.upper()}, linear kernel")
        parts.append(
            markdown_table(
                ["exact solver: ridge", "accuracy", "codes' part of the objective", "neighbours"],
                [
                    [
                        f"{row['ridge']:g}",
                        f"{row['accuracy']:.1f}",
                        f"{row['objective']:.4g}",
                        f"{row['neighbours']:.0f}",
                    ]
                    for row in exact
                ],
            )
        )
        rows = [_row(f"{mu:g}", cells[f"alm {data} {mu:g}"]) for mu in PENALTIES]
        rows.append(_row(f"{PICTURED:g}, constant", constant))
        rows += [
            _row(f"{mu:g}, the authors' P-step", cells[key])
            for mu in PENALTIES
            if (key := f"searched {data} {mu:g}") in cells
        ]
        parts.append(markdown_table(_HEADER, rows))
    exact = cells[f"exact {symmetry}"]
    parts.append(f"## {symmetry.upper()}, linear kernel")
    rows = [[f"exact, ridge {row['ridge']:g}", f"{row['accuracy']:.1f}", ""] for row in exact]
    for name in VARIANTS:
        run = cells[f"variant {symmetry} {name}"]
        path = run["paths"][0]
        rows.append([f"algorithm, mu 1, {name}", f"{path[-1]:.1f}", str(len(path))])
    parts.append(markdown_table(["solver", "accuracy", "iterations"], rows))
    return "\n\n".join([*parts, measured_on(conditions)]) + "\n"


_HEADER = [
    "algorithm: mu",
    "accuracy, mean over starts",
    "lowest to highest",
    "highest on the way",
    "iterations",
    "codes' part of the objective",
    "closest ridge (relative distance)",
]


def _row(name: str, run: dict[str, Any]) -> list[str]:
    ends = [path[-1] for path in run["paths"]]
    ridge = ""
    if run["apart"]:
        place = int(np.argmin(run["apart"]))
        ridge = f"{RIDGES[place]:g} ({run['apart'][place]:.2f})"
    return [
        name,
        f"{np.mean(ends):.1f}",
        f"{min(ends):.1f} to {max(ends):.1f}",
        f"{max(max(path) for path in run['paths']):.1f}",
        f"{np.median([len(path) for path in run['paths']]):.0f}",
        f"{np.mean(run['objective']):.4g}",
        ridge,
    ]


def _about() -> str:
    penalties = ", ".join(f"{name} = {value:g}" for name, value in PAPER_PENALTIES.items())
    return (
        f"Accuracy in per cent; {penalties}. The part of the objective that the codes decide is "
        "Tr(K - 2KZ + Z'KZ) + alpha times the sum of Z, without any ridge; neighbours is the "
        "median number of coefficients of a code."
    )


def draw(cells: dict[str, Any], sets: list[str], path: Path) -> None:
    """Left the exact solver over its ridge, right the algorithm over its iterations."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(sets),
        2,
        figsize=(8, 2.9 * len(sets)),
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for (left, right), data in zip(axes, sets, strict=True):
        exact = cells[f"exact {data}"]
        places = np.arange(len(exact))
        left.plot(places, [row["accuracy"] for row in exact], "o-", color="#1f4e79")
        left.set_xticks(places, [f"{row['ridge']:g}" for row in exact])
        left.set_title(f"{data.upper()}: exact solver")
        left.set_xlabel("ridge ρ")
        left.set_ylabel("accuracy, %")
        for key, color, label in (
            (f"alm {data} {PICTURED:g}", "#c0392b", "growing by a tenth"),
            (f"constant {data}", "#7f7f7f", "constant"),
        ):
            for number, run in enumerate(cells[key]["paths"]):
                steps = np.arange(1, len(run) + 1)
                right.plot(steps, run, color=color, lw=1, label=None if number else label)
                right.plot(steps[-1], run[-1], "o", color=color, ms=4)
        right.set_xscale("log")
        right.set_title(f"{data.upper()}: the authors' algorithm, μ from {PICTURED:g}")
        right.set_xlabel("iteration")
        right.legend(fontsize=8, title="penalty")
        for one in (left, right):
            one.grid(True, alpha=0.3)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_story", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--quick", action="store_true", help="a tiny data set, to see it work")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    options = parser.parse_args(arguments)
    sets, symmetry = (["digits-60"], "digits-60") if options.quick else (["tr11", "orl"], "ar")
    starts, max_iter = (1, 8) if options.quick else (3, 100)
    conditions = {**machine(), "starts": starts, "max_iter": max_iter, **PAPER_PENALTIES}
    store = Store(options.out / "paper_story.json", conditions, fresh=options.fresh)
    measure(store, sets, symmetry, starts, max_iter)
    text = render(store.cells, sets, symmetry, conditions)
    write_text_atomic(options.out / "paper_story.md", text)
    draw(store.cells, sets, options.out / "paper_story.png")
    print(text)


if __name__ == "__main__":
    main()
