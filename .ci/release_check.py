"""Whether everything agrees before a release: ``make release-check TAG=v0.1.0``."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from recipe import repository, version

ROOT = Path(__file__).resolve().parent.parent


def disagreements(tag: str, *, address: str, github: str = "") -> list[str]:
    """One sentence for each thing that is not as the tag says.

    ``address`` is the repository of ``pyproject.toml``, ``github`` the one that runs this.
    """
    here = version()
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    recipe = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    paper = (ROOT / "docs" / "joss" / "paper.md").read_text(encoding="utf-8")
    checks = {
        f"The tag is {tag or 'missing'}, the version {here}: tag v{here}.": tag == f"v{here}",
        f"CHANGELOG.md has no line '## {here} (year-month-day)'.": re.search(
            rf"^## {re.escape(here)} \(\d{{4}}-\d\d-\d\d\)$", changes, re.M
        ),
        f"CITATION.cff does not say version {here}.": f"\nversion: {here}\n" in citation,
        "CITATION.cff has no line 'date-released: year-month-day'.": re.search(
            r"^date-released: ['\"]?\d{4}-\d\d-\d\d", citation, re.M
        ),
        f"recipe/meta.yaml does not say version {here}.": f'version = "{here}"' in recipe,
        "docs/joss/paper.md has fields 'to be filled in'.": "to be filled in" not in paper,
        "repository in pyproject.toml is empty or no https address.": re.fullmatch(
            r"https://[^/]+/[^/]+/[^/]+", address
        ),
        f"repository in pyproject.toml is {address!r}, but this runs for {github}.": not github
        or address.lower() == github.lower(),
    }
    return [sentence for sentence, good in checks.items() if not good]


if __name__ == "__main__":
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    found = disagreements(
        sys.argv[1] if len(sys.argv) > 1 else "",
        address=repository(),
        github=f"{server}/{name}" if server and name else "",
    )
    print("\n".join(found) or "Everything agrees.")
    sys.exit(bool(found))
