"""Stores that somebody else has made: nothing in them runs, hangs or takes all the memory."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("click")
from click.testing import CliRunner, Result

from unispectral.bench import Results, Store, StoreError
from unispectral.bench.store import _COLUMNS, _digest
from unispectral.cli.bench import bench


@pytest.fixture
def path(ran: Path, tmp_path: Path) -> Path:
    shutil.copy(ran, tmp_path / "r.sqlite")
    return tmp_path / "r.sqlite"


def call(path: Path, *arguments: str) -> Result:
    """A command on a store; whatever it meets, it ends, and without a traceback."""
    result = CliRunner().invoke(bench, [*arguments, "--store", str(path)])
    assert isinstance(result.exception, SystemExit | None), repr(result.exception)
    return result


def change(path: Path, statement: str, *values: Any) -> None:
    db = sqlite3.connect(path)
    with db:
        db.execute(statement, values)
    db.close()


def rewrite(path: Path, method: str, edit: Callable[[dict[str, Any]], None]) -> str:
    """Change one row of a method and give it a checksum that fits; return its key."""
    db = sqlite3.connect(path)
    with db:
        for values in db.execute(f"SELECT {', '.join(_COLUMNS)} FROM cells ORDER BY key"):
            row = dict(zip(_COLUMNS, values, strict=True))
            row["job"] = json.loads(row["job"])
            if row["job"]["method"] == method:
                break
        key = row["key"]
        edit(row)
        row["job"] = json.dumps(row["job"]) if isinstance(row["job"], dict) else row["job"]
        changed = [row[name] for name in _COLUMNS]
        places = ", ".join(f"{name} = ?" for name in _COLUMNS)
        db.execute(
            f"UPDATE cells SET {places}, digest = ? WHERE key = ?",
            [*changed, _digest(changed), key],
        )
    db.close()
    return key


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE VIEW cells AS {ENDLESS}",
        f"CREATE VIEW another AS {ENDLESS}",
        "CREATE TRIGGER t AFTER INSERT ON studies BEGIN DELETE FROM studies; END",
        "CREATE TABLE cells (key TEXT PRIMARY KEY, job AS (hex(zeroblob(1000000000))))",
        "CREATE VIRTUAL TABLE cells USING fts5(key)",
        "CREATE INDEX i ON studies (hex(name))",
    ],
)
@pytest.mark.parametrize("command", ["report", "list", "export", "run"])
def test_only_our_own_tables_are_read(path: Path, statement: str, command: str) -> None:
    if "cells" in statement:
        change(path, "DROP TABLE cells")
    try:
        change(path, statement)
    except sqlite3.OperationalError as error:
        pytest.skip(str(error))
    result = call(path, command)
    assert result.exit_code == 1
    assert "was not made by unispectral" in result.output


def test_a_statement_that_takes_too_long_is_stopped(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unispectral.bench.store._PATIENCE", 0.2)
    with Store(path, readonly=True) as store, pytest.raises(StoreError, match="interrupted"):
        store._rows(f"SELECT COUNT(*) FROM ({ENDLESS})")


@pytest.mark.parametrize(
    "edit",
    [
        lambda study: study["methods"][0].update(repeats=10**12),
        lambda study: study["methods"][0].update(grid={c: list(range(90)) for c in "abcdef"}),
        lambda study: study.update(datasets=[{"name": f"d{i}"} for i in range(3000)],
                                   methods=[{"name": f"m{i}", "estimator": "a.B"}
                                            for i in range(3000)]),
    ],
)  # fmt: skip
def test_studies_of_too_many_cells_are_refused(path: Path, edit: Callable[[dict], None]) -> None:
    db = sqlite3.connect(path)
    content = json.loads(db.execute("SELECT content FROM studies").fetchone()[0])
    db.close()
    edit(content)
    change(path, "UPDATE studies SET content = ?", json.dumps(content))
    result = call(path, "report")
    assert result.exit_code == 1
    assert "more than 1000000 cells" in result.output


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", "5", "[" * 10**5, '{"datasets": 1, "methods": [], "surfaces": []}', b"\xff"],
)
def test_damaged_studies_are_a_sentence(path: Path, content: Any) -> None:
    change(path, "UPDATE studies SET content = ?", content)
    result = call(path, "report")
    assert result.exit_code == 1
    assert "is damaged" in result.output


def inflated(row: dict[str, Any], size: int) -> None:
    row["labels"] = zlib.compress(bytes(size))


def test_labels_inflate_to_what_the_samples_need_and_no_further(path: Path) -> None:
    import tracemalloc

    key = rewrite(path, "k-means", lambda row: inflated(row, 2**28))
    with Store(path, readonly=True) as store:
        record = store.records()[key]
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match="are not those of"):
                _ = record.labels
            assert tracemalloc.get_traced_memory()[1] < 2**22
        finally:
            tracemalloc.stop()


def test_a_huge_number_of_samples_is_refused(path: Path) -> None:
    key = rewrite(path, "k-means", lambda row: row.update(n_samples=2**40))
    with Store(path, readonly=True) as store, pytest.raises(ValueError, match="n_samples"):
        _ = store.records()[key].labels


@pytest.mark.parametrize(
    "edit",
    [
        {"scores": "{}"},
        {"scores": '{"accuracy": "high", "nmi": 0, "purity": 0}'},
        {"scores": '{"accuracy": NaN, "nmi": 0, "purity": 0}'},
        {"scores": "[1]"},
        {"scores": "[" * 10**5},
        {"status": "fine"},
        {"seconds": float("inf")},
        {"seconds": "long"},
        {"n_samples": "many"},
        {"facts": '{"objective": "low"}'},
        {"facts": '{"weights": [1, null]}'},
        {"facts": '{"weights": 5}'},
        {"facts": "[]"},
        {"warnings": "[1]"},
        {"reason": 5},
        {"job": "{}"},
        {"job": "null"},
        {"labels": "text"},
    ],
)
def test_rows_of_another_meaning_count_as_not_there(
    path: Path, edit: dict[str, Any], tmp_path: Path
) -> None:
    key = rewrite(path, "k-means", lambda row: row.update(edit))
    assert call(path, "report", "--out", str(tmp_path / "page.html")).exit_code == 0
    assert call(path, "export", "--out", str(tmp_path)).exit_code == 0
    with Store(path, readonly=True) as store:
        results = Results(store.load_study()[0], store)
    assert key not in results.records
    assert len(results.records) > 5


@pytest.mark.parametrize(
    "content", ["{}", "[]", "null", "", "[" * 10**5, '{"versions": 5}', '{"python": 3}', None]
)
def test_a_changed_environment_is_left_out_of_the_report(
    path: Path, content: str | None, tmp_path: Path
) -> None:
    if content is None:  # ours, with one number that is none
        with Store(path, readonly=True) as store:
            content = json.dumps({**next(iter(store.environments().values())), "memory": "much"})
    change(path, "UPDATE environments SET content = ?", content)
    page = tmp_path / "page.html"
    result = call(path, "report", "--out", str(page))
    assert result.exit_code == 0, result.output
    assert "fits with" not in page.read_text(encoding="utf-8")


def test_no_module_that_a_store_names_is_imported(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\nclass KMeans: pass")
    monkeypatch.syspath_prepend(str(tmp_path))
    rewrite(path, "k-means", lambda row: row["job"].update(estimator="evil.KMeans"))
    change(path, "UPDATE studies SET content = replace(content, 'sklearn.cluster', 'evil')")
    for command in (("report", "--out", str(tmp_path / "page.html")), ("list",)):
        assert call(path, *command).exit_code == 0
    assert "evil.KMeans" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not (tmp_path / "mark").exists()
    assert "evil" not in sys.modules


def test_random_changes_of_a_store_never_end_in_a_traceback(path: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(int(os.environ.get("UNISPECTRAL_SEED", "0")))
    values = [None, 0, -1, 2**62, 1e308, "", "x", "{}", "[]", "null", '{"a": 1}', b"\xff\x00"]
    columns = {
        "cells": _COLUMNS,
        "studies": ("name", "content", "saved", "command"),
        "environments": ("digest", "content"),
    }
    page = str(tmp_path / "page.html")
    original = path.read_bytes()
    for _ in range(40):
        path.write_bytes(original)
        table = str(rng.choice(list(columns)))
        column, value = str(rng.choice(columns[table])), values[rng.integers(len(values))]
        try:
            if table == "cells" and column != "key" and column != "job":
                rewrite(path, "k-means", lambda row, c=column, v=value: row.update({c: v}))
            else:
                change(path, f"UPDATE {table} SET {column} = ?", value)
        except sqlite3.IntegrityError:
            continue
        for command in (("report", "--out", page), ("list",)):
            result = call(path, *command)
            assert result.exit_code in (0, 1)
            assert "Traceback" not in result.output


def test_an_interrupt_while_sqlite_looks_at_the_clock_stays_one(tmp_path, monkeypatch):
    with Store(tmp_path / "results.sqlite") as store:

        def interrupted(after_deadline):
            if after_deadline:
                store._deadline = 0.0
            raise sqlite3.OperationalError("interrupted")

        with pytest.raises(KeyboardInterrupt), store._sentences():
            interrupted(False)
        with pytest.raises(StoreError, match="cannot be kept"), store._sentences():
            interrupted(True)
