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
        cluster = {"cpu": 20.0, "labels": labels, "lost": 0.0, "start": 2.0}
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
    # A fit without a loss took 20 CPU s, and the start of a worker 2.
    least = 22.0 / cells["dask 70000"]["rounds"][0]["local"]["cpu"]
    assert f"(at least {least:.3g})" in scale.render(cells)
    cells["ours 1000000"]["peak"] = 4_000.0
    assert "| at most 3 GB | 3.91 GB | **no** |" in scale.render(cells)


def test_a_picture_is_made_from_the_cells(cells, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    scale.draw(cells, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")


def test_a_task_runs_in_its_own_process() -> None:
    found = scale.measure(task="plain_search", data="shape moons 600", k=5)
    assert found["cpu"] > 0
    assert json.dumps(found)
    assert "failure" in scale.measure(task="ours", data="nonsense")
    stages = scale.measure(task="ours", data="shape moons 600")["stages"]
    assert set(stages) == {"search", "kernels", "codes", "eigenvectors", "labels"}


def test_plane_shapes_are_judged_by_size_and_by_the_plain_search(cells) -> None:
    shapes = pytest.importorskip("benchmarks._scale_shapes")
    for name in shapes.SHAPES:
        cells[f"shape/{name}/10000000/ours"] = cell(10_000_000) | {"nmi": 0.99, "peak": 8_000.0}
    cells["plain search/10000000"] = {"cpu": 1000.0}
    judged = {aim: met for work, aim, _, met in shapes.aims(cells) if "10,000,000" in work}
    assert judged["NMI at least 0.95"]
    assert judged["at most 12 GB"]
    assert judged["at most 2 × the candidate search"]
    cells["plain search/10000000"] = {"cpu": 100.0}
    cells["shape/moons/10000000/ours"]["nmi"] = 0.5
    judged = {aim: met for work, aim, _, met in shapes.aims(cells) if "10,000,000" in work}
    assert not judged["NMI at least 0.95"]
    assert not judged["at most 2 × the candidate search"]
    assert "| moons | 10,000,000 |" in scale.render(cells)


def test_a_peer_that_would_take_too_long_is_not_tried() -> None:
    shapes = pytest.importorskip("benchmarks._scale_shapes")
    store = scale.Store(None)
    asked = []

    def measure(**task):
        asked.append((task.get("estimator"), task["data"]))
        return {"cpu": 60.0, "nmi": 1.0}

    shapes.run(store, measure, 1_000_000)
    assert ("HDBSCAN", "shape moons 100000") in asked
    assert ("HDBSCAN", "shape moons 1000000") not in asked
    assert "would take more than" in store.cells["shape/moons/1000000/HDBSCAN"]["failure"]


def test_memory_prediction_and_parquet_are_judged(cells) -> None:
    more = pytest.importorskip("benchmarks._scale_more")
    for who, peak in (("ours", 424.0), ("scikit-learn", 418.0)):
        cells[f"memory/fresh/{who}"] = {"cpu": 1.0, "peak": peak}
    cells["prediction"] = {"cpu": 30.0, "query": 20.0, "nmi": 0.9, "train": 70, "new": 1_000}
    cells["parquet"] = {
        "cpu": 9.0,
        "nmi": 0.9,
        "data": 2000.0,
        "limits": 1800.0,
        "peak": 700.0,
        "same workers": True,
    }
    assert [met for *_, met in more.aims(cells)] == [True, True, True]
    cells["prediction"]["query"] = 10.0
    cells["parquet"]["same workers"] = False
    assert [met for *_, met in more.aims(cells)] == [True, False, False]
    assert "a worker was lost" in scale.render(cells)


def test_a_part_of_the_report_can_be_measured_alone() -> None:
    store = scale._Part(None)
    store.only = "dask"
    assert store.cell("ours 10000", lambda: pytest.fail("not asked for")) == {}
    assert store.cell("dask 10", lambda: {"cpu": 1.0}) == {"cpu": 1.0}
    assert list(store.cells) == ["dask 10"]
