"""The checks of array namespaces, in a process of its own: they need another import of SciPy."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("tests", ["tests/test_estimator.py", "tests/baselines"])
def test_estimators_take_arrays_while_dispatch_is_on(tests: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-k", "check_array_api", tests],
        cwd=ROOT,
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\b\d+ passed", done.stdout)
    assert "skipped" not in done.stdout
