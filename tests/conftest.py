"""Where the data sets and reference results are; a test that lacks one is skipped, saying why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")
# How long an example takes depends on what else the machine does.
settings.register_profile("no-clock", deadline=None)
settings.load_profile("no-clock")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let ``make test-all`` take every case where ``make test`` takes some."""
    parser.addoption("--thorough", action="store_true", help="take all cases, not some of them")
    parser.addoption(
        "--renew", action="store_true", help="write what examples print into the manual"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the checks of array namespaces to ``tests/integration/test_array_api.py``.

    They run only where SciPy was imported with support for them, which no other test should have.
    """
    if "SCIPY_ARRAY_API" in os.environ:
        return
    left = [item for item in items if "check_array_api" in item.name]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if "check_array_api" not in item.name]


@pytest.fixture(scope="session")
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether there is time for all cases, as every night."""
    return request.config.getoption("--thorough")


def _folder(variable: str) -> Path:
    value = os.environ.get(variable, "")
    if not value or not Path(value).is_dir():
        pytest.skip(f"{variable} does not name a folder here")
    return Path(value)


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder that holds the files of the ten data sets."""
    return _folder("UNISPECTRAL_DATA")


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder that holds the paper's table, the recorded baselines and the traces."""
    return _folder("UNISPECTRAL_REFERENCE")
