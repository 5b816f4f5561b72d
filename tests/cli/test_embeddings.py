"""Embeddings on the command line: arrays, columns of vectors, and the texts beside them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from unispectral.cli._app import run
from unispectral.tables import _formats, _preparation, read_table
from unispectral.tables._preparation import Preparation

WORDS = ("cat dog animal", "stock bank price", "rain cloud weather")


@pytest.fixture
def documents(monkeypatch, tmp_path) -> np.ndarray:
    """Rows of length one in three groups, and texts of other words for each."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 3
    rows = rng.normal(size=(3, 24))[kind] + 0.4 * rng.normal(size=(90, 24))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    texts = [" ".join(rng.permutation(WORDS[which].split())) for which in kind]
    np.save("e.npy", rows.astype(np.float16))
    (tmp_path / "t.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    frame = pd.DataFrame({"text": texts, "embedding": list(rows.astype(np.float16))})
    frame.to_parquet("e.parquet")
    return kind


def agree(labels: np.ndarray, kind: np.ndarray) -> bool:
    return len(set(zip(labels.tolist(), kind.tolist(), strict=True))) == 3


@pytest.mark.parametrize("given", [["e.npy", "--texts", "t.txt"], ["e.parquet"]])
def test_texts_name_the_clusters_of_an_embedding(documents, capsys, given) -> None:
    assert run(["cluster", *given, "-k", "3", "-o", "o.csv", "--model", "m", "-q"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for text in WORDS for word in text.split())
    labels = pd.read_csv("o.csv")["cluster"].to_numpy()
    assert agree(labels, documents)
    assert run(["predict", "m", given[0], "-o", "p.csv", "-q"]) == 0
    assert pd.read_csv("p.csv")["cluster"].tolist() == labels.tolist()


def test_texts_must_be_those_of_the_rows(documents, capsys, tmp_path) -> None:
    (tmp_path / "few.txt").write_text("a\nb\n")
    assert run(["cluster", "e.npy", "-k", "3", "--texts", "few.txt"]) == 1
    assert "--texts 'few.txt' has 2 texts, but there are 90 rows" in capsys.readouterr().err
    pd.DataFrame({"text": ["a b"] * 90}).to_csv("t.csv", index=False)
    assert run(["cluster", "e.npy", "-k", "3", "--texts", "t.csv", "-o", "t.csv"]) == 2
    assert "would be overwritten" in capsys.readouterr().err


def test_a_large_array_stays_in_its_file(monkeypatch, tmp_path) -> None:
    rows = np.random.default_rng(0).normal(size=(500, 20)).astype(np.float32)
    np.save(tmp_path / "e.npy", rows)
    monkeypatch.setattr(_formats, "_MAPPED", 10_000)
    table = read_table(tmp_path / "e.npy", encode=True)
    assert isinstance(table.values.base, np.memmap)
    np.testing.assert_array_equal(table.values, rows)
    table.values[0] = 0.0  # it is as free to be changed as any other, and the file stays
    np.testing.assert_array_equal(np.load(tmp_path / "e.npy"), rows)


@pytest.mark.parametrize("impute", ["mean", "median"])
def test_gaps_of_a_large_array_are_filled_as_those_of_a_small_one(monkeypatch, impute) -> None:
    rows = np.random.default_rng(0).normal(size=(300, 7))
    rows[5, 2] = rows[9, 6] = np.nan
    names = list("abcdefg")
    small = Preparation.fit(rows, names, impute, "none").apply(rows)
    monkeypatch.setattr(_preparation, "_ENTRIES", 700)
    large = Preparation.fit(rows, names, impute, "none").apply(rows)
    np.testing.assert_allclose(large, small, rtol=1e-14)
