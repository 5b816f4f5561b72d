"""The report on large data is made from the stored cells alone, and says what is missing."""

from __future__ import annotations

import json

import pytest

scale = pytest.importorskip("benchmarks.scale")


def cell(n: int) -> dict:
    stages = {"search": n / 1e4, "kernels": 0.1, "codes": n / 1e5, "eigenvectors": n / 2e4}
    return {
        "cpu": sum(stages.values()) + 0.2,
        "seconds": 1.0,
        "peak": 300 + n / 1e3,
        "accuracy": 0.9,
        "nmi": 0.8,
        "smallest": 5,
        "labels": "ab",
        "stages": {**stages, "labels": 0.2},
    }


@pytest.fixture
def cells() -> dict:
    found = {f"ours {n}": cell(n) for n in (10_000, 20_000, 70_000)}
    found["peer 70000"] = {"cpu": 40.0, "peak": 400.0, "accuracy": 0.9, "nmi": 0.8}
    for name, labels in (("dask 70000", "ab"), ("dask 70000 worker killed", "cd")):
        cluster = {"cpu": 20.0, "labels": labels, "lost": 0.0, "start and imports": 2.0}
        found[name] = {"rounds": [{"local": cell(70_000), "cluster": cluster}] * 3}
    found["ours tdt2"] = {"failure": "OSError: no such | file"}
    return found


def test_the_report_holds_what_was_measured(cells) -> None:
    text = scale.render(cells)
    assert "| 70,000 |" in text
    assert "exponent from 10,000 to 70,000" in text
    lines = [line for line in text.splitlines() if line.startswith("| 70000")]
    assert lines[0].endswith("| yes |")
    assert lines[1].endswith("| no |")
    assert "ours tdt2: OSError" in text
    # The search is exactly linear: predicted from the smaller sizes it is what was measured.
    search = next(line for line in text.splitlines() if line.startswith("| search, CPU hours"))
    assert [part.strip() for part in search.split("|")[2:4]] == ["1", "1"]


def test_targets_are_judged_by_the_cells(cells) -> None:
    cells["ours 1000000"] = cell(1_000_000)
    lines = [line for line in scale.render(cells).splitlines() if line.startswith("| ")]
    judged = {tuple(line.split(" | ")[:2]): line.rsplit("|", 2)[1].strip() for line in lines}
    manifolds = "| 70,000 × 64 manifolds"
    assert judged[manifolds, "faster than amg + cluster_qr"] == "yes"
    assert judged[manifolds, "memory at most its"] == "yes"
    million = "| 1,000,000 × 64 manifolds"
    assert judged[million, "at most 2 × the candidate search"] == "yes"
    assert judged[million, "at most 3 GB"] == "yes"
    aim = "at most 1.3 × the CPU time, identical labels"
    assert judged["| Dask 70000 worker killed", aim] == "**no**"
    cells["ours 1000000"]["peak"] = 4_000.0
    assert "| at most 3 GB | 3.91 GB | **no** |" in scale.render(cells)


def test_a_picture_is_made_from_the_cells(cells, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    scale.draw(cells, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")


def test_a_task_runs_in_its_own_process() -> None:
    found = scale.measure(task="search", data="manifolds 600", index="cells", k=5)
    assert found["recall"] > 0.8
    assert json.dumps(found)
    assert "failure" in scale.measure(task="ours", data="nonsense")
