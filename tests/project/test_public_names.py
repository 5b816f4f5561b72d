"""The public surface: documented names are importable ones, and the house keeps its order."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import unispectral

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "unispectral"
#: Modules whose ``__all__`` the manual lists in full.
LISTED = (
    "baselines",
    "metrics",
    "model_selection",
    "persistence",
    "plotting",
    "scverse",
    "tables",
    "testing",
)


def documented() -> list[tuple[str, str]]:
    """Module and name of every entry of an autosummary in the pages of the API."""
    found = []
    for page in sorted((ROOT / "docs" / "api").glob("*.rst")):
        module, listing = "", False
        for line in page.read_text().splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split("::")[1].strip()
            elif line.startswith(".. "):
                listing = line.startswith(".. autosummary::")
            elif listing and re.fullmatch(r"   [A-Za-z_][\w.]*", line):
                found.append((module, line.strip()))
    return found


def imported(module: str, name: str) -> object:
    """What a documented name stands for."""
    *parts, last = f"{module}.{name}".split(".")
    for depth in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:depth]))
        except ModuleNotFoundError:
            continue
        for part in [*parts[depth:], last]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(f"{module}.{name}")


def test_there_are_documented_names():
    assert len(documented()) > 50


@pytest.mark.parametrize("entry", documented(), ids=".".join)
def test_a_documented_name_is_importable(entry):
    assert imported(*entry) is not None


def test_what_the_package_exports_is_documented():
    named = {name.rpartition(".")[2] for _, name in documented()}
    public = {name for name in unispectral.__all__ if not name.startswith("__")}
    models = {"UnifiedSpectralClustering", "SCSK", "SCMK"}
    functions = {"save_model", "load_model", "describe", "uncertain_pairs"}
    assert public == models | functions | {"DoubtfulResultWarning"}
    assert public <= named
    for room in LISTED:
        exported = importlib.import_module(f"unispectral.{room}").__all__
        missing = {name for name in exported if not name.isupper()} - named  # constants apart
        assert not missing, f"{room}: {sorted(missing)}"


def test_every_public_name_is_there():
    from unispectral import (
        SCMK,
        SCSK,
        UnifiedSpectralClustering,
        describe,
        load_model,
        save_model,
    )

    for found in (SCMK, SCSK, UnifiedSpectralClustering, describe, load_model, save_model):
        assert getattr(unispectral, found.__name__) is found
        assert inspect.getdoc(found)
    assert set(unispectral.__all__) <= set(dir(unispectral))
    for name in dir(unispectral):
        assert getattr(unispectral, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'cluster_better'"):
        _ = unispectral.cluster_better


@pytest.mark.parametrize(
    "path",
    sorted(path for path in SOURCE.rglob("*.py") if "__all__ = [" in path.read_text()),
    ids=lambda path: path.relative_to(SOURCE).as_posix(),
)
def test_all_names_what_a_module_has(path):
    relative = path.relative_to(SOURCE.parent).with_suffix("").parts
    module = importlib.import_module(".".join(relative).removesuffix(".__init__"))
    for name in module.__all__:
        assert hasattr(module, name), name


@pytest.mark.parametrize(
    ("name", "most"), [("UnifiedSpectralClustering", 21), ("SCSK", 17), ("SCMK", 17)]
)
def test_few_parameters(name, most):
    estimator = getattr(unispectral, name)
    parameters = list(inspect.signature(estimator).parameters)
    assert len(parameters) <= most
    assert sorted(parameters) == sorted(estimator().get_params())
    assert set(estimator._parameter_constraints) == set(parameters)
    for parameter in parameters:
        described = rf"(?m)^( *|.*, ){parameter}(,.*)? : "
        assert re.search(described, inspect.getdoc(estimator)), parameter


def imports(path: Path, modules: set[str]) -> set[str]:
    """The modules of this package that a module imports when it is imported itself."""
    found, pending = set(), list(ast.parse(path.read_text()).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in modules else node.module)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            pending += [*node.body, *node.orelse]
        elif isinstance(node, (ast.Try, ast.With)):
            pending += node.body
    return found & modules


def test_no_cycle_among_modules_when_they_are_imported():
    paths = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in SOURCE.rglob("*.py")
    }
    graph = {name: imports(path, set(paths)) for name, path in paths.items()}
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " → ".join([*way[way.index(name) :], name])
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*way, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_no_ambient_state():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert "ContextVar" not in text, path
        assert "np.random.seed" not in text, path
        for node in ast.walk(ast.parse(text)):
            assert not isinstance(node, ast.Global), path


def test_no_decision_by_the_name_of_a_kernel():
    """Names are for people: outside the table that turns them into kernels nobody reads them."""
    asking = re.compile(r"\.names?(\[[^]]*\])?\.(startswith|endswith|split)\(|in \w+\.name\b")
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in ("kernels", "graph", "labelfree", "paper"):
            assert not asking.search(path.read_text()), path


def test_few_files_in_the_root_of_the_package():
    assert len(list(SOURCE.glob("*.py"))) <= 20
