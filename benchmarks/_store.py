"""Results as a file that grows cell by cell, so that an interrupted run is resumed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unispectral._files import write_text_atomic


class Store:
    """A JSON file of measured cells.

    Parameters
    ----------
    path : Path or None
        The file; None keeps the cells in memory. Cells found there are kept if it was written
        under the same `conditions`.
    conditions : dict
        What all figures depend on: the machine, the versions, the sizes.
    fresh : bool
        Measure everything again.
    """

    def __init__(
        self, path: Path | None, conditions: dict[str, Any] | None = None, *, fresh: bool = False
    ) -> None:
        self.path = path
        self.conditions = conditions or {}
        self.cells: dict[str, Any] = {}
        if path is not None and path.exists() and not fresh:
            stored = json.loads(path.read_text(encoding="utf-8"))
            if stored.get("conditions", {}) == self.conditions:
                self.cells = stored["cells"]

    @staticmethod
    def read(path: Path) -> dict[str, Any]:
        """The cells of a file, whatever its conditions; none where there is no file."""
        return json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else {}

    def cell(self, key: str, measure: Callable[[], Any], *, condition: str | None = None) -> Any:
        """The stored result of `key`, measured and written now if it is missing.

        With a `condition`, what this cell alone depends on, it is also measured again when that
        has changed; it is then stored as ``{"condition": …, "result": …}``.
        """
        found = self.cells.get(key)
        if found is None or (condition is not None and found["condition"] != condition):
            print(f"measuring {key}", flush=True)
            result = measure()
            self.cells[key] = (
                result if condition is None else {"condition": condition, "result": result}
            )
            self._write()
        return self.cells[key] if condition is None else self.cells[key]["result"]

    def forget(self, key: str) -> None:
        """Drop a result that no longer holds."""
        if self.cells.pop(key, None) is not None:
            self._write()

    def results(self, part: str) -> dict[tuple[str, ...], dict[str, Any]]:
        """The results of all keys ``part/…`` that have conditions, by the rest of the key."""
        return {
            tuple(key.split("/")[1:]): cell["result"]
            for key, cell in self.cells.items()
            if key.split("/")[0] == part
        }

    def _write(self) -> None:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            content = {"conditions": self.conditions, "cells": self.cells}
            write_text_atomic(self.path, json.dumps(content, indent=1, sort_keys=True) + "\n")
