"""The rules of the house that a small script can check."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "unispectral"
TESTS = ROOT / "tests"
#: Folders of tests that stand for no folder of the source.
OTHERS = {"integration", "project"}


def folders(path: Path) -> set[str]:
    """The folders with Python files that lie directly in a folder."""
    return {file.parent.name for file in path.glob("*/*.py")}


def test_tests_mirror_the_folders():
    rooms = folders(SOURCE)
    measured = {"benchmarks", "robustness"} & folders(ROOT)
    tested = folders(TESTS)
    assert tested <= rooms | measured | OTHERS
    assert rooms <= tested
    for file in TESTS.glob("test_*.py"):
        name = file.stem.removeprefix("test_")
        public = SOURCE / f"{name}.py"
        private = SOURCE / f"_{name}.py"
        assert public.exists() or private.exists(), f"{file.name} names no file of the root"


def test_contributing_says_which_tests_belong_to_which_folder():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name in OTHERS | {"benchmarks", "robustness"}:
        assert f"`tests/{name}`" in text, name
