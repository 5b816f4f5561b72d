"""What all tests with a cluster share."""

from __future__ import annotations

from pathlib import Path

import pytest

# A cluster leaves sockets and loops to be collected whenever Python likes.
IGNORED = (
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::DeprecationWarning",
    "ignore::UserWarning:distributed",
)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            for what in IGNORED:
                item.add_marker(pytest.mark.filterwarnings(what))
            item.add_marker(pytest.mark.xdist_group("dask"))
