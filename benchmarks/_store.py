"""Results as a file that grows cell by cell, so that an interrupted run goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unispectral._files import atomic_path

__all__ = ["Store"]


class Store:
    """A JSON file of measured cells.

    Parameters
    ----------
    path : Path
        The file. Cells found there are kept if it was written under the same `conditions`.
    conditions : dict
        What the figures depend on: the machine, the versions, the sizes.
    fresh : bool
        Measure everything again.
    """

    def __init__(self, path: Path, conditions: dict[str, Any], *, fresh: bool = False) -> None:
        self.path = path
        self.conditions = conditions
        self.cells: dict[str, Any] = {}
        if not fresh and path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))
            if stored.get("conditions") == conditions:
                self.cells = stored["cells"]

    @staticmethod
    def read(path: Path) -> dict[str, Any]:
        """The cells of a file, whatever its conditions; none where there is no file."""
        return json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else {}

    def cell(self, key: str, measure: Callable[[], Any]) -> Any:
        """The stored result of `key`, measured and written now if it is not there."""
        if key not in self.cells:
            print(f"measuring {key}", flush=True)
            self.cells[key] = measure()
            self._write()
        return self.cells[key]

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = {"conditions": self.conditions, "cells": self.cells}
        with atomic_path(self.path) as temporary:
            temporary.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")
