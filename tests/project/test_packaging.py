"""What a release consists of agrees with itself: metadata, recipe, hooks, workflows, licences."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType

import jinja2
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from robustness.dependencies import closure, declared, licence, refused

import unispectral

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
REPOSITORY = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ADDRESS = "https://github.com/someone/unispectral"


def script(path: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A program of the repository as a module."""
    file = ROOT / path
    monkeypatch.syspath_prepend(file.parent)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bounds() -> dict[str, Version]:
    """The lowest version of every package that pyproject.toml names for users."""
    found: dict[str, Version] = {}
    for extra in ("", *PROJECT["optional-dependencies"]):
        for requirement in declared(extra):
            lowest = [Version(s.version) for s in requirement.specifier if s.operator == ">="]
            if canonicalize_name(requirement.name) != "unispectral":
                assert len(lowest) == 1, requirement
                assert found.setdefault(requirement.name, lowest[0]) == lowest[0]
    return found


def test_oldest_versions_are_the_lower_bounds() -> None:
    lines = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    for other in (
        "polars",
        "pyparsing",
    ):  # no dependencies of ours, but of the tests and of matplotlib
        assert pins.pop(other)
    assert {name: Version(pin) for name, pin in pins.items()} == bounds()


def test_python_versions_agree() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={named[0]}"
    tested = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    matrix = tested["jobs"]["core"]["strategy"]["matrix"]
    assert {*matrix["python"], *(row["python"] for row in matrix["include"])} == set(named)
    tries = tested["jobs"]["packages"]["steps"][-2]["run"]
    assert re.findall(r"python(3\.\d+)", tries.partition("PYTHONS=")[2]) == named


@pytest.fixture(scope="module")
def recipe() -> dict:
    text = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(
        jinja2.Template(text, undefined=jinja2.StrictUndefined).render(PYTHON="python")
    )


def test_recipe_has_what_conda_forge_asks_for(recipe: dict) -> None:
    order = ["package", "source", "build", "requirements", "test", "about", "extra"]
    assert list(recipe) == order
    assert {"home", "summary", "license", "license_file"} <= set(recipe["about"])
    assert recipe["build"]["number"] == 0
    assert recipe["build"]["noarch"] == "python"
    assert "--no-deps --no-build-isolation" in recipe["build"]["script"]
    assert (ROOT / recipe["about"]["license_file"]).is_file()
    assert re.fullmatch(r"[0-9a-f]{64}", recipe["source"]["sha256"])
    assert recipe["source"]["url"].endswith(f"unispectral-{unispectral.__version__}.tar.gz")
    assert "pip check" in recipe["test"]["commands"]
    maintainers = recipe["extra"]["recipe-maintainers"]
    assert maintainers or not REPOSITORY  # filled in by `make recipe`


def test_recipe_agrees_with_the_package(recipe: dict) -> None:
    assert recipe["package"] == {"name": PROJECT["name"], "version": unispectral.__version__}
    assert recipe["about"]["license"] == PROJECT["license"]
    [(name, target)] = PROJECT["scripts"].items()
    assert recipe["build"]["entry_points"] == [f"{name} = {target}"]
    python, *run = recipe["requirements"]["run"]
    assert python == f"python {PROJECT['requires-python']}"
    extras = [r for extra in ("io", "data", "cli") for r in declared(extra)]
    wanted = [r for r in [*declared(), *extras] if r.name != "unispectral"]
    assert sorted(map(str, map(Requirement, run))) == sorted(map(str, wanted))
    [hatchling] = PYPROJECT["build-system"]["requires"]
    assert Requirement(recipe["requirements"]["host"][-1]) == Requirement(hatchling)


def test_recipe_is_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    filled = script(".ci/recipe.py", monkeypatch).filled(
        text, version="1.2.3", sha256="a" * 64, repository=ADDRESS
    )
    found = yaml.safe_load(jinja2.Template(filled).render(PYTHON="python"))
    assert found["package"]["version"] == "1.2.3"
    assert found["source"]["sha256"] == "a" * 64
    assert found["about"]["home"] == ADDRESS
    assert found["source"]["url"].startswith(f"{ADDRESS}/releases/download/v1.2.3/")
    assert found["extra"] == {"recipe-maintainers": ["someone"]}


def test_hooks_have_the_versions_of_the_linters() -> None:
    pins = dict(line.split("==") for line in PYPROJECT["dependency-groups"]["lint"])
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    ruff, local = config["repos"]
    assert ruff["rev"] == f"v{pins['ruff']}"
    assert {hook["id"] for hook in ruff["hooks"]} == {"ruff-check", "ruff-format"}
    checks, subject = local["hooks"]
    assert checks["entry"] == ".venv/bin/mypy"
    assert re.search(subject["entry"], f"{'a' * 73}\n")
    assert not re.search(subject["entry"], f"{'a' * 72}\n\n{'b' * 99}\n")
    assert set(pins) == {"ruff", "mypy"}


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_the_commands_of_the_repository(file: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    flow = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert flow["permissions"] == {"contents": "read"}
    for job in flow["jobs"].values():
        for step in job.get("steps", ()):
            if "uses" in step:
                assert re.fullmatch(r"actions/[\w-]+@v\d+|[\w/-]+@[0-9a-f]{40}", step["uses"])
            elif step["run"] != ".ci/run":
                program, target = step["run"].split()[:2]
                known = program == "make" and target in targets
                allowed = ("choco install make", "gh release create")
                assert known or step["run"].startswith(allowed), step["run"]


def test_citation_agrees() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert str(cited["version"]) == unispectral.__version__
    assert cited["license"] == PROJECT["license"]
    paper = cited["preferred-citation"]
    bibtex = (ROOT / "README.md").read_text(encoding="utf-8").partition("```bibtex")[2]
    assert paper["title"] in bibtex
    assert all(f"{a['family-names']}, {a['given-names']}" in bibtex for a in paper["authors"])


def test_the_papers_references_are_those_that_it_cites() -> None:
    folder = ROOT / "docs" / "joss"
    cited = set(re.findall(r"@(\w+)", (folder / "paper.md").read_text(encoding="utf-8")))
    listed = re.findall(r"^@\w+\{(\w+),", (folder / "paper.bib").read_text("utf-8"), re.M)
    assert len(listed) == len(set(listed))
    assert set(listed) == cited


def test_forms_of_issues_ask_for_what_helps() -> None:
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert {form.stem for form in forms} == {"bug", "result", "config"}
    for form in forms:
        content = yaml.safe_load(form.read_text(encoding="utf-8"))
        if form.stem != "config":
            assert {"name", "description", "body"} <= set(content)
            assert all(field["attributes"]["label"] for field in content["body"])


def test_licences_of_all_dependencies_are_accepted() -> None:
    names, _ = closure(PROJECT["optional-dependencies"])
    assert len(names) > 40
    assert {n: bad for n in names if (bad := refused(licence(distribution(n))))} == {}
    assert refused("GPL-3.0-or-later") == ["GPL-3.0-or-later"]
    assert refused("unknown") == ["unknown"]


def test_every_extra_is_documented() -> None:
    page = (ROOT / "docs" / "extras.rst").read_text(encoding="utf-8")
    assert set(re.findall(r"``([a-z]+)``\n     -", page)) == set(PROJECT["optional-dependencies"])


def test_readme_for_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hatchling")
    hook = script("hatch_build.py", monkeypatch)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = hook.readme_for_index(text, ADDRESS, "v0.1.0")
    links = re.findall(r"\]\(([^)\s]+)\)", shown)
    assert all(link.startswith("https://") for link in links)
    assert f"{ADDRESS}/raw/v0.1.0/docs/_static/readme.png" in links
    assert f"{ADDRESS}/actions/workflows/tests.yml/badge.svg" in links
    for link in links:
        path = re.sub(rf"^{ADDRESS}/(?:raw|blob)/v0\.1\.0/", "", link)
        assert path.startswith("https://") or (ROOT / path).exists(), link
    alone = hook.readme_for_index(text, "", "v0.1.0")
    assert not re.search(r"\]\((?!https:)", alone)
    assert len(alone.split()) > 400
    assert hook.addresses(ADDRESS)["Documentation"] == "https://someone.github.io/unispectral/"
    assert set(hook.addresses("")) == {"Paper"}


def test_release_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check = script(".ci/release_check.py", monkeypatch)
    for path in ("CHANGELOG.md", "CITATION.cff", "recipe/meta.yaml", "docs/joss/paper.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    monkeypatch.setattr(check, "ROOT", tmp_path)
    here = unispectral.__version__
    changes, citation = tmp_path / "CHANGELOG.md", tmp_path / "CITATION.cff"
    changes.write_text(
        re.sub(
            r"^## .*$", f"## {here} (2030-01-02)", changes.read_text("utf-8"), count=1, flags=re.M
        ),
        encoding="utf-8",
    )
    dated = re.sub(r"^date-released.*\n", "", citation.read_text("utf-8"), flags=re.M)
    citation.write_text(dated + "date-released: '2030-01-02'\n", encoding="utf-8")
    paper = tmp_path / "docs/joss/paper.md"
    told = check.disagreements(f"v{here}", address=ADDRESS, github=ADDRESS)
    assert told == ["docs/joss/paper.md has fields 'to be filled in'."]
    paper.write_text(paper.read_text("utf-8").replace("to be filled in", "x"), encoding="utf-8")
    assert check.disagreements(f"v{here}", address=ADDRESS, github=ADDRESS) == []
    assert "tag v" in check.disagreements("v9.9.9", address=ADDRESS)[0]
    assert "repository" in check.disagreements(f"v{here}", address="")[0]
    other = check.disagreements(f"v{here}", address=ADDRESS, github="https://github.com/b/c")
    assert len(other) == 1
    changes.write_text("# Changes\n", encoding="utf-8")
    assert "CHANGELOG.md" in check.disagreements(f"v{here}", address=ADDRESS)[0]


def test_pictures_are_not_needed_for_the_command_line() -> None:
    """The extra ``cli`` brings neither Matplotlib nor PyArrow; a report needs neither."""
    names, _ = closure(["cli"])
    assert not {"matplotlib", "pyarrow"} & names
    program = (
        "import sys; sys.modules['matplotlib'] = sys.modules['pyarrow'] = None\n"
        "import unispectral.cli._app, unispectral.report, unispectral.plotting, unispectral.tables"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_a_built_package_is_tried_with_works_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """``make dist`` asks the same of an installed package, and is run at releases only."""
    script(".ci/smoke.py", monkeypatch).first_hour(tmp_path)
