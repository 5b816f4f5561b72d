"""The manual tells the truth: its code runs, its commands exist, its names can be imported."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
import re
import shlex
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import zarr
from benchmarks.tables import make_customers
from sklearn import datasets
from sklearn.utils import Bunch

import unispectral
from unispectral.metrics import clustering_accuracy

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.rst"))]
PAGES += sorted((DOCS / "methods").glob("*.rst")) + sorted((DOCS / "api").glob("*.rst"))
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ALL_DIGITS = datasets.load_digits
#: Digits that an example gets here; enough for every step of it.
FEW = 240
_DIRECTIVE = r"^( *)\.\. (?:code-block:: *(\w+)|(plot)::)"


class Block(NamedTuple):
    """A piece of code of a page."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """Every code block of a Markdown or reStructuredText file."""
    lines = page.read_text(encoding="utf-8").splitlines()
    pattern = (
        r"^```(\w*)$" if page.suffix == ".md" else r"^( *)\.\. (?:code-block:: *(\w+)|(plot)::)"
    )
    position = 0
    while position < len(lines):
        found = re.match(pattern, lines[position])
        start = position = position + 1
        if not found:
            continue
        if page.suffix == ".md":
            while lines[position] != "```":
                position += 1
            yield Block(found.group(1), "\n".join(lines[start:position]), start + 1)
            position += 1
            continue
        indent = len(found.group(1)) + 3
        while position < len(lines) and (
            not lines[position].strip() or lines[position].startswith(" " * indent)
        ):
            position += 1
        body = [line[indent:] for line in lines[start:position]]
        while body and (not body[0].strip() or re.match(r":[\w-]+:", body[0])):
            body.pop(0)
            start += 1
        language = "python" if found.group(3) else found.group(2)
        yield Block(language, "\n".join(body).rstrip() + "\n", start + 1)


def ids(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def close_figures() -> None:
    import matplotlib.pyplot as plt

    plt.close("all")


class RenewingRunner(doctest.DocTestRunner):
    """Note what examples print where it is not what the page says."""

    def __init__(self) -> None:
        super().__init__(optionflags=FLAGS)
        self.printed: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out, test, example, got) -> None:
        self.printed.append((example, got))
        super().report_failure(out, test, example, got)


def renew_block(
    lines: list[str], block: Block, printed: list[tuple[doctest.Example, str]]
) -> None:
    """Put what was printed in the place of what was expected, the last example first."""
    for example, got in reversed(printed):
        start = block.line - 1 + example.lineno + example.source.count("\n")
        indent = re.match(" *", lines[start - 1])[0]
        new = [indent + (line or "<BLANKLINE>").rstrip() for line in got.rstrip().split("\n")]
        lines[start : start + example.want.count("\n")] = new


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_code_of_the_manual_runs(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(folder)
    failed: list[tuple[Block, RenewingRunner, str]] = []
    if page.suffix == ".md":  # the manual takes few by itself
        monkeypatch.setattr(datasets, "load_digits", few_digits)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language not in ("python", "pycon"):
            continue
        if block.text.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(
                block.text, names, page.name, str(page), block.line
            )
            said: list[str] = []
            runner = RenewingRunner()
            runner.run(test, out=said.append, clear_globs=False)
            if runner.printed:
                failed.append((block, runner, "".join(said)))
            names.update(test.globs)
        else:
            # A cluster of threads is there at once, and its workers know this process's modules.
            options = "processes=False, dashboard_address=':0', "
            text = block.text.replace("LocalCluster(", f"LocalCluster({options}")
            exec(compile(text, f"{page.name}:{block.line}", "exec"), names)
    if "client" in names:
        names["client"].close()
        names["client"].cluster.close()
    close_figures()
    if failed and request.config.getoption("--renew"):
        lines = page.read_text(encoding="utf-8").splitlines()
        for block, runner, _ in reversed(failed):
            renew_block(lines, block, runner.printed)
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert not failed, "".join(said for _, _, said in failed)


def commands() -> list[tuple[Path, str]]:
    return [
        (page, line.removeprefix("$ "))
        for page in PAGES
        for block in blocks(page)
        if block.language == "console"
        for line in block.text.splitlines()
        if line.startswith("$ ")
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands of the manual find the tables that they name."""
    home = tmp_path_factory.mktemp("commands")
    frame = datasets.load_iris(as_frame=True).data
    frame.columns = [name.replace(" (cm)", "").replace(" ", "_") for name in frame.columns]
    frame.to_csv(home / "table.csv", index=False)
    classes = datasets.load_iris().target
    frame.assign(**{"class": classes}).to_csv(home / "labelled.csv", index=False)
    for view in ("petal", "sepal"):
        chosen = [name for name in frame.columns if name.startswith(view)]
        frame[chosen].to_csv(home / f"{view}.csv", index=False)
    points = datasets.make_blobs(400, 5, centers=20, random_state=0)[0].astype(np.float32)
    np.save(home / "points.npy", points)
    np.save(home / "more.npy", points)
    np.save(home / "embeddings.npy", points)
    documents = "".join(f"words {number % 20}\n" for number in range(len(points)))
    (home / "documents.txt").write_text(documents, encoding="utf-8")
    pairs = ((a, b) for a in range(40) for b in range(a) if a % 2 == b % 2 and (a + b) % 6)
    ties = "".join(f"n{a},n{b}\n" for a, b in pairs)
    (home / "ties.csv").write_text("source,target\n" + ties + "n0,n1\n", encoding="utf-8")
    customers = make_customers()[0]
    customers.to_csv(home / "customers.csv", index=False)
    customers[:60].to_csv(home / "march.csv", index=False)
    pd.DataFrame(points, columns=list("abcde")).to_parquet(home / "points.parquet")
    zarr.save_array(home / "points.zarr", points)
    return home


def test_commands_of_the_manual_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from unispectral.cli._app import run

    monkeypatch.chdir(folder)
    monkeypatch.setattr(datasets, "load_digits", few_digits)
    done = set()
    for page, command in commands():
        program, *arguments = shlex.split(command)
        if program == "unispectral" and command not in done:
            assert run(arguments) == 0, f"{page.name}: {command}\n{capsys.readouterr().err}"
            done.add(command)
    assert any(" cluster " in command for command in done)
    assert {"labels.csv", "new_labels.csv", "page.html"} <= {p.name for p in folder.iterdir()}
    close_figures()


def test_the_page_on_tables_shows_real_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from unispectral.cli._app import run

    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "96")
    page = ROOT / "docs" / "your_table.rst"
    shown = 0
    for block in blocks(page):
        if block.language != "console":
            continue
        command, *lines = block.text.splitlines()
        assert run(shlex.split(command)[2:]) == 0
        said = capsys.readouterr()
        real = {line.strip() for line in (said.out + said.err).splitlines()}
        for line in filter(None, map(str.strip, lines)):
            assert line in real, line
            shown += 1
    assert shown > 10


def test_targets_and_extras_of_the_manual_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"`make ([a-z-]+)`|^\$ make ([a-z-]+)", text, re.M):
            assert max(target) in targets, f"{page.name}: make {max(target)}"
        for listed in re.findall(r"\.\[([\w,]+)\]", text):
            assert set(listed.split(",")) <= set(extras), f"{page.name}: {listed}"


def test_names_of_the_manual_can_be_imported() -> None:
    pattern = re.compile(r":(?:func|class|meth|mod|data|attr):`(?:[^`<]*<)?~?([\w.]+)>?`")
    seen = 0
    for page in PAGES:
        for name in pattern.findall(page.read_text(encoding="utf-8")):
            if name.startswith("unispectral"):
                assert _found(name), f"{page.name}: {name}"
                seen += 1
    assert seen > 50


def _found(name: str) -> bool:
    """Whether a dotted name is a module or something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        home = ".".join(parts[:cut])
        try:
            value = importlib.import_module(home)
        except ImportError:
            continue
        for part in parts[cut:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


def test_public_names_are_in_the_reference() -> None:
    pages = sorted((DOCS / "api").glob("*.rst"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    listed = set(re.findall(r"^   ([\w.]+)$", text, re.M))
    assert set(unispectral.__all__) - {"__version__"} <= listed
    rooms = ("kernels", "metrics", "model_selection", "plotting", "baselines", "persistence",
             "labelfree", "paper", "dask")  # fmt: skip
    for room in rooms:
        module = importlib.import_module(f"unispectral.{room}")
        for name in module.__all__:
            if callable(getattr(module, name)) and name != "Kernel":
                assert {name, f"{room}.{name}"} & listed, f"{room}.{name}"


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = {"index"}
    for page in DOCS.rglob("*.rst"):
        if {"_build", "generated", "gallery"} & set(page.relative_to(DOCS).parts):
            continue
        for block in re.findall(r"toctree::\n((?:   .*\n|\n)*)", page.read_text() + "\n"):
            here = page.parent.relative_to(DOCS)
            for line in block.splitlines():
                if line[3:4].strip():
                    titled = re.search(r"<(.+)>", line)
                    listed.add(str(here / (titled.group(1) if titled else line.strip())))
    for page in (*DOCS.glob("*.rst"), *DOCS.glob("methods/*.rst"), *DOCS.glob("api/*.rst")):
        assert str(page.relative_to(DOCS).with_suffix("")) in listed, page


def test_equations_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    convert = importlib.import_module("mathml").convert
    for page in PAGES[2:]:
        text = page.read_text(encoding="utf-8")
        shown = re.findall(r"\.\. math::\n((?:   .*\n|\n)+)", text)
        for equation in [*shown, *re.findall(r":math:`([^`]+)`", text)]:
            drawn = convert(re.sub(r":label:.*", "", equation).strip(), block=True)
            assert "\\" not in drawn, f"{page.name}: {equation}"


def test_cells_of_several_lines_are_shown_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docutils")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    table = importlib.import_module("results").table
    shown = table(["| Data | KKM |", "|---|---|", "| YALE | **47.12**<br>50.00 |"])
    assert "<br>" not in shown.astext()
    assert str(shown).count("<line>") == 2


def test_emphasis_and_escaped_marks_of_markdown_are_shown_as_such(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = pytest.importorskip("docutils.nodes")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    results = importlib.import_module("results")
    shown = list(results.inline(r"*ARI*, my\_name, 2 * 3 * 4, \[0, 1\] &lt; a*b*"))
    assert "".join(node.astext() for node in shown) == "ARI, my_name, 2 * 3 * 4, [0, 1] < a*b*"
    assert [node.astext() for node in shown if isinstance(node, nodes.emphasis)] == ["ARI"]
    assert results.cells(r"| a \| b | c |") == [r"a \| b", "c"]


def load(script: str) -> Any:
    spec = importlib.util.spec_from_file_location(script, DOCS / f"{script}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_results_that_the_readme_links_to_are_in_the_manual() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"docs/results/(\w+\.md)", text))
    shown = (DOCS / "results.rst").read_text(encoding="utf-8")
    assert named
    assert set(re.findall(r"results:: (\S+)", shown)) >= named
    assert "|---" not in text, "a table belongs into the manual, where a command wrote it"


def test_readme_is_short_and_its_links_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) < 600
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            # The pages of a workflow lie beside the files, where GitHub shows the README.
            path = re.sub(r"^\.\./\.\./actions/(.*\.yml)(/badge\.svg)?$", r".github/\1", target)
            assert path.startswith("https://") or (ROOT / path).exists(), target


def test_the_answer_of_the_readme_is_right() -> None:
    """The example is run, and the figure that the text gives is counted."""
    page = ROOT / "README.md"
    code = next(block for block in blocks(page) if block.language == "python")
    assert len(code.text.splitlines()) == 4
    names: dict[str, Any] = {}
    exec(code.text, names)
    right, total = map(int, re.findall(r"(\d+) of (\d+) wines", page.read_text("utf-8"))[0])
    share = clustering_accuracy(names["grower"], names["labels"])
    assert (round(share * total), len(names["labels"])) == (right, total)


def test_page_on_the_code_names_what_is_there() -> None:
    """Every file and folder of the package has its line, and every folder its box."""
    text = (DOCS / "house.rst").read_text(encoding="utf-8")
    listed = re.search(r"rooms begin(.*)rooms end", text, re.S)
    assert listed
    named = re.findall(r"^   \* - ``([\w./]+)``$", listed.group(1), re.M)
    home = Path(unispectral.__path__[0])
    there = [path.name for path in home.glob("*.py")]
    there += [f"{path.parent.name}/" for path in home.glob("*/__init__.py")]
    assert sorted(named) == sorted(there)
    picture = (DOCS / "house.svg").read_text(encoding="utf-8")
    boxes = " ".join(re.findall(r'class="name"[^>]*>([^<]+)<', picture))
    drawn = set(re.findall(r"\w+(?:/|\.py)", boxes))
    assert {name for name in there if name.endswith("/")} <= drawn <= set(there)
    for line in re.findall(r"``(\w+/\w+\.py)``", text):
        assert (home / line).is_file(), line


def test_page_on_the_code_lists_the_steps_of_the_label_free_model() -> None:
    text = (DOCS / "house.rst").read_text(encoding="utf-8")
    listed = re.search(r"steps begin(.*)steps end", text, re.S)
    assert listed
    named = re.findall(r"^   \* - ``([\w.]+)``$", listed.group(1), re.M)
    home = Path(unispectral.__path__[0]) / "labelfree"
    assert sorted(named) == sorted(path.name for path in home.glob("*.py"))


def test_objects_that_travel_are_where_the_page_says() -> None:
    text = (DOCS / "house.rst").read_text(encoding="utf-8")
    rows = re.findall(r"^   \* - ``([A-Z]\w+)``\n     - ``([\w/.]+)\.py``", text, re.M)
    assert len(rows) == 10
    for name, place in rows:
        module = importlib.import_module(f"unispectral.{place.replace('/', '.')}")
        assert getattr(module, name).__module__ == module.__name__


def few_digits(**options: Any) -> Any:
    """scikit-learn's digits, the first few of them."""
    X, y = ALL_DIGITS(return_X_y=True)
    X, y = X[:FEW], y[:FEW]
    if options.get("return_X_y"):
        return X, y
    names = [f"pixel_{i}" for i in range(64)]
    images = X.reshape(-1, 8, 8)
    return Bunch(
        data=X, target=y, images=images, feature_names=names, target_names=list(range(10))
    )


@contextmanager
def few_samples() -> Iterator[None]:
    """A warning about few samples is no fault of an example that has more."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Graph is not fully connected", UserWarning)
        yield


@pytest.mark.parametrize("example", EXAMPLES, ids=ids(EXAMPLES))
def test_examples_run(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = example.read_text(encoding="utf-8")
    assert "fetch" not in text, "the gallery is built without a network"
    monkeypatch.setattr(datasets, "load_digits", few_digits)
    monkeypatch.setattr("unispectral.datasets._digits.load_digits", few_digits)
    text = text.replace("N = 20_000", "N = 600").replace("n = 400\n", "n = 200\n")
    with few_samples():
        exec(compile(text, example.name, "exec"), {"__name__": "__main__"})
    close_figures()


def test_pictures_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("make_readme_picture")
    monkeypatch.setattr(module, "TABLES", {"wine": module.TABLES["wine"]})
    with few_samples():
        module.hero(tmp_path / "readme.png")
        module.shapes(tmp_path / "shapes.png")
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("readme.png", "shapes.png"):
        for picture in (tmp_path / name, DOCS / "_static" / name):
            assert 5_000 < picture.stat().st_size < 200_000
        assert f"docs/_static/{name}" in shown
    close_figures()


def test_clusters_of_the_readme_need_not_be_round() -> None:
    """The shapes of the picture are told apart, which the picture says of them."""
    names: dict[str, Any] = {}
    example = (ROOT / "examples" / "plot_05_shapes.py").read_text(encoding="utf-8")
    exec(compile(example.partition("# %%")[0], "shapes", "exec"), names)
    n = names["n"]
    classes = {
        "crescents": datasets.make_moons(n, noise=0.06, random_state=0)[1],
        "rings": datasets.make_circles(n, noise=0.04, factor=0.5, random_state=0)[1],
        "stretched": datasets.make_blobs(n, random_state=170)[1],
        "spirals": np.repeat([0, 1], n // 2),
    }
    assert classes.keys() == names["shapes"].keys()
    for shape, (X, k) in names["shapes"].items():
        labels = names["methods"](k)["unispectral"].fit_predict((X - X.mean(0)) / X.std(0))
        assert clustering_accuracy(classes[shape], labels) >= 0.99, shape


MODULES = sorted(
    name for _, name, _ in pkgutil.walk_packages(unispectral.__path__, "unispectral.")
    if not name.endswith("__main__")
)  # fmt: skip


@pytest.mark.parametrize("room", sorted({name.split(".")[1] for name in MODULES}))
def test_examples_of_docstrings_run(
    room: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in MODULES:
        if name.split(".")[1] != room:
            continue
        module = importlib.import_module(name)
        finder = doctest.DocTestFinder(exclude_empty=True)
        for test in finder.find(module, name):
            said: list[str] = []
            runner = doctest.DocTestRunner(optionflags=FLAGS)
            result = runner.run(test, out=said.append)
            assert result.failed == 0, "".join(said)
    close_figures()
