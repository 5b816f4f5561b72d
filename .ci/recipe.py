"""Write version, checksum, address and maintainer into the conda recipe: ``make recipe``.

The checksum is that of ``dist/*.tar.gz``, which must be the published file; the address and the
account come from ``repository`` in ``pyproject.toml``.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def repository() -> str:
    """The address in ``pyproject.toml``, empty while there is none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"].rstrip("/")


def version() -> str:
    """The version of the package."""
    return (ROOT / "src/unispectral/_version.py").read_text(encoding="utf-8").split('"')[1]


def filled(recipe: str, *, version: str, sha256: str, repository: str) -> str:
    """The recipe with these values."""
    account = repository.split("/")[-2]
    for pattern, value in (
        (r'(set version = )".*"', rf'\g<1>"{version}"'),
        (r"(\n  sha256: ).*", rf'\g<1>"{sha256}"'),
        (r'(set repository = )".*"', rf'\g<1>"{repository}"'),
        (r"(\n  recipe-maintainers:)(?s:.*)", rf"\g<1>\n    - {account}\n"),
    ):
        recipe, found = re.subn(pattern, value, recipe)
        assert found == 1, pattern
    return recipe


if __name__ == "__main__":
    built = ROOT / "dist" / f"unispectral-{version()}.tar.gz"
    if not repository() or not built.is_file():
        sys.exit("Set repository in pyproject.toml and run make dist first.")
    page = ROOT / "recipe" / "meta.yaml"
    sha256 = hashlib.sha256(built.read_bytes()).hexdigest()
    values = {"version": version(), "sha256": sha256, "repository": repository()}
    page.write_text(filled(page.read_text(encoding="utf-8"), **values), encoding="utf-8")
