"""Stores that somebody else has made: nothing in them runs, hangs or takes all the memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("click")
from unispectral.bench import Results, Store, StoreError, Study
from unispectral.bench.store import _digest

from .conftest import Called
from .conftest import call as call_bench


@pytest.fixture
def path(ran: Path, tmp_path: Path) -> Path:
    shutil.copy(ran, tmp_path / "r.jsonl")
    return tmp_path / "r.jsonl"


def call(path: Path, *arguments: str) -> Called:
    """A command on a store; whatever it meets, it ends, and without a traceback."""
    result = call_bench(*arguments, "--store", str(path))
    assert "--debug shows where" not in result.output, result.output
    return result


def rewrite(path: Path, method: str | None, edit: Callable[[dict[str, Any]], Any]) -> str:
    """Change a cell of a method, or the study, and give it a checksum that fits; return its key.

    What `edit` returns, if anything, takes the place of the line.
    """
    lines = path.read_bytes().splitlines()
    entries = [json.loads(line) for line in lines]
    names = [entry.get("job", {}).get("method", entry.get("kind")) for entry in entries]
    place = names.index(method or "study")
    entry = entries[place]
    key = entry.get("key", "")
    del entry["digest"]
    changed = edit(entry)
    if not isinstance(changed, bytes):
        changed = json.dumps({**entry, "digest": digest_of(entry)}).encode()
    lines[place] = changed
    path.write_bytes(b"\n".join(lines) + b"\n")
    return key


def digest_of(entry: dict[str, Any]) -> str:
    try:
        return _digest(entry)
    except ValueError:  # what is no JSON, such as NaN
        return ""


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
    rewrite(path, None, lambda entry: edit(entry["tables"]))
    result = call(path, "report")
    assert result.exit_code == 1
    assert "more than 100000 cells" in result.output


def test_no_file_that_a_store_names_is_read(path: Path) -> None:
    """It may never end, as /dev/zero does."""
    table = {"name": "blobs", "file": "/dev/zero", "truth": "/dev/zero"}
    rewrite(path, None, lambda entry: entry["tables"].update(datasets=[table]))
    for command in ("report", "export", "list"):
        result = call(path, command)
        assert result.exit_code == 1
        assert "is damaged: a file without its digest" in result.output


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_a_line_without_an_end_takes_no_memory(path: Path, tmp_path: Path) -> None:
    """Half a sparse gigabyte, in a process that may have no more; larger files are refused."""
    with path.open("r+b") as stream:
        stream.truncate(2**29)
        stream.seek(0, os.SEEK_END)
        stream.write(b"\n")
    script = (
        "import resource, sys\n"
        "from unispectral.bench import Store\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (2**29, 2**29))\n"
        "with Store(sys.argv[1], readonly=True) as store:\n"
        "    print(len(store.records()) > 5, store.studies())\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "True ['tiny']\n", done.stderr
    os.truncate(path, 2**33)
    assert "of more than a gigabyte" in call(path, "report").output


def test_what_would_not_be_read_back_is_not_written(tmp_path: Path, tiny: Study) -> None:
    with Store(tmp_path / "r.jsonl") as store:
        with pytest.raises(StoreError, match="The study is too large"):
            store.save_study(tiny, "x" * 2**20)
        cell = tiny.cells()[0]
        store.put(cell, {"status": "error", "reason": "x" * 2**21})
        assert len(store.records()[cell.key].reason or "") == 10_000


@pytest.mark.parametrize(
    "tables", ["", [], {}, 5, None, {"datasets": 1, "methods": [], "surfaces": []}]
)
def test_damaged_studies_are_a_sentence(path: Path, tables: Any) -> None:
    rewrite(path, None, lambda entry: entry.update(tables=tables))
    result = call(path, "report")
    assert result.exit_code == 1
    assert "is damaged" in result.output


def test_a_sentence_about_a_damaged_study_ends_once(path: Path) -> None:
    rewrite(path, None, lambda entry: entry["tables"]["methods"][0].update(repeats="x"))
    said = call(path, "report").output.strip()
    assert "is damaged" in said
    assert said.endswith(".")
    assert not said.endswith("..")


@pytest.mark.parametrize(
    "line",
    [b"", b"[]", b"{}", b"5", b"null", b"\xff", b"[" * 10**5, b'{"a":' * 10**5, b"1" * 10**5,
     b'{"kind":"cell"}', b'{"digest":5}', b'"' + b"x" * 10**7 + b'"'],
)  # fmt: skip
def test_lines_that_are_none_of_ours_count_as_not_there(path: Path, line: bytes) -> None:
    key = rewrite(path, "k-means", lambda entry: line)
    with Store(path, readonly=True) as store:
        assert key not in store.records()
        assert len(store.records()) > 5
        assert store.studies() == ["tiny"]


@pytest.mark.parametrize(
    "edit",
    [
        {"scores": {}},
        {"scores": {"accuracy": "high", "nmi": 0, "purity": 0}},
        {"scores": {"accuracy": float("nan"), "nmi": 0, "purity": 0}},
        {"scores": {"accuracy": 1e308, "nmi": 0, "purity": 0}},
        {"scores": [1]},
        {"scores": None},
        {"status": "fine"},
        {"status": []},
        {"key": "../../etc"},
        {"key": []},
        {"seconds": float("inf")},
        {"seconds": "long"},
        {"seconds": True},
        {"n_samples": "many"},
        {"facts": {"objective": "low"}},
        {"facts": []},
        {"warnings": [1]},
        {"reason": 5},
        {"environment": {"machine": 5}},
        {"environment": "here"},
        {"ended": 5},
        {"job": {}},
        {"job": None},
        {"more": 5},
    ],
)
def test_lines_of_another_meaning_count_as_not_there(
    path: Path, edit: dict[str, Any], tmp_path: Path
) -> None:
    key = rewrite(path, "k-means", lambda entry: entry.update(edit))
    assert call(path, "report", "--out", str(tmp_path / "page.html")).exit_code == 0
    assert call(path, "export", "--out", str(tmp_path / "tables.md")).exit_code == 0
    with Store(path, readonly=True) as store:
        results = Results(store.load_study()[0], store)
    assert key not in results.records
    assert len(results.records) > 5


def test_no_module_that_a_store_names_is_imported(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\nclass KMeans: pass")
    monkeypatch.syspath_prepend(str(tmp_path))

    def name_it(entry: dict[str, Any]) -> None:
        for method in entry["tables"]["methods"]:
            method["estimator"] = method["estimator"].replace("sklearn.cluster", "evil")

    rewrite(path, "k-means", lambda entry: entry["job"].update(estimator="evil.KMeans"))
    rewrite(path, None, name_it)
    outputs = tmp_path / "page.html", tmp_path / "tables.md"
    for command in (("report", "--out", str(outputs[0])), ("export", "--out", str(outputs[1])),
                    ("list",)):  # fmt: skip
        assert call(path, *command).exit_code == 0
    assert "evil.KMeans" in outputs[0].read_text(encoding="utf-8")
    assert not (tmp_path / "mark").exists()
    assert "evil" not in sys.modules


def test_random_changes_of_a_store_never_end_in_a_traceback(
    path: Path, tmp_path: Path, thorough: bool
) -> None:
    rng = np.random.default_rng(int(os.environ.get("UNISPECTRAL_SEED", "0")))
    values = [None, 0, -1, 2**62, 1e308, "", "x", {}, [], {"a": 1}, [[]], True, "\udc80", 10**400]
    page = str(tmp_path / "page.html")
    original = path.read_bytes()

    def change(entry: dict[str, Any]) -> None:
        """Somewhere, at any depth."""
        place: Any = entry
        while True:
            key = rng.choice(list(place)) if isinstance(place, dict) else rng.integers(len(place))
            if not isinstance(place[key], (dict, list)) or not place[key] or rng.random() < 0.3:
                place[key] = values[rng.integers(len(values))]
                return
            place = place[key]

    for turn in range(60 if thorough else 20):
        path.write_bytes(original)
        rewrite(path, "k-means" if turn % 2 else None, change)
        for command in (("report", "--out", page), ("list",)):
            result = call(path, *command)
            assert result.exit_code in (0, 1)
            assert "Traceback" not in result.output
