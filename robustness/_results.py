"""Cases and what came of them: the result of one part, the record of all parts, and their page."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Failures that are stored with their text; more of the same teach nothing.
_STORED = 40


@dataclass(frozen=True)
class Plan:
    """How much to do: a seed, a short or a full run, and in how many processes."""

    seed: int = 0
    quick: bool = False
    workers: int = 1

    def pick(self, few: int, many: int) -> int:
        """The number for a short or a full run."""
        return few if self.quick else many


@dataclass
class Result:
    """One row of the table, or the share of it that one part has done.

    Attributes
    ----------
    kind : str
        What was done.
    outcomes : Counter
        Cases by what came of them; only ``"failed"`` is bad.
    failures : list of str
        The first failures, each with all that is needed to replay it.
    facts : dict
        Measurements.
    """

    kind: str
    seed: int
    outcomes: Counter = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    @property
    def n_cases(self) -> int:
        return self.outcomes.total()

    @property
    def n_failed(self) -> int:
        return self.outcomes["failed"]

    def add(self, outcome: str, case: str = "", message: str = "") -> None:
        """Count one case."""
        self.outcomes[outcome] += 1
        self.seconds = time.monotonic() - self.begun
        if outcome == "failed" and len(self.failures) < _STORED:
            self.failures.append(f"{case}: {' '.join(message.split())[:600]}")

    def check(self, good: bool, case: str, message: str = "") -> bool:
        """Count one case that either holds or does not."""
        self.add("passed" if good else "failed", case, message)
        return good


#: A piece of work of a few minutes at most; parts of one kind are added up.
Part = Callable[[Plan], Result]


class Record:
    """Rows by the name of their part, in a file that every finished part rewrites."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        if path.exists():
            self.rows = json.loads(path.read_text())["parts"]

    def add(self, part: str, result: Result) -> None:
        """Store the result of a part, in place of an earlier one."""
        self.rows[part] = {
            "kind": result.kind,
            "cases": result.n_cases,
            "failed": result.n_failed,
            "seed": result.seed,
            "seconds": round(result.seconds, 1),
            "source": _source_state(),
            "commit": _commit(),
            "outcomes": dict(sorted(result.outcomes.items())),
            "facts": result.facts,
            "failures": result.failures,
        }
        _write_json(self.path, {"parts": self.rows})

    def forget(self, parts: Iterable[str]) -> None:
        """Drop parts, so that they are run again."""
        for part in parts:
            self.rows.pop(part, None)

    def total(self, key: str) -> int:
        """Sum of a count over the parts."""
        return sum(row[key] for row in self.rows.values())


def _write_json(path: Path, content: dict[str, Any]) -> None:
    from unispectral._files import write_text_atomic

    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomic(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _source_state() -> str:
    """A short name for the source of the library as it is now."""
    import unispectral

    found = hashlib.sha256()
    for path in sorted(Path(unispectral.__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:10]


def _commit() -> str:
    """The commit that is checked out, marked where the source differs from it."""
    import subprocess

    def git(*arguments: str) -> str:
        root = Path(__file__).resolve().parent.parent
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "robustness", "tests")
    return git("rev-parse", "--short=10", "HEAD") + (" with changes" if changed else "")


def _summed(parts: dict[str, dict[str, Any]], order: Sequence[str]) -> list[dict[str, Any]]:
    """One row for each kind: its parts added up."""
    rows: dict[str, dict[str, Any]] = {}
    for name in [part for part in order if part in parts]:
        part = parts[name]
        row = rows.setdefault(
            part["kind"],
            {
                "kind": part["kind"], "parts": [], "cases": 0, "failed": 0, "seconds": 0.0,
                "seeds": [], "commits": [], "outcomes": Counter(), "facts": {}, "failures": [],
            },
        )  # fmt: skip
        row["parts"].append(name)
        for key in ("cases", "failed", "failures"):
            row[key] += part[key]
        row["seconds"] = round(row["seconds"] + part["seconds"], 1)
        row["seeds"] = sorted({*row["seeds"], part["seed"]})
        row["commits"] = sorted({*row["commits"], part.get("commit", "unknown")})
        row["outcomes"] += Counter(part["outcomes"])
        # Of the facts of parts of one kind the one with the largest number stays: the worst.
        for fact, value in part["facts"].items():
            if fact not in row["facts"] or _number(value) > _number(row["facts"][fact]):
                row["facts"][fact] = value
    for row in rows.values():
        row["outcomes"] = dict(sorted(row["outcomes"].items()))
    return list(rows.values())


def _number(value: Any) -> float:
    try:
        return float(str(value).split()[0])
    except (ValueError, IndexError):
        return float("-inf")


def write_page(record: Record, order: Sequence[str], folder: Path) -> None:
    """Write the table as a page and as data, and say which parts it lacks."""
    from unispectral import __version__
    from unispectral._files import write_text_atomic

    rows = _summed(record.rows, order)
    about = {
        "version": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "states of the source": len({part["source"] for part in record.rows.values()}),
        "commits": sorted({part.get("commit", "") for part in record.rows.values()} - {""}),
        "parts not run": [part for part in order if part not in record.rows],
    }
    _write_json(folder / "robustness.json", {"about": about, "rows": rows})
    write_text_atomic(folder / "robustness.md", "\n".join(_page(rows, about)) + "\n")


def _page(rows: list[dict[str, Any]], about: dict[str, Any]) -> list[str]:
    lines = [
        "# Robustness",
        "",
        "Attempts to break the library, made by `make robustness`. A case fails if anything but",
        "the promised outcome came of it. A kind is run again with its seed by",
        "`python -m robustness KIND --seed SEED`, a single case by `--replay`.",
        "",
        f"Version {about['version']}, Python {about['python']} on {about['system']}, "
        f"{about['cores']} cores, each part on one of them, "
        f"{sum(row['seconds'] for row in rows) / 60:.0f} minutes in all; "
        f"commit {', '.join(about['commits']) or 'unknown'}.",
        "",
    ]
    if about["states of the source"] > 1:
        lines += [
            f"The parts were run on {about['states of the source']} states of the source, as what "
            "they found was mended:",
            "",
        ]
        for commit in about["commits"]:
            kinds = [row["kind"] for row in rows if commit in row["commits"]]
            lines.append(f"- {commit}: {'; '.join(kinds)}")
        lines.append("")
    if about["parts not run"]:
        lines += [f"Not run: {', '.join(about['parts not run'])}.", ""]
    lines += ["| kind | cases | passed | failed | seed |", "|---|---:|---:|---:|---:|"]
    for row in rows:
        seeds = ", ".join(map(str, row["seeds"]))
        lines.append(
            f"| {row['kind']} | {row['cases']:,} | {row['cases'] - row['failed']:,} | "
            f"{row['failed']} | {seeds} |"
        )
    cases, failed = sum(row["cases"] for row in rows), sum(row["failed"] for row in rows)
    lines += [f"| **all** | {cases:,} | {cases - failed:,} | {failed} | |", "", "## In detail", ""]
    for row in rows:
        outcomes = ", ".join(f"{count:,} {name}" for name, count in row["outcomes"].items())
        lines.append(f"- **{row['kind']}**: {outcomes or 'nothing'}.")
        lines += [f"  - {name}: {value}" for name, value in row["facts"].items()]
        lines += [f"  - failed: `{failure}`" for failure in row["failures"]]
    return lines
