"""What the project set out to reach, judged from the stored cells alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._measure import ratio
from benchmarks._report import Target, number
from benchmarks.solver import summary

Cells = dict[str, Any]


def targets(cells: Cells, solver_cells: Cells) -> list[Target]:
    """Every target whose cells were measured."""
    rows: list[Target] = []
    for judge in (_default, _coil20, _ar, _tdt2, _twelve, _tiny, _first_use, _graph, _growth):
        rows += judge(cells)
    return rows + _alm(solver_cells)


def _seconds(cell: dict[str, Any] | None, method: str) -> np.ndarray | None:
    found = (cell or {}).get("methods", {}).get(method, {}).get("seconds")
    return np.array(found) if found else None


def _at_most(work: str, against: str, factor: float, above: Any, below: Any) -> list[Target]:
    if above is None or below is None:
        return []
    found = ratio(above, below)
    return [
        Target(work, f"≤ {factor:g} × {against}", f"{number(found)} ×", found["median"] <= factor)
    ]


def _default(cells: Cells) -> list[Target]:
    """The label-free model against the neighbour graph that scikit-learn clusters."""
    rows = []
    for data, factor in (("digits-200", 5), ("digits-1797", 3), ("coil20", 3)):
        cell = cells.get(f"peers {data}")
        ours = _seconds(cell, "unispectral, as it comes")
        peer = _seconds(cell, "spectral, neighbours, arpack")
        work = f"unispectral, as it comes, {data.replace('-', ', ')}"
        rows += _at_most(work, "spectral clustering on neighbours (arpack)", factor, ours, peer)
    return rows


def _coil20(cells: Cells) -> list[Target]:
    cell = cells.get("peers coil20")
    work = "SCSK exact, COIL20, linear kernel"
    ours = _seconds(cell, "SCSK, linear kernel")
    gram, eigen = _seconds(cell, "Gram matrix"), _seconds(cell, "LAPACK eigenvectors")
    floor = None if gram is None or eigen is None else gram + eigen
    neighbours = _seconds(cell, "spectral, neighbours, arpack")
    return [
        *_at_most(work, "(Gram + LAPACK eigenvectors)", 4, ours, floor),
        *_at_most(work, "spectral clustering on neighbours (arpack)", 3, ours, neighbours),
    ]


def _ar(cells: Cells) -> list[Target]:
    rows = []
    for method in ("unispectral, as it comes", "SCSK, linear kernel"):
        seconds = _seconds(cells.get("peers ar"), method)
        if seconds is not None:
            median = float(np.median(seconds))
            rows.append(Target(f"{method}, AR", "≤ 1 s", f"{number(median)} s", median <= 1))
    return rows


def _tdt2(cells: Cells) -> list[Target]:
    cell, memory = cells.get("peers tdt2"), cells.get("memory tdt2", {})
    one, twelve = _seconds(cell, "SCSK, linear kernel"), _seconds(cell, "SCMK, twelve kernels")
    rows = [
        *_at_most(
            "SCSK exact, float32, TDT2",
            "its sparse Gram",
            4,
            one,
            _seconds(cell, "Gram matrix"),
        ),
        *_at_most("SCMK, twelve kernels, TDT2", "SCSK", 4, twelve, one),
    ]
    for method, limit in (("SCSK, linear kernel", 1.5), ("SCMK, twelve kernels", 3.0)):
        peak = memory.get(method, {}).get("peak")
        if peak is not None:
            reached = f"{peak / 1024:.2f} GB, all of the process"
            rows.append(
                Target(f"{method}, TDT2", f"≤ {limit:g} GB", reached, peak <= 1024 * limit)
            )
    return rows


def _twelve(cells: Cells) -> list[Target]:
    cell = cells.get("peers coil20")
    twelve, one = (
        _seconds(cell, name) for name in ("SCMK, twelve kernels", "SCSK, linear kernel")
    )
    return _at_most("SCMK, twelve kernels, COIL20", "SCSK", 4, twelve, one)


def _tiny(cells: Cells) -> list[Target]:
    cell = cells.get("peers digits-300")
    rows = []
    for method in ("SCSK, linear kernel", "unispectral, as it comes"):
        for peer in ("spectral, rbf", "spectral, neighbours, arpack"):
            work = f"{method}, 300 digits"
            rows += _at_most(work, peer, 3, _seconds(cell, method), _seconds(cell, peer))
    return rows


def _first_use(cells: Cells) -> list[Target]:
    cell = cells.get("first use")
    if cell is None:
        return []
    package, sklearn, estimators = (
        float(np.median(cell["import"][name]))
        for name in ("unispectral", "scikit-learn", "estimators")
    )
    numba = "loaded" if cell["numba_loaded"] else "not loaded"
    rows = [
        Target(
            "import",
            "≤ 1 s, numba not loaded",
            f"{number(package)} s, numba {numba}",
            package <= 1 and not cell["numba_loaded"],
        ),
        Target(
            "import of the estimators beyond scikit-learn",
            "≤ 1 s",
            f"{number(estimators)} s (scikit-learn by itself {number(sklearn)} s)",
            estimators <= 1,
        ),
    ]
    clustered, missing = (
        float(np.median(cell["command"][name])) for name in ("cluster", "missing file")
    )
    rows += [
        Target(
            "`unispectral cluster`, 150 rows, all of the process",
            "≤ 2 s",
            f"{number(clustered)} s",
            clustered <= 2,
        ),
        Target(
            "`unispectral cluster`, the file is missing",
            "≤ 0.5 s",
            f"{number(missing)} s",
            missing <= 0.5,
        ),
    ]
    if "nothing_compiled" not in cell:
        return rows
    compile_time, compiled = (
        float(np.median(values))
        for values in (
            [found["first"] - found["second"] for found in cell["nothing_compiled"]],
            [found["first"] for found in cell["nothing_compiled"]],
        )
    )
    cached = float(np.median([found["first"] for found in cell["from_cache"]]))
    return [
        *rows,
        Target(
            "first fit ever, 300 digits",
            "≤ 4 s of compilation",
            f"{number(compile_time)} s",
            compile_time <= 4,
        ),
        Target(
            "first fit of a later process",
            "starts from the cache",
            f"{number(cached)} s, with the import of numba",
            cached < compiled / 2,
        ),
    ]


def _graph(cells: Cells) -> list[Target]:
    rows = []
    for key in sorted(name for name in cells if name.startswith("graph ")):
        ours = _seconds(cells[key], "ours")
        for against in ("same problem", "its own settings"):
            peer = _seconds(cells[key], f"elastic net, {against}")
            if ours is None or peer is None:
                continue
            found = ratio(peer, ours)
            rows.append(
                Target(
                    f"graph of {key.removeprefix('graph ').upper()} against the elastic net, "
                    f"{against}",
                    "≥ 20 ×",
                    f"{number(found)} ×",
                    found["median"] >= 20,
                )
            )
    return rows


def slopes(cells: Cells, *, smallest: int = 1000) -> dict[str, tuple[float, float]]:
    """Slope and intercept of log seconds over log n for each method of the growth study.

    Fitted from `smallest` upwards, where the cost of calling no longer hides the growth.
    """
    points: dict[str, list[tuple[int, float]]] = {}
    for key, cell in cells.items():
        if key.startswith("growth ") and cell["n"] >= smallest:
            for method, found in cell["methods"].items():
                if found.get("seconds"):
                    points.setdefault(method, []).append((cell["n"], np.median(found["seconds"])))
    fitted = {}
    for method, pairs in points.items():
        if len(pairs) >= 2:
            n, seconds = np.log(np.array(pairs, dtype=float)).T
            slope, intercept = np.polyfit(n, seconds, 1)
            fitted[method] = (float(slope), float(intercept))
    return fitted


def _growth(cells: Cells) -> list[Target]:
    fitted = slopes(cells).get("SCSK, linear kernel")
    if fitted is None:
        return []
    return [Target("growth of the dense fit", "slope ≤ 2.2", f"{fitted[0]:.2f}", fitted[0] <= 2.2)]


def _alm(solver_cells: Cells) -> list[Target]:
    rows = []
    for key, cell in sorted(solver_cells.items()):
        found = summary(cell)
        rows.append(
            Target(
                f"against the authors' algorithm to the best objective that both reach, "
                f"{key.upper()}",
                "≥ 100 ×",
                f"{number(found['to_theirs'])} × (its whole run: {number(found['whole'])} ×)",
                found["to_theirs"]["median"] >= 100,
            )
        )
    return rows
