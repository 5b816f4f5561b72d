"""The command that times the paper's algorithm."""

from __future__ import annotations

from benchmarks import alm_speed


def test_the_timing_runs_on_a_tiny_problem(tmp_path, capsys):
    alm_speed.main(["--quick", f"--out={tmp_path}"])
    assert "alm_speed.md" in capsys.readouterr().out
    text = (tmp_path / "alm_speed.md").read_text(encoding="utf-8")
    assert "| DIGITS-60 |" in text
    assert "either step" in text


def test_both_steps_are_compared_over_the_same_iterations():
    _, kernel, point = alm_speed.QUICK["digits-60"]
    found = alm_speed.measure("digits-60", kernel, point, 2, 0.0)
    assert found.compared == [1, 1]  # patience is over after the first iteration
    assert found.iterations > 1  # the whole fit goes on
    assert len(found.exact) == len(found.searched) == 2
    assert all(0.0 < share <= 1.0 for share in found.agreement)


def test_the_second_table_alone_keeps_the_first(tmp_path):
    alm_speed.main(["--quick", f"--out={tmp_path}"])
    before = (tmp_path / "alm_speed.md").read_text(encoding="utf-8")
    alm_speed.main(["--quick", "--starts", f"--out={tmp_path}"])
    after = (tmp_path / "alm_speed.md").read_text(encoding="utf-8")
    first, mark, second = after.partition("\n## Three starts at once")
    assert mark
    assert before.startswith(first)
    assert "DIGITS-60" in second
