"""The paper's published figures, and where they contradict themselves.

Source: Z. Kang, C. Peng, Q. Cheng and Z. Xu, "Unified Spectral Clustering with Optimal Graph",
Proceedings of the AAAI Conference on Artificial Intelligence 32 (2018), table of results.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any

__all__ = ["paper_figure", "paper_notes"]

_SWAPPED = ("SCSK", "SCSK-m", "SCMK")


@lru_cache(maxsize=1)
def _content() -> dict[str, Any]:
    path = resources.files("unispectral.bench") / "paper_table.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def paper_figure(metric: str, dataset: str, column: str) -> float | None:
    """A figure of the paper in per cent, or None where it has none.

    Examples
    --------
    >>> paper_figure("accuracy", "YALE", "SCMK")
    63.25
    """
    content = _content()
    # The purity of the authors' own methods is the swapped one, see the notes.
    if metric == "swapped_purity" and column in _SWAPPED:
        metric = "purity"
    if column not in content["columns"] or metric not in content:
        return None
    row = content[metric].get(dataset)
    value = row[content["columns"].index(column)] if row else None
    return None if value is None or value < 0 else float(value)


def paper_notes() -> list[str]:
    """What is known to be wrong or contradictory in the paper, one sentence or two each."""
    return list(_content()["notes"])
