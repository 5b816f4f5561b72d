"""The table of relations that cannot matter, from what was measured."""

from __future__ import annotations

from benchmarks._store import Store
from robustness.metamorphic import write_table


def test_the_table_counts_what_holds_and_names_the_worst(tmp_path) -> None:
    store = Store(tmp_path / "found.json")
    found = {"one": {"times 2": 1.0, "every sample twice": 0.97}, "two": {"times 2": 0.985}}
    for name, indices in found.items():
        store.cell(f"set/{name}/3", lambda indices=indices: indices, condition="")
    store.cell("set/two/auto", lambda: {"times 2": 1.0}, condition="")
    text = write_table(Store(tmp_path / "found.json"), 500, tmp_path / "found.md")
    assert text == (tmp_path / "found.md").read_text(encoding="utf-8")
    assert "on the 2 sets" in text
    assert "| times 2 | given | 2 | 1 | 1 | 0.985 (two) |" in text
    assert "| times 2 | auto | 1 | 1 | 1 | 1.000 |" in text
    assert "| every sample twice | given | 1 | 1 | 0 | 0.970 (one) |" in text
