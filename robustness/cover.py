"""Lines and branches of the core that its own tests reach: ``python -m robustness.cover``.

The core is all that a fit, a prediction, a saved model or a table that is read runs through:
the package without the command line, the benchmark, the pages, the plots and the downloads. Code
that Numba compiles cannot be watched, so that the tests of the compiled loops run a second time
with the compiler off. Every group of tests is a part of its own whose figures are kept, so that a
run that was stopped goes on where it was. The result is docs/results/coverage.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["main", "page"]

_ROOT = Path(__file__).resolve().parent.parent
_APART = ("cli", "bench", "report", "plotting", "datasets")
#: Groups of tests; those of the second table run with the compiler off.
_GROUPS: dict[str, tuple[str, ...]] = {
    "steps": (
        "tests/graph", "tests/kernels", "tests/spectrum", "tests/paper", "tests/test_metrics.py",
    ),
    "estimators": (
        "tests/test_estimator.py", "tests/labelfree", "tests/test_model_selection.py",
        "tests/integration/test_large_input.py", "tests/test_predict.py",
        "tests/test_inputs.py", "tests/integration/test_silent_errors.py",
    ),
    "dask": ("tests/dask", "tests/labelfree/test_neighbourhoods.py"),
    "persistence": ("tests/persistence/test_models.py", "tests/persistence/test_pipelines.py"),
    "input": (
        "tests/integration/test_hostile_input.py", "tests/tables", "tests/test_files.py",
        "tests/graph/test_files.py",
    ),
    "baselines": ("tests/baselines",),
    "examples": ("--doctest-modules", "src/unispectral"),
}  # fmt: skip
_UNCOMPILED: dict[str, tuple[str, ...]] = {
    "loops": (
        "tests/paper/test_steps.py", "tests/paper/test_step_details.py",
        "tests/graph/test_codes.py",
        "tests/kernels", "tests/spectrum/test_products.py",
        "tests/graph/test_components.py",
    ),
    "loops of the search": ("tests/graph/test_neighbours.py",),
    "loops of the baselines": ("tests/baselines/test_properties.py",),
}  # fmt: skip
#: Too slow without the compiler, and not about the loops.
_TOO_SLOW = "not large and not speed and not scale"


def _run(name: str, tests: Sequence[str], folder: Path, *, compiled: bool) -> bool:
    """Run one group of tests under coverage, in its own file of figures."""
    environment = {
        **os.environ,
        "COVERAGE_FILE": str(folder / f"data.{name.replace(' ', '-')}"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "UNISPECTRAL_ONE_PROCESS": "1",  # the workers of Dask too
        **({} if compiled else {"NUMBA_DISABLE_JIT": "1"}),
    }
    there = [test for test in tests if test.startswith("-") or (_ROOT / test).exists()]
    options = ["-q", "-p", "no:cacheprovider", "--cov=unispectral", "--cov-branch"]
    options += ["--cov-report="] + ([] if compiled else ["-k", _TOO_SLOW])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *there],
        cwd=_ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"{name}: {done.stdout.strip().splitlines()[-1]}", flush=True)
    if done.returncode:
        print(done.stdout[-2000:])
    return done.returncode == 0


def figures(folder: Path) -> dict[str, Any]:
    """The figures of all groups together, by file."""
    data = sorted(str(path) for path in folder.glob("data.*"))
    environment = {**os.environ, "COVERAGE_FILE": str(folder / "together")}
    tool = [sys.executable, "-m", "coverage"]
    quiet: dict[str, Any] = {"cwd": _ROOT, "env": environment, "check": True}
    subprocess.run([*tool, "combine", "-q", "--keep", *data], **quiet)
    apart = ",".join(f"*/unispectral/{room}/*" for room in _APART)
    out = folder / "figures.json"
    subprocess.run([*tool, "json", "-q", "--omit", apart, "-o", str(out)], **quiet)
    return json.loads(out.read_text())


def page(found: dict[str, Any], only: Sequence[str] = ()) -> str:
    """The figures by room, and the lines and branches that no test takes.

    ``only`` names the rooms that were measured, where these are not all.
    """
    rooms: dict[str, list[int]] = {}
    lacking = []
    for file, one in sorted(found["files"].items()):
        name = file.rpartition("unispectral/")[2]
        room = name.partition("/")[0] if "/" in name else "unispectral/*.py"
        if only and room not in only:
            continue
        totals = rooms.setdefault(room, [0, 0, 0, 0])
        summary = one["summary"]
        for place, key in enumerate(
            ("num_statements", "covered_lines", "num_branches", "covered_branches")
        ):
            totals[place] += summary[key]
        gone = set(one["missing_lines"])
        ways = [f"{a} → {b}" for a, b in one["missing_branches"] if not {a, abs(b)} & gone]
        if gone or ways:
            lacking.append(f"- {name}: {', '.join([_ranges(sorted(gone))] * bool(gone) + ways)}")
    whole = [sum(totals[place] for totals in rooms.values()) for place in range(4)]
    lines = [
        "# Coverage of the core",
        "",
        "Lines and branches that the tests of the core reach, by `make coverage-core`. Compiled",
        "loops are counted from runs of their tests with the compiler off. The command line, the",
        "benchmark, the pages, the plots and the downloads have tests of their own, which are",
        "not counted here.",
        *([f"Measured were the rooms {', '.join(only)}."] if only else []),
        "",
        "| room | lines | reached | branches | reached | both |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for room, totals in [*rooms.items(), ("**all of these**" if only else "**the core**", whole)]:
        lines.append(f"| {room} | {' | '.join(_share(totals))} |")
    lines += ["", "## Lines that no test reaches, and ways between lines that none takes", ""]
    return "\n".join([*lines, *(lacking or ["None."])]) + "\n"


def _share(totals: Sequence[int]) -> list[str]:
    statements, lines, branches, taken = totals
    both = (lines + taken) / max(statements + branches, 1)
    return [
        f"{statements:,}", f"{lines / max(statements, 1):.1%}", f"{branches:,}",
        f"{taken / max(branches, 1):.1%}", f"{both:.1%}",
    ]  # fmt: skip


def _ranges(lines: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for line in sorted(lines):
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the groups that are lacking, add up, write; fails below the least share."""
    parser = argparse.ArgumentParser(prog="python -m robustness.cover", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no group after this")
    parser.add_argument("--fresh", action="store_true", help="forget what was done before")
    parser.add_argument("--least", type=float, default=95.0, help="per cent of lines and branches")
    parser.add_argument("--only", nargs="+", default=[], help="groups to do again")
    parser.add_argument("--groups", nargs="+", default=list({**_GROUPS, **_UNCOMPILED}))
    parser.add_argument("--rooms", nargs="+", default=[], help="on the page; all without it")
    parser.add_argument("--folder", type=Path, default=_ROOT / ".robustness" / "coverage")
    parser.add_argument("--out", type=Path, default=_ROOT / "docs" / "results" / "coverage.md")
    options = parser.parse_args(arguments)
    begun, good = time.monotonic(), True
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, tests in {**_GROUPS, **_UNCOMPILED}.items():
        data = options.folder / f"data.{name.replace(' ', '-')}"
        if options.fresh or name in options.only:
            data.unlink(missing_ok=True)
        late = time.monotonic() > begun + 60 * options.minutes
        if data.exists() or late or name not in options.groups:
            continue
        good &= _run(name, tests, options.folder, compiled=name in _GROUPS)
    from unispectral._files import write_text_atomic

    found = figures(options.folder)
    write_text_atomic(options.out, page(found, options.rooms))
    share = found["totals"]["percent_covered"]
    print(f"{share:.2f} % of the lines and branches of the core; written to {options.out}")
    return int(not good or share < options.least)


if __name__ == "__main__":
    sys.exit(main())
