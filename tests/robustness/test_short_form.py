"""The short form of ``robustness/``: the kinds of case that fit into a minute."""

from __future__ import annotations

import gc
import re
import warnings
from pathlib import Path

import pytest
from robustness import (
    _equivalent,
    _estimators,
    _trial,
    audit,
    concurrency,
    cover,
    files,
    inputs,
    interrupts,
    memory,
    mutation,
    one_by_one,
    security,
)
from robustness.__main__ import main, parts, replay, run_parts
from robustness._pool import run_cases
from robustness._results import Plan, Record, Result, write_page

PLAN = Plan(seed=1, quick=True)


@pytest.fixture(scope="module", autouse=True)
def _no_cluster_is_left():
    """What a cluster leaves behind would be found, and warned of, in some later test."""
    yield
    _estimators.close_client()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


def _cases(generator, count):
    return [next(generator) for _ in range(count)]


def _failures(outcome, cases):
    found = [(str(case), *outcome(case)) for case in cases]
    return [one for one in found if one[1] == "failed"], {one[1] for one in found}


@pytest.mark.parametrize("part", one_by_one.PARTS)
def test_a_call_that_fails_leaves_whole_files_and_right_results(part):
    """Every tenth or so here; ``python -m robustness one_by_one`` leaves none out."""
    found = one_by_one.PARTS[part](PLAN)
    assert found.failures == []
    assert found.n_cases >= 10


def test_a_fault_that_is_hidden_is_seen(monkeypatch):
    """A comparison that cannot fail compares nothing."""

    def hidden(base: Path):
        def run(folder):
            try:
                return len((folder / "a").read_text())
            except OSError:
                return 0

        return one_by_one.Action(run, lambda folder: (folder / "a").write_text("abc"))

    monkeypatch.setitem(one_by_one.ACTIONS, "hidden", hidden)
    found = one_by_one.every_fault("hidden", "files", PLAN)
    assert any("a wrong result without an error" in text for text in found.failures)


# Broken indices once crashed the process; the full run uses processes of its own for that.
@pytest.mark.parametrize(
    ("kind", "count"), [(inputs.cases, 250), (inputs.drawn_cases, 60), (inputs.dask_cases, 12)]
)
def test_hostile_input(kind, count):
    failed, seen = _failures(inputs.outcome, _cases(kind(1), count))
    assert failed == []
    assert seen >= {"works", "refused"}


@pytest.mark.parametrize(("reader", "count"), [("tables", 80), ("models", 40)])
def test_hostile_files(reader, count):
    pytest.importorskip("anndata")
    failed, seen = _failures(files.outcome, _cases(files.file_cases(reader, 1), count))
    assert failed == []
    assert "refused" in seen


def test_files_that_want_to_run_code():
    result = security._files(PLAN)
    assert result.failures == []
    assert result.n_cases >= 50


def test_nothing_in_the_source_runs_what_a_file_says():
    assert security.forbidden_calls() == []
    assert security._source(PLAN).failures == []


@pytest.mark.parametrize("part", ["too many samples", "too little memory", "control groups"])
def test_memory_is_asked_for_first(part):
    result = memory.PARTS[part](PLAN)
    assert result.failures == []
    assert result.n_cases >= 5


def test_a_second_interpreter_is_told():
    result = concurrency.PARTS["sub-interpreters"](PLAN)
    assert result.failures == []
    assert result.n_cases == 1


def test_eight_threads():
    result = concurrency.PARTS["8 threads"](PLAN)
    assert result.failures == []
    assert result.n_cases == 8


def test_ctrl_c_in_a_compiled_loop_leaves_nothing_fitted():
    fit = "SCSK(8, kernel='gaussian', solver='exact', alpha=1e-3), n=3_000"
    state, _, fitted = interrupts._interrupt(fit, 0.4)
    assert state in ("interrupted", "finished")
    assert not fitted or state == "finished"


def test_a_case_that_dies_or_hangs_is_found():
    cases = ["a", "die", "b", "hang", "c"]
    found = {a.case: (a.outcome, a.words) for a in run_cases(_trial.work, cases, limit=3)}
    assert found["die"][0] == found["hang"][0] == "failed"
    assert "ended with code 7" in found["die"][1]
    assert "time limit of 3 s" in found["hang"][1]
    assert {found[case][0] for case in "abc"} == {"works"}


def _fine(plan):
    result = Result("a kind", plan.seed)
    result.check(True, "fine")
    return result


def _bad(plan):
    result = Result("a kind", plan.seed)
    result.check(False, "estimators: UnifiedSpectralClustering | blobs/csr | 0", "it went wrong")
    return result


def _broken(plan):
    raise OSError("no room")


def test_parts_are_kept_and_added_up(tmp_path, capsys):
    plan, record = Plan(3), Record(tmp_path / "record.json")
    some = {"a/1": _fine, "a/2": _bad, "b/1": _broken}
    assert run_parts({"a/1": _fine}, plan, record, until=0.0) == 0
    assert record.rows == {}
    assert run_parts(some, plan, record) == 2
    again = Record(tmp_path / "record.json")
    assert list(again.rows) == ["a/1", "a/2", "b/1"]
    write_page(again, [*some, "b/2"], tmp_path)
    page = (tmp_path / "robustness.md").read_text()
    assert "| a kind | 2 | 1 | 1 | 3 |" in page
    assert "| **all** | 3 | 1 | 2 | |" in page
    assert "Not run: b/2." in page
    assert "no room" in page
    capsys.readouterr()
    assert replay(again.rows["a/2"]["failures"][0]) == 0
    assert "works" in capsys.readouterr().out


def test_versions_without_known_weaknesses(tmp_path):
    assert audit.weak_bounds() == []
    old = tmp_path / "pyproject.toml"
    old.write_text('[project]\nname = "x"\ndependencies = ["pyarrow>=13", "numpy"]\n')
    assert [text.split()[0] for text in audit.weak_bounds(old)] == ["pyarrow>=13", "numpy"]


def test_modules_and_tests_that_are_named_exist():
    root = Path(cover.__file__).parents[1]
    for module, tests in mutation.MODULES.items():
        source = root / "src" / "unispectral" / f"{module.replace('.', '/')}.py"
        assert source.is_file(), module
        assert all((root / test).exists() for test in tests), tests
    assert set(_equivalent._REASONS) <= set(mutation.MODULES)
    for tests in (*cover._GROUPS.values(), *cover._UNCOMPILED.values()):
        assert all(test.startswith("-") or (root / test).exists() for test in tests), tests


def test_every_promise_of_the_security_page_names_tests_that_exist():
    root = Path(cover.__file__).parents[1]
    page = (root / "SECURITY.md").read_text(encoding="utf-8")
    section = page.partition("## What is done")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 20
    for row in rows:
        promise, named = row.strip("| ").rsplit(" | ", 1)
        tests = re.findall(r"`((?:tests|robustness)/[\w/]+\.py)(?:::(\w+))?`", named)
        assert tests, promise
        assert len(tests) == named.count(".py"), promise
        for file, name in tests:
            source = (root / file).read_text(encoding="utf-8")
            assert not name or f"\ndef {name}(" in source, f"{file}::{name}"


def test_mutants_are_kept_and_explained(tmp_path):
    source = "def f(a, b=True):\n    return -a + 1 if a < 2 else b\n"
    found = {mutant.what for mutant in mutation.mutants(source)}
    assert found >= {"f: a < 2 → a <= 2", "f: 1 → 2 in -a + 1", "f: -a → +a in -a + 1"}
    assert found >= {"f: True → False in b=True", "f: -a + 1 → -a - 1"}
    known = "19 → 20 in 2 ** 19"
    tried = {f"9: {known}": True, "9: 19 → 20 in other": True, "8: a → b": False}
    page = mutation.page({"paper._weights": {"every": 4, "survives": tried}})
    assert "| paper._weights | 4 | 3 | 1 | 2 | 1 |" in page
    assert f"line 9, `{known}`: the size of a batch" in page
    assert "line 9, `19 → 20 in other`: a test for it is lacking" in page


def test_mutants_are_named_by_the_syntax_not_by_the_lines():
    packed = "def f(a):\n    return a[0] if a else 1  # why\n"
    moved = (
        "X = 'x'\n\n\ndef f(a):\n    return (\n        a[0]\n        if a\n        else 1\n    )\n"
    )
    names = [[one.what for one in mutation.mutants(source)] for source in (packed, moved)]
    assert names[0] == names[1]
    assert "f: 0 → 1 in a[0]" in names[0]


def test_every_reason_is_about_a_mutant_that_exists():
    for module, reasons in _equivalent._REASONS.items():
        path = Path(cover.__file__).parents[1] / "src" / "unispectral" / module.replace(".", "/")
        found = {one.what for one in mutation.mutants(path.with_suffix(".py").read_text())}
        assert set(reasons) <= found, module


def test_options(capsys):
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "there is no kind or part 'nothing'" in capsys.readouterr().err
    assert main(["--list", "memory"]) == 0
    assert capsys.readouterr().out.split("\n")[0] == "memory/too many samples"
    assert len(parts()) > 40
