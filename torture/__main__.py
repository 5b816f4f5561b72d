"""``python -m torture``: everything, one table, and the same in docs/results."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # forks must not inherit pools of threads

from torture._tally import Plan, Tally

__all__ = ["KINDS", "main"]

#: Forks first: later kinds start threads.
KINDS = ("faults", "inputs", "files", "invariances", "memory", "interrupts", "security",
         "concurrency")  # fmt: skip
_MODULES = {"files": "_readers"}
_RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"


def run_kinds(kinds: Sequence[str], plan: Plan, say: Callable[[str], None] = print) -> list[Tally]:
    """Run some kinds of torture and print each row as it is done."""
    say(_HEAD)
    found: list[Tally] = []
    for kind in kinds:
        module = importlib.import_module(f"torture.{_MODULES.get(kind, kind)}")
        for tally in module.run(plan):
            found.append(tally)
            say(_row(tally))
            for line in tally.lost[:5]:
                say(f"    lost: {line[:300]}")
    return found


_HEAD = f"{'kind':<46}{'tried':>8}{'survived':>10}{'lost':>6}{'seed':>6}{'seconds':>9}"


def _row(tally: Tally) -> str:
    return (
        f"{tally.kind:<46}{tally.tried:>8,}{tally.survived:>10,}{tally.outcomes['lost']:>6}"
        f"{tally.seed:>6}{tally.seconds:>9.1f}"
    )


def write_results(
    tallies: Sequence[Tally], plan: Plan, folder: Path, *, merge: bool = False
) -> None:
    """Keep the table as a page and as data; a run of some kinds replaces their rows."""
    from unispectral import __version__
    from unispectral._files import write_text_atomic

    folder.mkdir(parents=True, exist_ok=True)
    about = {
        "version": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "cores": os.cpu_count(),
    }
    rows: list[dict[str, Any]] = [
        {
            "kind": tally.kind,
            "tried": tally.tried,
            "survived": tally.survived,
            "lost": tally.outcomes["lost"],
            "seed": tally.seed,
            "seconds": round(tally.seconds, 1),
            "outcomes": dict(tally.outcomes),
            "facts": tally.facts,
            "failures": tally.lost,
        }
        for tally in tallies
    ]
    if merge and (folder / "torture.json").exists():
        kept = json.loads((folder / "torture.json").read_text())["rows"]
        new = {row["kind"] for row in rows}
        rows = sorted(
            [*(row for row in kept if row["kind"] not in new), *rows],
            key=lambda row: row["kind"],
        )
    content = json.dumps({"about": about, "rows": rows}, indent=1, ensure_ascii=False)
    write_text_atomic(folder / "torture.json", content + "\n")
    lines = [
        "# Torture",
        "",
        "Attempts to break the library, made by `make torture`; each row can be replayed with its",
        "seed (`python -m torture --only … --seed …`, one case with `--replay`). A case is lost",
        "if anything but the promised outcome came of it.",
        "",
        f"Version {about['version']}, Python {about['python']} on {about['system']}, "
        f"{about['cores']} cores, {sum(row['seconds'] for row in rows) / 60:.0f} minutes.",
        "",
        "| kind | tried | survived | lost | seed |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r['kind']} | {r['tried']:,} | {r['survived']:,} | {r['lost']} | {r['seed']} |"
        for r in rows
    ]
    tried, lost = sum(r["tried"] for r in rows), sum(r["lost"] for r in rows)
    lines += [f"| **all** | {tried:,} | {tried - lost:,} | {lost} | |", "", "## In detail", ""]
    for row in rows:
        outcomes = ", ".join(f"{count:,} {name}" for name, count in row["outcomes"].items())
        lines.append(f"- **{row['kind']}**: {outcomes or 'nothing'}.")
        lines += [f"  - {name}: {value}" for name, value in row["facts"].items()]
        lines += [f"  - lost: `{failure}`" for failure in row["failures"]]
    write_text_atomic(folder / "torture.md", "\n".join(lines) + "\n")


def replay(case: str) -> int:
    """Do one case again, as the table names it: ``reader: a | b | seed``."""
    head, _, rest = case.partition(": ")
    parts = [part.strip() for part in rest.split(" | ")]
    if head == "estimators":
        from torture.inputs import Case, outcome

        found = outcome(Case(parts[0], parts[1], int(parts[2].split(":")[0])))
    else:
        from torture._readers import FileCase
        from torture._readers import outcome as file_outcome

        found = file_outcome(FileCase(head, parts[0], parts[1], int(parts[2].split(":")[0])))
    print(*found, sep=": ")
    return int(found[0] == "lost")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, write; the exit code says whether anything was lost."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run that writes no file")
    parser.add_argument("--only", nargs="+", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0, help="start nothing after this")
    parser.add_argument("--replay", metavar="CASE", help="do one case again")
    parser.add_argument("--out", type=Path, default=_RESULTS, help="folder of the results")
    options = parser.parse_args(arguments)
    if options.replay:
        return replay(options.replay)
    begun = time.monotonic()
    plan = Plan(options.seed, options.quick, begun + 60 * options.minutes)
    found = run_kinds(options.only or KINDS, plan)
    lost = sum(tally.outcomes["lost"] for tally in found)
    tried = sum(tally.tried for tally in found)
    seconds = time.monotonic() - begun
    print(f"\n{tried:,} tried, {lost} lost, {seconds / 60:.1f} minutes")
    if not options.quick:
        write_results(found, plan, options.out, merge=bool(options.only))
        print(f"written to {options.out}/torture.md and .json")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
