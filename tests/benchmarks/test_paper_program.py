"""The authors' program as it was when the paper appeared."""

from __future__ import annotations

from benchmarks import paper_program


def test_both_programs_run_and_the_best_point_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(paper_program, "MUS", (10.0,))
    monkeypatch.setattr(paper_program, "ALPHAS", (1e-4, 0.5))
    paper_program.main(["--out", str(tmp_path), "--datasets", "digits-60", "--since"])
    text = (tmp_path / "paper_program.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| DIGITS-60")]
    assert [row.split(" | ")[1] for row in rows] == list(paper_program.PROGRAMS)
    assert all(row.endswith("| 2 |") for row in rows)
    cells = {
        "a since 10 0.1": {"accuracy": 50.0, "highest": 90.0, "weights": [0.25] * 4 + [0.0] * 8},
        "a since 10 0.5": {
            "accuracy": 60.0,
            "highest": 70.0,
            "weights": [0.0] * 5 + [1.0] + [0] * 6,
        },
    }
    shown = paper_program.render(cells, ["a"])
    assert "| A | since | 10, 0.5 | 60.0 | 70.0 | 90.0 | 1.00 | 2 |" in shown


def test_doubled_codes_take_other_kernels(monkeypatch):
    """The widest Gaussians have nearly all the weight of the program as it is since."""
    found = {p: paper_program.run("digits-60", p, 10.0, 1e-2, 12) for p in paper_program.PROGRAMS}
    wide = [sum(cell["weights"][4:7]) for cell in found.values()]
    assert wide[0] < 0.5 < wide[1]
