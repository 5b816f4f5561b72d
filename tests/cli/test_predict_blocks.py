"""`unispectral predict` block by block: the same answers as at once, whole or not there."""

from __future__ import annotations

import io
import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from unispectral import UnifiedSpectralClustering, save_model
from unispectral.cli import predict as command
from unispectral.cli._app import run
from unispectral.tables._preparation import Preparation
from unispectral.tables._read import read_blocks
from unispectral.tables._write import table_writer

ROWS = 23


@pytest.fixture
def here(monkeypatch, tmp_path, folder):
    monkeypatch.chdir(tmp_path)
    told = ["cluster", str(folder / "things.csv"), "-k", "3", "--model", "m", "-q"]
    assert run([*told, "--columns", "width,height,depth,weight"]) == 0
    return tmp_path


@pytest.fixture
def in_blocks(monkeypatch, capsys):
    """Predict at once and in blocks of some rows; both outputs, and the blocks' sizes."""
    sizes = []
    predict_all = UnifiedSpectralClustering.predict_all

    def counted(self, X):
        sizes.append(len(next(iter(X.values())) if isinstance(X, dict) else X))
        return predict_all(self, X)

    monkeypatch.setattr(UnifiedSpectralClustering, "predict_all", counted)

    def both(table, *options, output="o.csv", columns=8):
        found = []
        for entries in (10**9, columns * ROWS):
            monkeypatch.setattr(command, "_ENTRIES", entries)
            sizes.clear()
            capsys.readouterr()
            assert run(["predict", "m", str(table), *options, "-o", output]) == 0
            out, err = capsys.readouterr()
            if output == "-":
                found.append(out)
            else:
                with open(output, "rb") as file:
                    found.append(file.read())
        return found, list(sizes), err

    return both


@pytest.mark.parametrize("output", ["o.csv", "o.tsv", "o.json", "-"])
def test_text_in_blocks_is_the_text_at_once(here, folder, in_blocks, output):
    (whole, parts), sizes, err = in_blocks(
        folder / "things.csv", "--id", "name", "--truth", "kind", output=output, columns=7
    )
    assert sizes == [23, 23, 23, 21]
    assert parts == whole
    assert "The file 'things.csv': 90 rows, 4 columns." in err


def test_parquet_in_blocks(here, blobs, in_blocks):
    blobs.to_parquet("t.parquet")
    (_, _), sizes, err = in_blocks("t.parquet", output="o.parquet", columns=7)
    assert sizes == [23, 23, 23, 21]
    parts = pd.read_parquet("o.parquet")
    assert run(["predict", "m", "t.parquet", "-o", "w.parquet", "-q"]) == 0
    pd.testing.assert_frame_equal(parts, pd.read_parquet("w.parquet"))
    assert "new rows 90/90" in err


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_in_blocks(monkeypatch, tmp_path, blobs, in_blocks, order):
    monkeypatch.chdir(tmp_path)
    values = blobs[["width", "height", "depth", "weight"]].to_numpy()
    named = pd.DataFrame(values, columns=[f"column_{i}" for i in range(1, 5)])
    save_model(UnifiedSpectralClustering(3).fit(named), "m")
    np.save("t.npy", np.asarray(values, order=order))
    (whole, parts), sizes, _ = in_blocks("t.npy", columns=4)
    assert sizes == [23, 23, 23, 21]
    assert parts == whole
    assert pd.read_csv(io.BytesIO(parts))["row"].tolist() == list(range(90))


def test_views_in_blocks(monkeypatch, tmp_path, folder, in_blocks):
    monkeypatch.chdir(tmp_path)
    things = str(folder / "things.csv")
    views = ["--view", "a=width,height", "--view", "b=depth,weight"]
    assert run(["cluster", things, "-k", "3", *views, "--model", "m", "-q"]) == 0
    (whole, parts), sizes, err = in_blocks(things, columns=7)
    assert len(sizes) == 4
    assert parts == whole
    assert "View 'b': 90 rows, 2 columns." in err


def test_gaps_are_told_by_block(monkeypatch, tmp_path, folder, in_blocks):
    monkeypatch.chdir(tmp_path)
    told = ["cluster", str(folder / "gaps.csv"), "-k", "3", "--id", "name"]
    assert run([*told, "--model", "m", "-q"]) == 0
    (whole, parts), sizes, err = in_blocks(folder / "gaps.csv", "--id", "name", columns=7)
    assert len(sizes) == 4
    assert parts == whole
    assert "Rows 0 to 22:" in err
    assert "Rows 23" not in err


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.assign(name=[f"{i:03d}" for i in range(89)] + ["x"]),
        lambda frame: frame.assign(name=[*map(str, range(89)), "2.5"]),
        lambda frame: frame.assign(name=[*map(str, range(89)), ""]),
    ],
    ids=["numbers that are text", "not all whole", "a gap"],
)
def test_names_are_those_of_the_whole_column(here, blobs, in_blocks, change, monkeypatch):
    """Each block on its own would take its names for whole numbers."""
    change(blobs).to_csv("t.csv", index=False)
    (whole, parts), _, _ = in_blocks("t.csv", "--id", "name", columns=7)
    assert parts == whole
    with (here / "t.csv").open(encoding="utf-8") as file:  # which can be read once only
        monkeypatch.setattr("sys.stdin", file)
        assert run(["predict", "m", "-", "--id", "name", "-o", "piped.csv"]) == 0
    assert (here / "piped.csv").read_bytes() == whole


def test_yes_and_numbers_in_one_column_are_refused_in_blocks_too(here, blobs, monkeypatch, capsys):
    mixed = blobs.assign(width=["1"] * 46 + ["True"] * 44)
    mixed.to_csv("t.csv", index=False)
    for entries in (10**9, 7 * ROWS):
        monkeypatch.setattr(command, "_ENTRIES", entries)
        assert run(["predict", "m", "t.csv", "-o", "o.csv"]) == 1
        told = "The column 'width' has 44 of 90 values that cannot be read as a number, such as"
        assert told in capsys.readouterr().err


@pytest.mark.parametrize("output", ["o.csv", "o.json", "o.parquet", "-"])
def test_a_fault_in_the_last_block_leaves_nothing(here, blobs, monkeypatch, capsys, output):
    bad = blobs.copy()
    bad.loc[80, "width"] = np.inf
    bad.to_csv("t.csv", index=False)
    monkeypatch.setattr(command, "_ENTRIES", 7 * ROWS)
    assert run(["predict", "m", "t.csv", "-o", output]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "infinite value" in err
    assert sorted(path.name for path in here.iterdir()) == ["m", "t.csv"]


def test_a_row_too_short_is_found_in_a_late_block(here, folder, monkeypatch, capsys):
    lines = (folder / "things.csv").read_text().splitlines()
    lines[75] = ",".join(lines[75].split(",")[:5])
    (here / "t.csv").write_text("\n".join(lines))
    monkeypatch.setattr(command, "_ENTRIES", 7 * ROWS)
    assert run(["predict", "m", "t.csv", "-o", "o.csv"]) == 1
    assert "is uneven: line 76 has 5 values for 7 columns" in capsys.readouterr().err


def test_scores_and_sizes_are_those_of_all_rows(here, folder, monkeypatch, capsys):
    monkeypatch.setattr(command, "_ENTRIES", 7 * ROWS)
    told = ["predict", "m", str(folder / "things.csv"), "--truth", "kind", "--json", "-q"]
    assert run(told) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_samples"] == 90
    assert found["sizes"] == [30, 30, 30]
    assert found["scores"]["accuracy"] == 1.0


@pytest.mark.parametrize("ending", ["csv", "npy"])
def test_memory_does_not_grow_with_the_file(tmp_path, ending):
    """Reading and writing without the model, whose memory has tests of its own."""
    values = np.random.default_rng(0).normal(size=(100_000, 4)).round(3)
    names = [f"column_{i}" for i in range(1, 5)]
    path = tmp_path / f"t.{ending}"
    if ending == "npy":
        np.save(path, values)
    else:
        pd.DataFrame(values, columns=names).to_csv(path, index=False)
    peaks = []
    for entries in (None, 4 * 5_000):
        tracemalloc.start()
        try:
            with table_writer(tmp_path / "o.csv") as write:
                for (table,), _ in read_blocks(path, [Preparation(tuple(names))], entries=entries):
                    write({"row": table.values[:, 0]})
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < peaks[0] / 5
