"""``python -m robustness``: all parts, one table, and the same in docs/results.

A run consists of parts of a few minutes. The result of a part is stored in ``.robustness/``, so
that an interrupted run is resumed; after a complete one the next starts anew.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # forks must not inherit pools of threads
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from robustness._results import Part, Plan, Record, Result, write_page

#: Forks first: later kinds start threads.
KINDS = ("faults", "one_by_one", "inputs", "files", "amplification", "model_fuzz", "store_fuzz",
         "oracle", "invariances", "metamorphic", "stateful", "memory", "interrupts", "security",
         "concurrency")  # fmt: skip
_ROOT = Path(__file__).resolve().parent.parent


def parts(kinds: Sequence[str] = KINDS) -> dict[str, Part]:
    """Every part of some kinds by its name, ``kind/part``."""
    return {
        f"{kind}/{name}": part
        for kind in kinds
        for name, part in importlib.import_module(f"robustness.{kind}").PARTS.items()
    }


def run_part(name: str, part: Part, plan: Plan) -> Result:
    """Run one part; an exception of the part itself is a failure too."""
    try:
        return part(plan)
    except Exception:
        result = Result(name, plan.seed)
        result.add("failed", name, traceback.format_exc()[-600:])
        return result


def run_parts(
    wanted: dict[str, Part],
    plan: Plan,
    record: Record | None,
    *,
    until: float = float("inf"),
    show: Callable[[], None] = lambda: None,
) -> int:
    """Run parts, print and show each row as it is done; returns the number of failures."""
    failed = 0
    print(f"{'part':<46}{'cases':>8}{'failed':>8}{'seed':>6}{'seconds':>9}")
    for name, part in wanted.items():
        if time.monotonic() > until:
            print("the time is up; the same command goes on from here")
            break
        result = run_part(name, part, plan)
        print(
            f"{name:<46}{result.n_cases:>8,}{result.n_failed:>8}{result.seed:>6}"
            f"{result.seconds:>9.1f}",
            flush=True,
        )
        for line in result.failures[:5]:
            print(f"    failed: {line[:300]}")
        failed += result.n_failed
        if record is not None:
            record.add(name, result)
            show()
    return failed


def replay(case: str) -> int:
    """Do one case again, as the table names it: ``reader: a | b | seed``."""
    head, _, rest = case.partition(": ")
    fields = [field.strip() for field in rest.split(" | ")]
    fields[2] = fields[2].split(":")[0]
    seed = int(fields[2])
    if head == "estimators":
        from robustness.inputs import Case, outcome

        found = outcome(Case(fields[0], fields[1], seed))
    elif head == "amplification":
        from robustness.amplification import BombCase
        from robustness.amplification import outcome as bomb_outcome

        found = bomb_outcome(BombCase(fields[0], fields[1], int(fields[2])))
    elif head == "stores":
        from robustness.store_fuzz import StoreCase
        from robustness.store_fuzz import outcome as store_outcome

        found = store_outcome(StoreCase(fields[0], seed))
    elif fields[1] == "changed":
        from robustness.model_fuzz import FuzzCase
        from robustness.model_fuzz import outcome as fuzz_outcome

        found = fuzz_outcome(FuzzCase(fields[0], seed))
    else:
        from robustness.files import FileCase
        from robustness.files import outcome as file_outcome

        found = file_outcome(FileCase(head, fields[0], fields[1], seed))
    print(*found, sep=": ")
    return int(found[0] == "failed")


def _chosen(every: dict[str, Part], names: Sequence[str]) -> dict[str, Part]:
    return {
        part: every[part]
        for part in every
        if not names or part in names or part.partition("/")[0] in names
    }


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m robustness", description=__doc__)
    parser.add_argument(
        "what", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; or a part"
    )
    parser.add_argument("--quick", action="store_true", help="a short run that writes no file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes for hostile input")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no part after this")
    parser.add_argument("--fresh", action="store_true", help="forget what was done before")
    parser.add_argument("--failed", action="store_true", help="only the parts with failures")
    parser.add_argument("--list", action="store_true", help="name the parts and do nothing")
    parser.add_argument("--replay", metavar="CASE", help="do one case again")
    parser.add_argument("--out", type=Path, default=_ROOT / "docs" / "results")
    parser.add_argument("--record", type=Path, default=_ROOT / ".robustness" / "record.json")
    options = parser.parse_args(arguments)
    known = {*KINDS, *parts()}
    for name in options.what:
        if name not in known:
            parser.error(f"there is no kind or part {name!r}; --list names them")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, write; the exit code says whether anything failed."""
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
    record = Record(options.record)
    if options.failed:
        wanted = {part: wanted[part] for part in wanted if record.rows.get(part, {}).get("failed")}
    if options.fresh or options.failed or every.keys() <= record.rows.keys():
        record.forget(wanted)
    record.forget(name for name in options.what if name in every)
    todo = {part: run for part, run in wanted.items() if part not in record.rows}
    show = partial(write_page, record, list(every), options.out)
    failed = run_parts(todo, plan, record, until=begun + 60 * options.minutes, show=show)
    show()
    absent = len(every.keys() - record.rows.keys())
    minutes = (time.monotonic() - begun) / 60
    print(
        f"\n{record.total('cases'):,} cases, {record.total('failed')} failed, {absent} parts to "
        f"do; {minutes:.1f} minutes now"
    )
    print(f"written to {options.out}/robustness.md and .json")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
