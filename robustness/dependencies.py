"""What each extra installs, how large it is, and under which licences: ``make dependencies``.

Everything is read from the packages that are installed here, so no network is needed. The exit
code is not 0 if a package has a licence that is unknown or that asks more of a user than
BSD-3-Clause does.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import cache_from_source
from pathlib import Path

from benchmarks._report import markdown_table
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["closure", "declared", "installed_bytes", "licence", "main", "refused"]

_ROOT = Path(__file__).resolve().parent.parent
_PAGE = _ROOT / "docs" / "results" / "dependencies.md"
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_OURSELVES = canonicalize_name(_PROJECT["name"])
#: Beginnings of licences that allow use beside, and redistribution with, BSD-3-Clause code.
ACCEPTED = (
    "0BSD", "Apache", "BSD", "CC0", "HPND", "ISC", "MIT", "Mozilla Public License 2.0", "MPL-2.0",
    "PSF", "Python Software Foundation", "Unlicense", "Zlib",
)  # fmt: skip


def declared(extra: str = "") -> list[Requirement]:
    """The requirements of an extra, or without one those of every installation."""
    lines = _PROJECT["optional-dependencies"][extra] if extra else _PROJECT["dependencies"]
    return [Requirement(line) for line in lines]


@cache
def _requirements(name: str, extra: str) -> tuple[Requirement, ...]:
    if name == _OURSELVES:  # an editable installation may be older than pyproject.toml
        return tuple(declared(extra))
    wanted = [Requirement(line) for line in distribution(name).requires or ()]
    return tuple(
        r
        for r in wanted
        if (not r.marker or r.marker.evaluate({"extra": extra}))
        and (not extra or (r.marker and not r.marker.evaluate({"extra": ""})))
    )


def closure(extras: Iterable[str] = ()) -> tuple[set[str], set[str]]:
    """Names of all packages that unispectral with these extras brings; installed and absent."""
    waiting = [(_OURSELVES, ""), *((_OURSELVES, extra) for extra in extras)]
    seen: set[tuple[str, str]] = set()
    absent: set[str] = set()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen or name in absent:
            continue
        try:
            requirements = _requirements(name, extra)
        except PackageNotFoundError:
            absent.add(name)
            continue
        seen.add((name, extra))
        for requirement in requirements:
            below = canonicalize_name(requirement.name)
            waiting += [(below, part) for part in ("", *requirement.extras)]
    return {name for name, _ in seen} - {_OURSELVES}, absent


@cache
def installed_bytes(name: str) -> int:
    """The files of a package on this disk, with the byte code that lies beside them."""
    total = 0
    for file in distribution(name).files or ():
        path = Path(str(file.locate()))
        if path.suffix == ".pyc" or not path.is_file():
            continue
        total += path.stat().st_size
        if path.suffix == ".py":
            compiled = Path(cache_from_source(str(path)))
            total += compiled.stat().st_size if compiled.is_file() else 0
    return total


def licence(package: Distribution) -> str:
    """What a package says its licence is: an SPDX expression, classifiers, or a first line."""
    said = package.metadata
    if expression := said.get("License-Expression"):
        return expression
    kinds = [c for c in said.get_all("Classifier") or () if c.startswith("License :: ")]
    named = [kind.rpartition(" :: ")[2] for kind in kinds]
    if named and named != ["OSI Approved"]:
        return " AND ".join(named)
    lines = [line.strip() for line in (said.get("License") or "").splitlines() if line.strip()]
    return lines[0] if lines else "unknown"


def refused(words: str) -> list[str]:
    """Parts of a licence that are not accepted.

    Examples
    --------
    >>> refused("MIT AND (GPL-3.0-only OR Apache-2.0)"), refused("MIT AND GPL-3.0-only")
    ([], ['GPL-3.0-only'])
    """
    parts = re.split(r"\s+AND\s+", words.replace("(", "").replace(")", ""))
    return [p for p in parts if not any(a.startswith(ACCEPTED) for a in re.split(r"\s+OR\s+", p))]


def _sizes() -> str:
    minimal, _ = closure()
    least = sum(map(installed_bytes, minimal))
    rows = []
    for extra in ("", *_PROJECT["optional-dependencies"]):
        names, absent = closure([extra] if extra else [])
        own = names - minimal if extra else names
        largest = sorted(own, key=installed_bytes, reverse=True)[:3]
        size = sum(map(installed_bytes, names))
        cells = [f"{size / 1e6:.0f}", f"{(size - least) / 1e6:.0f}" if extra else ""]
        if absent:
            cells = [f"not measured: {', '.join(sorted(absent))} not installed", ""]
        named = ", ".join(f"{n} {installed_bytes(n) / 1e6:.0f}" for n in largest)
        rows.append([f"`[{extra}]`" if extra else "none", len(names), *cells, named])
    return markdown_table(["extra", "packages", "MB", "MB more than none", "largest, MB"], rows)


def main() -> int:
    """Write the page, print it, and name every licence that is not accepted."""
    names, _ = closure(_PROJECT["optional-dependencies"])
    by_licence, bad = defaultdict(list), []
    for name in sorted(names):
        words = licence(distribution(name))
        by_licence[words].append(name)
        bad += [f"{name}: {part}" for part in refused(words)]
    rows = [[words, ", ".join(packages)] for words, packages in sorted(by_licence.items())]
    verdict = "All are accepted." if not bad else "**Not accepted:** " + "; ".join(bad) + "."
    text = (
        "Megabytes on disk with byte code, without Python, pip and unispectral itself, on "
        f"{sys.platform} with Python {sys.version_info.major}.{sys.version_info.minor}.\n\n"
        f"{_sizes()}\n\nLicences of all these packages, as they state them. {verdict}\n\n"
        f"{markdown_table(['licence', 'packages'], rows)}\n"
    )
    print(text)
    if "--no-page" not in sys.argv:
        _PAGE.write_text(text, encoding="utf-8")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
