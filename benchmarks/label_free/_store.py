"""Results as a file that grows cell by cell, so that an interrupted run goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unispectral._files import atomic_path

__all__ = ["Store"]


class Store:
    """A JSON file of results, each with what it depends on.

    Parameters
    ----------
    path : Path or None
        The file; None keeps the results in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.cells: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            self.cells = json.loads(path.read_text(encoding="utf-8"))["cells"]

    def cell(self, key: str, condition: str, measure: Callable[[], dict[str, Any]]) -> dict:
        """The stored result of a key, measured and written now if it is missing or outdated."""
        found = self.cells.get(key)
        if found is None or found["condition"] != condition:
            result = measure()
            print(f"{key}: {_brief(result)}", flush=True)
            self.cells[key] = {"condition": condition, "result": result}
            self._write()
        return self.cells[key]["result"]

    def forget(self, key: str) -> None:
        """Drop a result that no longer holds."""
        if self.cells.pop(key, None) is not None:
            self._write()

    def results(self, part: str) -> dict[tuple[str, ...], dict[str, Any]]:
        """Everything stored of one part, by the rest of its key."""
        return {
            tuple(key.split("/")[1:]): cell["result"]
            for key, cell in self.cells.items()
            if key.split("/")[0] == part
        }

    def _write(self) -> None:
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(self.path) as temporary:
            lines = ",\n".join(
                f" {json.dumps(key)}: {json.dumps(cell, sort_keys=True)}"
                for key, cell in sorted(self.cells.items())
            )
            temporary.write_text(f'{{"cells": {{\n{lines}\n}}}}\n', "utf-8")


def _brief(result: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in result.items()
    )
