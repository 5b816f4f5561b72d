"""``python -m torture``: everything, one table, and the same in docs/results.

A run consists of parts of a few minutes. What a part has found is kept in ``.torture/``, so that
a run that was stopped goes on where it was; a full one is begun anew.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # forks must not inherit pools of threads
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from torture._ledger import Ledger, write_page
from torture._tally import Part, Plan, Tally

__all__ = ["KINDS", "main", "parts"]

#: Forks first: later kinds start threads.
KINDS = ("faults", "inputs", "files", "invariances", "memory", "interrupts", "security",
         "concurrency")  # fmt: skip
_ROOT = Path(__file__).resolve().parent.parent


def parts(kinds: Sequence[str] = KINDS) -> dict[str, Part]:
    """Every part of some kinds by its name, ``kind/part``."""
    return {
        f"{kind}/{name}": part
        for kind in kinds
        for name, part in importlib.import_module(f"torture.{kind}").PARTS.items()
    }


def run_part(name: str, part: Part, plan: Plan) -> Tally:
    """Do one part; what it cannot cope with is a loss too."""
    try:
        return part(plan)
    except Exception:
        tally = Tally(name, plan.seed)
        tally.add("lost", name, traceback.format_exc()[-600:])
        return tally


_HEAD = f"{'part':<46}{'tried':>8}{'survived':>10}{'lost':>6}{'seed':>6}{'seconds':>9}"


def _row(name: str, tally: Tally) -> str:
    return (
        f"{name:<46}{tally.tried:>8,}{tally.survived:>10,}{tally.outcomes['lost']:>6}"
        f"{tally.seed:>6}{tally.seconds:>9.1f}"
    )


def run_parts(
    wanted: dict[str, Part],
    plan: Plan,
    ledger: Ledger | None,
    *,
    until: float = float("inf"),
    say: Callable[[str], None] = print,
) -> int:
    """Do parts and print each row as it is done; returns the number of losses."""
    lost = 0
    say(_HEAD)
    for name, part in wanted.items():
        if time.monotonic() > until:
            say("the time is up; the same command goes on from here")
            break
        tally = run_part(name, part, plan)
        say(_row(name, tally))
        sys.stdout.flush()
        for line in tally.lost[:5]:
            say(f"    lost: {line[:300]}")
        lost += tally.outcomes["lost"]
        if ledger is not None:
            ledger.add(name, tally)
    return lost


def replay(case: str) -> int:
    """Do one case again, as the table names it: ``reader: a | b | seed``."""
    head, _, rest = case.partition(": ")
    fields = [field.strip() for field in rest.split(" | ")]
    seed = int(fields[2].split(":")[0])
    if head == "estimators":
        from torture.inputs import Case, outcome

        found = outcome(Case(fields[0], fields[1], seed))
    else:
        from torture.files import FileCase
        from torture.files import outcome as file_outcome

        found = file_outcome(FileCase(head, fields[0], fields[1], seed))
    print(*found, sep=": ")
    return int(found[0] == "lost")


def _chosen(every: dict[str, Part], names: Sequence[str]) -> dict[str, Part]:
    return {
        part: every[part]
        for part in every
        if not names or part in names or part.partition("/")[0] in names
    }


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument(
        "what", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; or a part"
    )
    parser.add_argument("--quick", action="store_true", help="a short run that writes no file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes for hostile input")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no part after this")
    parser.add_argument("--fresh", action="store_true", help="forget what was done before")
    parser.add_argument("--lost", action="store_true", help="only the parts that lost something")
    parser.add_argument("--list", action="store_true", help="name the parts and do nothing")
    parser.add_argument("--replay", metavar="CASE", help="do one case again")
    parser.add_argument("--out", type=Path, default=_ROOT / "docs" / "results")
    parser.add_argument("--ledger", type=Path, default=_ROOT / ".torture" / "ledger.json")
    options = parser.parse_args(arguments)
    known = {*KINDS, *parts()}
    for name in options.what:
        if name not in known:
            parser.error(f"there is no kind or part {name!r}; --list names them")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, write; the exit code says whether anything was lost."""
    options = _options(arguments)
    if options.replay:
        return replay(options.replay)
    every = parts()
    wanted = _chosen(every, options.what)
    if options.list:
        print(*wanted, sep="\n")
        return 0
    begun = time.monotonic()
    plan = Plan(options.seed, options.quick, options.workers)
    if options.quick:
        return int(run_parts(wanted, plan, None) > 0)
    ledger = Ledger(options.ledger)
    if options.lost:
        wanted = {part: wanted[part] for part in wanted if ledger.rows.get(part, {}).get("lost")}
    if options.fresh or options.lost or every.keys() <= ledger.rows.keys():
        ledger.forget(wanted)
    ledger.forget(name for name in options.what if name in every)
    todo = {part: run for part, run in wanted.items() if part not in ledger.rows}
    lost = run_parts(todo, plan, ledger, until=begun + 60 * options.minutes)
    write_page(ledger, list(every), options.out)
    tried = sum(row["tried"] for row in ledger.rows.values())
    all_lost = sum(row["lost"] for row in ledger.rows.values())
    absent = len(every.keys() - ledger.rows.keys())
    minutes = (time.monotonic() - begun) / 60
    print(f"\n{tried:,} tried, {all_lost} lost, {absent} parts to do; {minutes:.1f} minutes now")
    print(f"written to {options.out}/torture.md and .json")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
