"""The page, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from robustness import browser as helper

from unispectral.bench import (
    Column,
    Results,
    Store,
    Study,
    StudyDataset,
    StudyMethod,
    write_report,
)
from unispectral.bench.report import _page_data
from unispectral.report._page import asset, build_page

XSS = (
    "<script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "</script><script>window.hacked=1</script>",
    "<!--<script>",
    "javascript:window.hacked=1",
    "{{7*7}}{data}{policy}",
    "\u2028window.hacked=1//",
    "'-window.hacked++-'",
)


pytestmark = [pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with helper.chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def page(tiny: Study, ran: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with Store(ran, readonly=True) as store:
        study, command = store.load_study()
        path = tmp_path_factory.mktemp("page") / "report.html"
        return write_report(Results(study, store), path, command=command)


def rows(browser: Any) -> list[str]:
    return helper.texts(browser, "#table tbody th")


def values(browser: Any, column: int) -> list[str]:
    return helper.texts(browser, f"#table tbody td:nth-child({column}) .value")


def choose(browser: Any, name: str, value: str) -> None:
    helper.click(browser, f"input[name={name}][value='{value}']")


def text(browser: Any, css: str) -> str:
    return helper.texts(browser, css)[0]


def attribute(browser: Any, css: str, name: str) -> str | None:
    script = "return document.querySelector(arguments[0]).getAttribute(arguments[1])"
    return browser.execute_script(script, css, name)


@pytest.mark.browser
def test_sorting_and_switching(browser: Any, page: Path) -> None:
    helper.show(browser, page)
    assert attribute(browser, "html", "data-ready") == "yes"
    choose(browser, "protocol", "paper")
    assert rows(browser) == ["k-means", "SC", "SC-m", "agglomerative"]
    header = helper.texts(browser, "#table thead button")
    iris = next(i for i, title in enumerate(header) if title.startswith("iris"))
    helper.click(browser, "#table thead button", iris)
    falling = [float(v) for v in values(browser, iris + 1)]
    assert falling == sorted(falling, reverse=True)
    helper.click(browser, "#table thead button", iris)
    assert [float(v) for v in values(browser, iris + 1)] == sorted(falling)
    assert attribute(browser, "#table th[aria-sort]", "aria-sort") == "ascending"

    accuracy = values(browser, iris + 1)
    choose(browser, "metric", "nmi")
    assert values(browser, iris + 1) != accuracy
    choose(browser, "metric", "accuracy")
    choose(browser, "protocol", "label-free")
    assert rows(browser) == ["k-means", "broken"]
    assert text(browser, "#protocol-text").startswith("label-free: Defaults only")
    assert helper.console(browser) == []


@pytest.mark.browser
def test_opens_on_what_a_user_gets_and_keeps_the_focus(browser: Any, page: Path) -> None:
    helper.show(browser, page)
    assert attribute(browser, "input[name=protocol]:checked", "value") == "label-free"
    assert rows(browser) == ["k-means", "broken"]
    for _ in range(2):
        helper.click(browser, "#table thead button", 3)
        held = browser.execute_script("return document.activeElement.dataset.key")
        assert held == "0"


@pytest.mark.browser
def test_heading_adds_up(browser: Any, page: Path, ran: Path) -> None:
    helper.show(browser, page)
    script = (
        "return [...document.querySelectorAll('.tile')]"
        ".map(tile => [...tile.children].map(child => child.textContent))"
    )
    said = {label: value.replace("\u202f", "") for label, value in browser.execute_script(script)}
    with Store(ran, readonly=True) as store:
        study, _ = store.load_study()
        results = Results(study, store)
    total = len({cell.key for cell in results.cells})
    assert int(said["data sets"]) == len(study.datasets)
    assert int(said["methods"]) == len(study.methods)
    done = int(said[f"of {total} fits done"])
    assert done + int(said["failed"]) + int(said["not yet run"]) == total
    assert int(said["failed"]) == len(results.failures()) > 0
    assert " UTC" in text(browser, "#made")
    assert "U C" not in text(browser, "#made")


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["PNG", "SVG", "CSV"])
def test_figures_can_be_taken_away(browser: Any, page: Path, kind: str) -> None:
    helper.show(browser, page)
    choose(browser, "protocol", "paper")
    for place in ("#time-picture", "#ranks-picture", "#surfaces-pictures"):
        helper.check_taken(helper.taken(browser, place, kind), kind)
    assert helper.console(browser) == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [1200, 360])
def test_names_beside_points_hide_no_other(
    browser: Any, tiny: Study, ran: Path, tmp_path: Path, width: int
) -> None:
    """However near the points are, and however long the titles of data sets."""
    long = replace(tiny, datasets=[replace(d, title=d.name * 12) for d in tiny.datasets])
    with Store(ran, readonly=True) as store:
        data = _page_data(Results(long, store), "")
    for row in data["figures"]["paper"]["accuracy"]:
        for number, figure in enumerate(row):
            figure.update(value=60.0 - number / 5, seconds=1.0 + number / 20)
    page = build_page("Near", data, asset("study.css"), asset("study.js"))
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    helper.set_width(browser, width)
    helper.show(browser, tmp_path / "page.html")
    choose(browser, "protocol", "paper")
    script = """const box = css => [...document.querySelectorAll('#time-picture ' + css)]
        .map(node => node.getBoundingClientRect());
      const apart = (a, b) => a.right <= b.left || b.right <= a.left
        || a.bottom - 3 <= b.top || b.bottom - 3 <= a.top;
      const names = box('text.halo'), points = box('circle');
      return [names.length, names.every((a, i) => points.every(b => apart(a, b))
        && names.every((b, j) => i === j || apart(a, b)))];"""
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(script) == [4, True]


@pytest.mark.browser
def test_ten_columns_fit_into_1400_pixels(browser: Any, tmp_path: Path) -> None:
    study = Study.load("paper")
    with Store(tmp_path / "r.jsonl") as store:
        for number, cell in enumerate(study.cells()):
            if cell.repeat == 0:
                scores = dict.fromkeys(study.metrics, 0.5 + number % 40 / 100)
                store.put(cell, {"status": "done", "scores": scores, "seconds": 0.1})
        path = write_report(Results(study, store), tmp_path / "page.html")
    helper.set_width(browser, 1400)
    helper.show(browser, path)
    assert len(study.datasets) == 10
    for protocol in ("label-free", "paper"):
        choose(browser, "protocol", protocol)
        room, needed = browser.execute_script(
            "const box = document.querySelector('#figures .scroll');"
            "return [box.clientWidth, box.scrollWidth]"
        )
        assert needed <= room, protocol
    helper.set_width(browser, 1280)


@pytest.mark.browser
def test_text_has_contrast(browser: Any, page: Path) -> None:
    for theme in ("light", "dark"):
        helper.set_theme(browser, theme)
        helper.show(browser, page)
        assert helper.poor_contrast(browser) == []
    helper.set_theme(browser, "light")


@pytest.mark.browser
def test_figures_open_and_close(browser: Any, page: Path) -> None:
    helper.show(browser, page)
    choose(browser, "protocol", "paper")
    helper.click(browser, "#table tbody tr:nth-child(2) button.figure")
    assert attribute(browser, "#cell", "open") is not None
    said = text(browser, "#cell")
    assert "SC on iris" in said
    assert "mean of the repeats" not in said  # it has one repeat
    assert "best kernel" in said
    assert "gaussian_0.1" in said
    helper.click(browser, "#cell .close")
    assert attribute(browser, "#cell", "open") is None
    assert helper.console(browser) == []


@pytest.mark.browser
def test_figures_of_the_page_are_those_of_the_store(
    browser: Any, page: Path, tiny: Study, ran: Path
) -> None:
    helper.show(browser, page)
    choose(browser, "protocol", "paper")
    with Store(ran, readonly=True) as store:
        study, _ = store.load_study()
        table = Results(study, store).table("paper", "accuracy")
    for place, dataset in enumerate(study.datasets):
        expected = ["–" if f.value is None else f"{f.value:.2f}" for f in table.rows[dataset.name]]
        assert values(browser, place + 4) == expected


@pytest.mark.browser
def test_pictures_failures_and_provenance(browser: Any, page: Path) -> None:
    helper.show(browser, page)
    choose(browser, "protocol", "paper")
    for css in ("#ranks-picture circle", "#time-picture circle", "#surfaces-pictures rect"):
        assert browser.execute_script("return document.querySelector(arguments[0])", css), css
    failures = text(browser, "#failure-table")
    assert "broken" in failures
    assert "InvalidParameterError" in failures
    made = text(browser, "#made")
    assert "unispectral bench --study tiny.toml" in made
    assert "scikit-learn" in made
    assert helper.console(browser) == []


@pytest.mark.browser
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (1280, "dark"), (400, "light")])
def test_nothing_sticks_out(browser: Any, page: Path, width: int, theme: str) -> None:
    helper.set_theme(browser, theme)
    helper.set_width(browser, width)
    helper.show(browser, page)
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    bright = sum(int(n) for n in re.findall(r"\d+", colour)[:3]) / 3
    assert (bright < 80) == (theme == "dark")
    helper.set_width(browser, 1280)


@pytest.mark.browser
def test_print_has_all_metrics(browser: Any, page: Path) -> None:
    helper.show(browser, page)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    titles = helper.texts(browser, "#printed h3")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert titles == ["Accuracy", "NMI", "Purity"]


def hostile(tmp_path: Path) -> Path:
    """A page on which every text that a user can choose is an attack."""
    methods = [
        StudyMethod(
            f"{name}{i}"[:70],
            "sklearn.cluster.KMeans",
            title=name,
            grid={"algorithm": [name, "lloyd"], "init": ["random"]},
            columns=(Column(f"{name}{i}"[:70], ("label-free", "paper")),),
        )
        for i, name in enumerate(XSS)
        if "\u2028" not in name
    ]
    datasets = [StudyDataset("iris", title=XSS[0]), StudyDataset("wine", title=XSS[1])]
    study = Study("hostile", datasets, methods, title=XSS[2], about=" ".join(XSS))
    with Store(tmp_path / "r.jsonl") as store:
        for number, cell in enumerate(study.cells()):
            attack = XSS[number % len(XSS)]
            if number % 3:
                scores = {"accuracy": 0.5, "nmi": 0.5, "purity": number / 100}
                answer = {"status": "done", "scores": scores, "seconds": 0.1}
            else:
                answer = {"status": "error", "reason": attack}
            store.put(cell, answer)
        return write_report(Results(study, store), tmp_path / "page.html", command=XSS[0])


@pytest.mark.browser
def test_hostile_names_do_nothing(browser: Any, tmp_path: Path) -> None:
    helper.show(browser, hostile(tmp_path))
    assert attribute(browser, "html", "data-ready") == "yes"
    for protocol in ("label-free", "paper"):
        choose(browser, "protocol", protocol)
        helper.click(browser, "button.figure")
        helper.click(browser, ".close")
    assert browser.execute_script("return window.hacked === undefined")
    assert browser.execute_script("return document.querySelectorAll('main img').length") == 0
    assert XSS[0] in text(browser, "#table")
    assert text(browser, "#title") == XSS[2]
    assert helper.console(browser) == []


def test_page_stands_alone(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"\{(?:policy|title|style|data|script|version)\}", text)
    assert len(text) < 2_000_000
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?!data:)[a-z]", text.split("<script>")[0])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'")
    assert "unsafe" not in policy[1]


def test_data_cannot_leave_their_element(tmp_path: Path) -> None:
    text = hostile(tmp_path).read_text(encoding="utf-8")
    body = text.split('id="data">')[1].split("</script>")[0]
    assert "<" not in body
    assert json.loads(body)["title"] == XSS[2]
    assert text.count("</script>") == 2


def test_empty_study_has_a_page(tmp_path: Path) -> None:
    study = Study("none", ["iris"], [StudyMethod("m", "sklearn.cluster.KMeans")])
    with Store(tmp_path / "r.jsonl") as store:
        page = write_report(Results(study, store), tmp_path / "page.html")
    assert "of 1 fits done" in page.read_text(encoding="utf-8")
