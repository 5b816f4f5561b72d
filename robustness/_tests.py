"""The modules of ``tests/``, for parts that run what is in them more often."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType


@cache
def test_module(name: str) -> ModuleType:
    """A module of the folder of tests, such as ``bench/test_stateful``."""
    path = Path(__file__).resolve().parent.parent / "tests" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"robustness.{Path(name).name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
