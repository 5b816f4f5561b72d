"""What a package index shows: the addresses, and the README with links that work there.

Both are made from ``repository`` in ``pyproject.toml``. While it is empty, the package builds
without these addresses, and the README has neither pictures nor relative links.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PAPER = "https://ojs.aaai.org/index.php/AAAI/article/view/11613"
#: An image or a link of Markdown whose address is relative; an image may stand in a link.
_RELATIVE = re.compile(r"(!?)\[((?:!\[[^\]]*\]\([^)]*\)|[^\]])*)\]\((?!https?:|#)([^)\s]+)\)")


def readme_for_index(text: str, repository: str, tag: str) -> str:
    """The README with absolute addresses, or without those that have none."""

    def absolute(found: re.Match[str]) -> str:
        image, words, path = found.groups()
        words = _RELATIVE.sub(absolute, words)
        if not repository:
            return "" if image else words
        if path.startswith("../../"):  # pages beside the files, such as those of the workflows
            return f"{image}[{words}]({repository}/{path.removeprefix('../../')})"
        return f"{image}[{words}]({repository}/{'raw' if image else 'blob'}/{tag}/{path})"

    return _RELATIVE.sub(absolute, text)


def addresses(repository: str) -> dict[str, str]:
    """The links in the margin of an index page."""
    known = {"Paper": _PAPER}
    if repository:
        known |= {
            "Homepage": repository,
            "Source": repository,
            "Issues": f"{repository}/issues",
            "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        }
        host, account, name = repository.rsplit("/", 2)
        if host == "https://github.com":
            known["Documentation"] = f"https://{account.lower()}.github.io/{name}/"
    return known


class IndexPage(MetadataHookInterface):
    """The hook that hatchling calls."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in the fields that ``pyproject.toml`` calls dynamic."""
        root = Path(self.root)
        repository = self.config.get("repository", "").rstrip("/")
        version = root.joinpath("src/unispectral/_version.py").read_text(encoding="utf-8")
        text = root.joinpath("README.md").read_text(encoding="utf-8")
        tag = "v" + version.split('"')[1]
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": readme_for_index(text, repository, tag),
        }
        metadata["urls"] = addresses(repository)
