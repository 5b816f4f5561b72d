"""``unispectral bench`` as it is typed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from unispectral.bench import Study

pytest.importorskip("click")
from .conftest import call

TOML = """
name = "typed"
[[dataset]]
name = "iris"
[[dataset]]
name = "table"
file = "table.csv"
truth = "kind"
[[method]]
name = "k-means"
estimator = "sklearn.cluster.KMeans"
repeats = 2
[[method]]
name = "agglomerative"
estimator = "sklearn.cluster.AgglomerativeClustering"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "\n".join(f"{i % 3 + i / 100},{i % 2},{'abc'[i % 3]}" for i in range(30))
    (tmp_path / "table.csv").write_text(f"x,z,kind\n{rows}\n")
    (tmp_path / "typed.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_run_export_report_list(folder: Path) -> None:
    # No command means run, as in `unispectral bench --study paper`.
    ran = call("--study", "typed.toml", "--backend", "here")
    assert ran.exit_code == 0, ran.output
    assert "6 of 6 cells are done, 0 failed" in ran.output
    assert (folder / "unispectral-bench-typed.html").is_file()

    again = call("run", "--study", "typed.toml", "--no-report", "--quiet")
    assert "6 of 6 cells are done" in again.output

    out = call("export")
    assert out.output == "unispectral-bench-typed.md\n"
    assert "k-means" in (folder / "unispectral-bench-typed.md").read_text(encoding="utf-8")

    page = call("report", "--study", "typed", "--out", "mine.html")
    assert page.output == "mine.html\n"
    assert "typed" in (folder / "mine.html").read_text(encoding="utf-8")

    listed = call("list")
    assert "stored    typed: 6 of 6 cells done, 0 failed" in listed.output
    assert "built-in  paper" in listed.output


def test_export_in_three_formats(folder: Path) -> None:
    call("--study", "typed.toml", "--backend", "here", "--no-report")
    for form, suffix, words in (
        ("markdown", ".md", "| iris |"),
        ("latex", ".tex", r"\toprule"),
        ("csv", ".csv", "label-free,"),
    ):
        out = call("export", "--format", form)
        assert out.output == f"unispectral-bench-typed{suffix}\n"
        assert words in (folder / f"unispectral-bench-typed{suffix}").read_text(encoding="utf-8")
    wrong = call("export", "--metrics", "beauty")
    assert wrong.exit_code == 2
    assert "--metrics 'beauty' is unknown" in wrong.output
    wrong = call("export", "--reference", "nobody")
    assert wrong.exit_code == 2
    assert "--reference 'nobody' is no column" in wrong.output


def test_the_beginning_of_a_study_runs_as_it_is(folder: Path) -> None:
    made = call("init", "mine.toml")
    assert made.exit_code == 0
    assert "unispectral bench run --study mine.toml" in made.output
    ran = call("--study", "mine.toml", "--datasets", "iris", "--methods", "k-means,Ward",
               "--backend", "here", "--no-report")  # fmt: skip
    assert "6 of 6 cells are done, 0 failed" in ran.output
    assert "exists" in call("init", "mine.toml").output
    assert "ends with .toml" in call("init", "mine.txt").output


def test_methods_and_data_of_a_module_beside_the_study(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are found in worker processes, and run again once they have changed."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    module = folder / "method_of_mine.py"
    module.write_text(
        "import numpy as np\n"
        "from sklearn.cluster import KMeans\n"
        "class Mine(KMeans):\n    pass\n"
        "def load():\n    y = np.arange(20) % 2\n    return np.c_[9.0 * y, y], y\n"
    )
    (folder / "own.toml").write_text(
        'name = "own"\nmetrics = ["ari"]\n'
        '[[dataset]]\nname = "two"\nloader = "method_of_mine.load"\n'
        '[[method]]\nname = "mine"\nestimator = "method_of_mine.Mine"\n'
    )
    run = ("--study", "own.toml", "--no-report", "-j", "1")
    first = call(*run)
    assert "1 of 1 cells are done" in first.output, first.output
    assert "1 of 1 cells are done" in call(*run).output
    call("export")
    text = (folder / "unispectral-bench-own.md").read_text(encoding="utf-8")
    assert "| two | **100.00** |" in text
    before = Study.load("own.toml").cells()[0].key
    module.write_text(module.read_text() + "\n# changed\n")
    assert Study.load("own.toml").cells()[0].key != before


def test_some_data_sets_and_methods(folder: Path) -> None:
    ran = call(
        "--study", "typed.toml", "--datasets", "IRIS", "--methods", "k-means", "--backend", "here"
    )
    assert "2 of 2 cells are done" in ran.output
    call("--study", "typed.toml", "--datasets", "table", "--backend", "here")
    assert "stored    typed: 5 of 6 cells done, 0 failed" in call("list").output
    page = (folder / "unispectral-bench-typed.html").read_text(encoding="utf-8")
    assert '"5","of 6 fits done"' in page
    call("export")
    rows = (folder / "unispectral-bench-typed.md").read_text(encoding="utf-8").splitlines()
    assert next(row for row in rows if row.startswith("| iris")).count("–") == 1


def test_failures_show_in_words_and_in_the_exit_code(folder: Path) -> None:
    """All failed, some failed, and the same again without anything to do."""
    broken = '[[method]]\nname = "broken"\nestimator = "sklearn.cluster.KMeans"\n'
    broken += 'parameters = { init = "nonsense" }\n'
    head = TOML.partition("[[method]]")[0]
    run = ("--study", "mixed.toml", "--no-report", "--backend", "here")
    (folder / "mixed.toml").write_text(head + broken)
    for attempt in range(2):
        result = call(*run, "--allow-failures")
        assert result.exit_code == 1
        counts = "0 failed in this run, 2 failed before" if attempt else "2 failed in this run"
        assert f"0 of 2 cells are done, {counts}; --retry" in result.output
    (folder / "mixed.toml").write_text(TOML + broken)
    some = call(*run)
    assert some.exit_code == 1
    assert "6 of 8 cells are done, 0 failed in this run, 2 failed before; --retry" in some.output
    assert call(*run).exit_code == 1
    retried = call(*run, "--retry", "--allow-failures")
    assert retried.exit_code == 0
    assert "6 of 8 cells are done, 2 failed in this run; --retry" in retried.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--study", "nonesuch"), "neither a file nor a built-in study"),
        (("--study", "typed.toml", "--datasets", "mars"), "has no 'mars'"),
        (("--study", "typed.toml", "--memory-limit", "lots"), "'lots' is not a size"),
        (("report",), "run a study first"),
        (("report", "--store", "typed.toml", "--out", "typed.toml"), "would be overwritten"),
        (("export", "--store", "typed.toml"), "typed.toml is not a store of results"),
        (("--nonsense",), "No such option"),
    ],
)
def test_mistakes_are_one_line(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    result = call(*arguments)
    assert result.exit_code != 0
    assert words in result.output
    assert "Traceback" not in result.output


def test_a_readonly_command_does_not_touch_a_foreign_file(folder: Path) -> None:
    before = (folder / "typed.toml").read_bytes()
    call("report", "--store", "typed.toml")
    assert (folder / "typed.toml").read_bytes() == before
