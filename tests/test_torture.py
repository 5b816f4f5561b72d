"""The short form of the torture: a few hundred cases of every kind that fits into a minute."""

from __future__ import annotations

import json

import pytest
from torture import _readers, inputs, memory, security
from torture.__main__ import main, replay, write_results
from torture._crew import run_cases
from torture._tally import Plan, Tally

PLAN = Plan(seed=1, quick=True)


def _cases(generator, count):
    return [next(generator) for _ in range(count)]


def _lost(outcome, cases):
    found = [(str(case), *outcome(case)) for case in cases]
    return [one for one in found if one[1] == "lost"], {one[1] for one in found}


# Broken indices once crashed the process; the full run uses processes of its own for that.
def test_hostile_input():
    lost, seen = _lost(inputs.outcome, _cases(inputs.cases(1), 250))
    assert lost == []
    assert seen >= {"works", "refused"}


@pytest.mark.parametrize(("reader", "count"), [("tables", 80), ("rows", 40), ("models", 40)])
def test_hostile_files(reader, count):
    pytest.importorskip("anndata")
    lost, seen = _lost(_readers.outcome, _cases(_readers.file_cases(reader, 1), count))
    assert lost == []
    assert "refused" in seen


def test_files_that_want_to_run_code():
    tally = security._files(PLAN)
    assert tally.lost == []
    assert tally.tried > 60


def test_nothing_in_the_source_runs_what_a_file_says():
    assert security.forbidden_calls() == []
    assert security._source(PLAN).lost == []


def test_memory_is_asked_for_first():
    for tally in memory.run(PLAN):
        assert tally.lost == []
        assert tally.tried > 10


def _work(case):
    import os
    import time

    if case == "die":
        os._exit(7)
    if case == "hang":
        end = time.process_time() + 60
        while time.process_time() < end:
            pass
    return "works", ""


def test_a_case_that_dies_or_hangs_is_found():
    cases = ["a", "die", "b", "hang", "c"]
    found = {a.case: (a.outcome, a.words) for a in run_cases(_work, cases, workers=1, limit=3)}
    assert found["die"] == ("lost", "the process died with code 7")
    assert found["hang"] == ("lost", "no answer within 3 s")
    assert {found[case][0] for case in "abc"} == {"works"}


def test_a_loss_is_seen_and_written(tmp_path, capsys):
    tally = Tally("a kind", 3)
    tally.check(True, "fine")
    tally.check(False, "estimators: SCSK | blobs/csr | 0", "it went wrong")
    write_results([tally], Plan(3), tmp_path)
    row = json.loads((tmp_path / "torture.json").read_text())["rows"][0]
    assert (row["tried"], row["survived"], row["lost"]) == (2, 1, 1)
    assert "| a kind | 2 | 1 | 1 | 3 |" in (tmp_path / "torture.md").read_text()
    other = Tally("another kind", 4)
    other.check(True, "fine")
    write_results([other], Plan(4), tmp_path, merge=True)
    kinds = [one["kind"] for one in json.loads((tmp_path / "torture.json").read_text())["rows"]]
    assert kinds == ["a kind", "another kind"]
    assert replay(row["failures"][0]) == 0
    assert "works" in capsys.readouterr().out


def test_options(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])
    assert "invalid choice" in capsys.readouterr().err
