"""The rules of the house that a small script can check."""

from __future__ import annotations

import ast
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest
from benchmarks import house

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "unispectral"
TESTS = ROOT / "tests"
#: Folders of tests that stand for no folder of the source.
OTHERS = {"integration", "project"}
#: What scikit-learn's estimators have without promising it, other than what a class declares.
UNPROMISED = {"_validate_params", "_sklearn_output_config", "_init_callback_context"}


@cache
def parse(path: Path) -> ast.Module:
    """The syntax of a file, read once for all rules."""
    return ast.parse(path.read_text(encoding="utf-8"))


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


def private_names(path: Path) -> set[str]:
    """What a module uses of scikit-learn that scikit-learn does not promise to keep."""
    found = set()
    for node in ast.walk(parse(path)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and node.attr in UNPROMISED:
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and node.value in UNPROMISED:
            found.add(str(node.value))
        for name in names:
            package, *parts = name.split(".")
            private = any(part.startswith("_") and part != "__version__" for part in parts)
            young = parts[:1] in (["callback"], ["experimental"])
            if package == "sklearn" and (private or young):
                found.add(name)
    return found


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix()
)
def test_private_names_of_scikit_learn_are_in_one_file(path):
    used = private_names(path)
    if path == SOURCE / "_compat.py":
        assert len(used) > 5  # what is looked for is found where it is
    else:
        assert not used


def test_no_file_holds_an_unresolved_merge():
    signs = ("<" * 7 + " ", ">" * 7 + " ")
    files = [path for path in SOURCE.rglob("*") if path.suffix in {".py", ".js", ".css", ".toml"}]
    assert any(path.suffix == ".js" for path in files)
    for path in files:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert not any(line.startswith(signs) for line in lines), path.name


def test_every_number_of_a_module_has_its_reason(tmp_path):
    numbers = house.list_numbers(SOURCE)
    assert len(numbers) > 300
    assert not [number[:2] for number in numbers if not number[3]]
    example = tmp_path / "example.py"
    text = (
        "#: Why,\n#: at length.\n_A, _B = 1, -2.5\n_C = 3\n\n_D = 3\n_E = 4  # why\n_F = 2**-3\n"
    )
    example.write_text(f"{text}_G = 'x'\n_H = len('x')\n")
    assert house.list_numbers(tmp_path) == [
        ("example.py", "_A, _B", "(1, -2.5)", "Why, at length."),
        ("example.py", "_C", "3", "Why, at length."),
        ("example.py", "_D", "3", ""),
        ("example.py", "_E", "4", "why"),
        ("example.py", "_F", "2 ** (-3)", ""),
    ]


def test_private_modules_list_no_names():
    """``__all__`` is for readers of the manual, who see no private module."""
    for path in SOURCE.rglob("_*.py"):
        if not path.name.startswith("__"):
            assert "\n__all__" not in path.read_text(encoding="utf-8"), path


def test_examples_are_of_functions_that_somebody_reads():
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(parse(path)):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and re.match("_[^_]", node.name):
                assert ">>>" not in (ast.get_docstring(node) or ""), f"{path.name}: {node.name}"


def test_dotted_names_in_docstrings_exist():
    """``labelfree._neighbourhoods.localize`` and its like, beside what Sphinx checks itself."""
    rooms = folders(SOURCE) | {path.stem for path in SOURCE.glob("*.py")}
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for name in re.findall(r"``(\w+(?:\.\w+)+)``", path.read_text(encoding="utf-8")):
            if name.split(".")[0] in rooms and not (SOURCE / name).exists():
                found.append(name)
                value = pkgutil.resolve_name(f"unispectral.{name}")
                assert value is not None, f"{path.name}: {name}"
    assert found  # what is looked for is there


#: Words that only this house knew, and those of the field that took their place.
HOUSE_WORDS = {
    r"read-?outs?": "label assignment",
    r"witness(es)?": "evidence",
    r"rungs?": "grid",
    r"contests?": "selection",
    r"rivals?": "candidate, or peer",
    r"doubts": "diagnostics",
    r"clouds?": "Gaussian null model",
    r"thin samples?": "low-density samples",
    r"no trace": "weight 0",
}
#: In the rooms of the model these are numbers of an objective, not of a shop.
PENALTIES = ("paper", "graph", "spectrum", "labelfree", "baselines", "kernels")


def test_words_are_those_of_the_field():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.rst"), *ROOT.glob("docs/*/*.rst")]
    code = [
        path
        for folder in ("src", "benchmarks", "robustness", "examples")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".js", ".md"}
    ]
    assert len(pages) > 40
    assert len(code) > 250
    words = re.compile(rf"\b({'|'.join(HOUSE_WORDS)})\b", re.IGNORECASE)
    assert words.search("the Doubts")  # what is looked for would be found
    for path in (*pages, *code):
        text = path.read_text(encoding="utf-8")
        if path.is_relative_to(SOURCE) and path.relative_to(SOURCE).parts[0] in PENALTIES:
            assert not re.search(r"\bprices?\b", text), f"{path.name}: say penalty"
        found = words.search(text)
        assert found is None, f"{path.relative_to(ROOT)}: {found and found[0]!r}"


#: Verbs that look like participles, and participles that do not.
VERBS = {"embed", "seed", "feed", "read"}
IRREGULAR = {
    "built",
    "drawn",
    "found",
    "given",
    "grown",
    "held",
    "kept",
    "left_out",
    "made",
    "taken",
}


def is_participle(name: str) -> bool:
    """Whether the name of a function is a participle, which reads as that of a variable."""
    word = name.strip("_")
    regular = word.endswith("ed") and "_" not in word and word not in VERBS
    return regular or word in IRREGULAR


def test_functions_are_no_participles():
    assert is_participle("ordered")
    assert is_participle("_held")
    assert not is_participle("embed")
    assert not is_participle("shared_neighbours")
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.FunctionDef) and "property" not in map(
                ast.unparse, node.decorator_list
            ):
                assert not is_participle(node.name), f"{path.name}: {node.name} is no verb"


def test_modules_and_functions_fit_in_the_head():
    """About 400 and 60 lines are where to look for a second idea; beyond these there is one."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 650, path.name
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.FunctionDef):
                start = node.lineno if ast.get_docstring(node) is None else node.body[0].end_lineno
                assert node.end_lineno - start <= 80, f"{path.name}: {node.name}"


def test_only_processes_of_our_own_give_memory_back():
    users = {
        path.relative_to(SOURCE).parts[0]
        for path in SOURCE.rglob("*.py")
        if re.search(r"import .*\b(give_back|keep_freed)\b", path.read_text(encoding="utf-8"))
    }
    assert users == {"bench", "dask"}  # their workers; a fit leaves the user's memory alone
