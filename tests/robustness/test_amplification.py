"""Small files that mean much, each in a process with a gigabyte: the fastest kinds."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("resource")
from robustness import amplification
from robustness._bombs import BOMBS, FACTORS, bomb
from robustness._results import Result

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


def test_there_are_many_files_of_every_format():
    wanted = list(amplification.cases())
    assert len(wanted) >= 300
    assert len({case.format.partition(".")[0] for case in wanted}) >= 9
    assert len(amplification.QUICK) >= 30
    assert set(amplification.QUICK) <= set(wanted)
    of_parts = [case for part in amplification.FORMATS.values() for case in part]
    assert sorted(of_parts) == sorted({format for format, _ in BOMBS})


@pytest.mark.parametrize(("format", "kind"), [("xlsx", "corners"), ("npz", "tall CSC")])
def test_files_are_small_and_made_from_their_names_alone(format, kind):
    for factor in FACTORS:
        first = bomb(format, kind, factor)
        assert len(first) < amplification.SMALL


def test_small_files_that_mean_much():
    """The others are read by ``python -m robustness amplification``."""
    found = amplification.add(Result("", 0), amplification.QUICK)
    assert found.failures == []
    assert found.n_cases == len(amplification.QUICK)
    # Neither is all refused, which would prove nothing.
    assert found.outcomes["works"] >= 8
    assert found.outcomes["refused"] >= 8


def test_what_takes_too_much_is_seen(monkeypatch):
    """A limit that nothing can exceed limits nothing."""

    def hungry(case, path):
        return f"works: {len(bytearray(2 * amplification.MEMORY))}"

    monkeypatch.setattr(amplification, "_read", hungry)
    case = amplification.QUICK[0]
    assert amplification.outcome(case)[0] == "failed"
