"""What the parts of a run have found, kept from one call to the next, and the page made of it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from torture._tally import Tally

__all__ = ["Ledger", "write_page"]


class Ledger:
    """Rows by the name of their part, in a file that every finished part rewrites."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        if path.exists():
            self.rows = json.loads(path.read_text())["parts"]

    def add(self, part: str, tally: Tally) -> None:
        """Keep what a part has found, in place of what it found before."""
        from unispectral._files import write_text_atomic

        self.rows[part] = {
            "kind": tally.kind,
            "tried": tally.tried,
            "lost": tally.outcomes["lost"],
            "seed": tally.seed,
            "seconds": round(tally.seconds, 1),
            "source": source_state(),
            "outcomes": dict(sorted(tally.outcomes.items())),
            "facts": tally.facts,
            "failures": tally.lost,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"parts": self.rows}, indent=1, ensure_ascii=False)
        write_text_atomic(self.path, content + "\n")

    def forget(self, parts: Iterable[str]) -> None:
        """Drop parts, so that they are done again."""
        for part in parts:
            self.rows.pop(part, None)


def source_state() -> str:
    """A short name for the source of the library as it is now."""
    import unispectral

    found = hashlib.sha256()
    for path in sorted(Path(unispectral.__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:10]


def summed(parts: dict[str, dict[str, Any]], order: Sequence[str]) -> list[dict[str, Any]]:
    """One row for each kind: its parts added up."""
    rows: dict[str, dict[str, Any]] = {}
    for name in [part for part in order if part in parts]:
        part = parts[name]
        row = rows.setdefault(
            part["kind"],
            {
                "kind": part["kind"], "parts": [], "tried": 0, "lost": 0, "seconds": 0.0,
                "seeds": [], "outcomes": Counter(), "facts": {}, "failures": [],
            },
        )  # fmt: skip
        row["parts"].append(name)
        for key in ("tried", "lost"):
            row[key] += part[key]
        row["seconds"] = round(row["seconds"] + part["seconds"], 1)
        row["seeds"] = sorted({*row["seeds"], part["seed"]})
        row["outcomes"] += Counter(part["outcomes"])
        row["failures"] += part["failures"]
        _add_facts(row["facts"], part["facts"])
    for row in rows.values():
        row["outcomes"] = dict(sorted(row["outcomes"].items()))
    return list(rows.values())


def _add_facts(facts: dict[str, Any], more: dict[str, Any]) -> None:
    """Of parts of one kind the fact with the largest number is kept: the slowest, the worst."""
    for name, value in more.items():
        if name not in facts or _number(value) > _number(facts[name]):
            facts[name] = value


def _number(value: Any) -> float:
    try:
        return float(str(value).split()[0])
    except (ValueError, IndexError):
        return float("-inf")


def write_page(ledger: Ledger, order: Sequence[str], folder: Path) -> None:
    """Write the table as a page and as data, and say which parts it lacks."""
    from unispectral import __version__
    from unispectral._files import write_text_atomic

    folder.mkdir(parents=True, exist_ok=True)
    rows = summed(ledger.rows, order)
    lacking = [part for part in order if part not in ledger.rows]
    states = {part["source"] for part in ledger.rows.values()}
    about = {
        "version": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "states of the source": len(states),
        "parts not run": lacking,
    }
    content = json.dumps({"about": about, "rows": rows}, indent=1, ensure_ascii=False)
    write_text_atomic(folder / "torture.json", content + "\n")
    write_text_atomic(folder / "torture.md", "\n".join(_page(rows, about)) + "\n")


def _page(rows: list[dict[str, Any]], about: dict[str, Any]) -> list[str]:
    lacking = about["parts not run"]
    lines = [
        "# Torture",
        "",
        "Attempts to break the library, made by `make torture`. A case is lost if anything but",
        "the promised outcome came of it. A kind is done again with its seed by",
        "`python -m torture KIND --seed SEED`, a single case by `--replay`.",
        "",
        f"Version {about['version']}, Python {about['python']} on {about['system']}, "
        f"{about['cores']} cores of which one was used, "
        f"{sum(row['seconds'] for row in rows) / 60:.0f} minutes.",
        "",
    ]
    if about["states of the source"] > 1:
        lines += [
            f"The parts were run one after another on {about['states of the source']} states of "
            "the source, as it was being worked on.",
            "",
        ]
    if lacking:
        lines += [f"Not run: {', '.join(lacking)}.", ""]
    lines += ["| kind | tried | survived | lost | seed |", "|---|---:|---:|---:|---:|"]
    for row in rows:
        seeds = ", ".join(map(str, row["seeds"]))
        lines.append(
            f"| {row['kind']} | {row['tried']:,} | {row['tried'] - row['lost']:,} | "
            f"{row['lost']} | {seeds} |"
        )
    tried, lost = sum(row["tried"] for row in rows), sum(row["lost"] for row in rows)
    lines += [f"| **all** | {tried:,} | {tried - lost:,} | {lost} | |", "", "## In detail", ""]
    for row in rows:
        outcomes = ", ".join(f"{count:,} {name}" for name, count in row["outcomes"].items())
        lines.append(f"- **{row['kind']}**: {outcomes or 'nothing'}.")
        lines += [f"  - {name}: {value}" for name, value in row["facts"].items()]
        lines += [f"  - lost: `{failure}`" for failure in row["failures"]]
    return lines
