"""The command behind the page on what makes the paper's figures."""

from __future__ import annotations

import json

import numpy as np
from benchmarks import paper_points, paper_story


def test_the_paper_story_runs_on_a_tiny_problem(tmp_path, capsys):
    paper_story.main(["--quick", f"--out={tmp_path}"])
    printed = capsys.readouterr().out
    assert "measuring exact digits-60" in printed
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"paper_story.json", "paper_story.md", "paper_story.png"}
    text = (tmp_path / "paper_story.md").read_text()
    assert text in printed
    cells = json.loads((tmp_path / "paper_story.json").read_text())["cells"]
    # Every figure of the table is that of the file, and a ridge costs objective.
    for row in cells["exact digits-60"]:
        assert f"| {row['ridge']:g} | {row['accuracy']:.1f} |" in text
    values = [row["objective"] for row in cells["exact digits-60"]]
    assert values == sorted(values)
    # A larger penalty freezes codes that a larger ridge explains.
    closest = [
        int(np.argmin(cells[f"alm digits-60 {mu:g}"]["apart"])) for mu in paper_story.PENALTIES
    ]
    assert closest == sorted(closest)
    assert closest[0] < closest[-1]
    paper_story.main(["--quick", f"--out={tmp_path}"])
    assert "measuring" not in capsys.readouterr().out


def test_what_is_said_of_the_defaults_follows_from_the_store(capsys):
    paper_points.main([])
    single, several = capsys.readouterr().out.strip().split("\n\n")
    assert single.splitlines()[2] == "| default | 72.4 |"
    rows = [line for line in several.splitlines() if "of paper," in line or "| default" in line]
    assert rows[0] == "| default | 67.9 |"
    best = several.splitlines()[2]
    assert best == "| all kernels of paper-text, alpha=0.0001, beta=0.0001, mu=1 | 71.1 |"
