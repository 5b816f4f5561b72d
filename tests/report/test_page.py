"""The page in a real browser: it works, it is quiet, and hostile data do nothing."""

from __future__ import annotations

import base64
import csv
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from robustness import browser as browser_tools
from sklearn.datasets import load_digits, make_blobs

from unispectral import UnifiedSpectralClustering
from unispectral.report import write_report

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

HOSTILE = [
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<svg/onload=window.hacked=1>",
    '"><svg onload="window.hacked=1">',
    "javascript:window.hacked=1",
    "'-window.hacked=1-'",
    "${window.hacked=1}",
    "{{constructor.constructor('window.hacked=1')()}}",
    "<!--<script>window.hacked=1</script>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'>",
    "<math><mtext></table><mglyph><style><img src=x onerror=window.hacked=1>",
    "__proto__",
    "constructor",
    "\u202eevil\u2028\u2029\x00\x1b",
    "<style>*{display:none}</style>",
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with browser_tools.chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def fitted():
    X, y = make_blobs(
        120, n_features=len(HOSTILE), centers=4, cluster_std=1.5, center_box=(0, 6), random_state=1
    )
    return X, y, UnifiedSpectralClustering(4).fit(X)


@pytest.fixture(scope="module")
def page(tmp_path_factory, fitted):
    X, y, model = fitted
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_report(path, model, X, names=[f"person {i}" for i in range(120)], truth=y, title="A fit")
    return path


def show(browser, path, *, width=1200, theme="light"):
    browser_tools.set_theme(browser, theme)
    browser_tools.set_width(browser, width)
    browser_tools.console(browser)  # what earlier pages said
    browser_tools.show(browser, path)


def ask(browser, script, *arguments):
    return browser.execute_script(f"return {script}", *arguments)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_page_is_whole_and_quiet(browser, page, width, theme):
    show(browser, page, width=width, theme=theme)
    assert ask(browser, "document.querySelector('h1').textContent") == "A fit"
    sections = ask(browser, "[...document.querySelectorAll('section')].map(s => s.id)")
    assert {
        "answer",
        "map",
        "levels",
        "graph",
        "heat",
        "clusters",
        "spectrum",
        "members",
        "redo",
    } <= set(sections)
    assert sections[0] == "answer"
    assert ask(browser, "document.documentElement.dataset.theme") == theme
    assert ask(browser, "document.documentElement.scrollWidth") <= width
    assert ask(browser, "document.querySelectorAll('.cluster').length") == 4
    assert browser_tools.console(browser) == []
    requests = ask(browser, "performance.getEntriesByType('resource').length")
    assert requests == 0


def test_map_and_matrix_are_drawn(browser, page):
    show(browser, page)
    script = """[...document.querySelectorAll('.map canvas, canvas.matrix')].map(canvas => {
      const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set();
      for (let p = 0; p < data.length; p += 4) if (data[p + 3] > 200)
        seen.add((data[p] << 16) + (data[p + 1] << 8) + data[p + 2]);
      return seen.size;
    })"""
    assert min(ask(browser, script)) > 4


def test_table_is_searched_sorted_and_paged(browser, page):
    show(browser, page)
    rows = "[...document.querySelectorAll('#members-table tbody tr')]"
    names = f"{rows}.map(row => row.cells[0].textContent)"
    assert len(ask(browser, names)) == 25
    browser.execute_script(
        "const box = document.querySelector('#members-table input');"
        "box.value = 'PERSON 11'; box.dispatchEvent(new Event('input'))"
    )
    assert ask(browser, names) == ["person 11", *[f"person 11{i}" for i in range(10)]]
    browser.execute_script(
        "const box = document.querySelector('#members-table input');"
        "box.value = ''; box.dispatchEvent(new Event('input'));"
        "document.querySelectorAll('#members-table th button')[0].click();"
        "document.querySelectorAll('#members-table th button')[0].click();"
    )
    assert ask(browser, names)[:2] == ["person 119", "person 118"]
    browser.execute_script("document.querySelectorAll('#members-table .pager button')[1].click()")
    assert ask(browser, names)[0] == "person 94"
    assert ask(browser, "document.querySelector('.where').textContent") == "26–50 of 120"


def test_choosing_a_cluster_filters_the_table(browser, page, fitted):
    show(browser, page)
    browser.execute_script("document.querySelectorAll('.legend button')[2].click()")
    size = int((fitted[2].labels_ == 2).sum())
    rows = ask(browser, "document.querySelector('.where')?.textContent || ''")
    assert rows.endswith(f" of {size}")
    pressed = "document.querySelectorAll('.legend button')[2].getAttribute('aria-pressed')"
    assert ask(browser, pressed) == "true"
    browser.execute_script("document.querySelector('.chosen button').click()")
    assert ask(browser, "document.querySelector('.where').textContent").endswith(" of 120")
    assert ask(browser, pressed) == "false"


def test_search_says_which_filter_hides_the_rest(browser, page, fitted):
    show(browser, page)
    browser.execute_script(
        "document.querySelectorAll('.legend button')[2].click();"
        "const box = document.querySelector('#members-table input');"
        "box.value = 'person'; box.dispatchEvent(new Event('input'))"
    )
    size = int((fitted[2].labels_ == 2).sum())
    hint = "document.querySelector('#members-table .hint').textContent"
    said = f"“person” is found {120 - size} more times, hidden by the filter “Cluster 2”."
    assert ask(browser, hint).startswith(said)
    browser.execute_script("document.querySelector('#members-table .hint button').click()")
    assert ask(browser, hint) == "120 of 120 found."


def test_focus_stays_on_the_heading_that_sorts(browser, page):
    show(browser, page)
    from selenium.webdriver.common.keys import Keys

    browser.execute_script("document.querySelectorAll('#members-table th button')[1].focus()")
    for _ in range(2):
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        held = ask(browser, "document.activeElement.textContent")
        assert held == "Row"
        assert ask(browser, "document.activeElement.closest('th').hasAttribute('aria-sort')")


def test_sizes_are_reached_by_keyboard(browser, page):
    show(browser, page)
    from selenium.webdriver.common.keys import Keys

    browser.execute_script("document.querySelector('.answers .number').focus()")
    browser.switch_to.active_element.send_keys(Keys.TAB, Keys.TAB)
    assert ask(browser, "document.activeElement.textContent") == "1"
    assert ask(browser, "getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    chosen = "[...document.querySelectorAll('.legend button')].map(n => n.ariaPressed)"
    assert ask(browser, chosen) == ["false", "true", "false", "false"]
    lefts = (
        "[...document.querySelectorAll('.answers .share')].map(n => n.getBoundingClientRect().x)"
    )
    assert len(set(ask(browser, lefts))) == 1


def test_ticks_leave_room_for_the_name_of_the_axis(browser, page):
    show(browser, page)
    script = """
      const chart = UI.line({series: [{values: [1e-13, 6e-13, 8e-13]}], xlabel: "x", ylabel: "y"});
      UI.main.append(chart);
      const texts = [...chart.querySelectorAll("text")], name = texts.at(-1);
      const right = name.getBoundingClientRect().right;
      return texts.filter(text => text.getAttribute("text-anchor") === "end")
        .map(text => [text.textContent, text.getBoundingClientRect().left - right]);"""
    ticks = browser.execute_script(script)
    assert "2.00e−13" in dict(ticks)
    assert min(gap for _, gap in ticks) > 0


@pytest.mark.parametrize("width", [360, 500])
def test_long_names_do_not_widen_the_page(browser, tmp_path, width):
    X, y = make_blobs(60, n_features=3, centers=3, random_state=0)
    long = ["the name of a column that goes on and on " * 3, "without_a_space_" * 9, "c"]
    truth = np.array(long)[y]
    model = UnifiedSpectralClustering(3).fit(X)
    write_report(tmp_path / "page.html", model, X, columns=long, truth=truth, names=truth)
    show(browser, tmp_path / "page.html", width=width)
    assert ask(browser, "document.documentElement.scrollWidth") <= width


COLOURS = """(() => {
  const canvas = document.querySelector('.map canvas');
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const seen = {};
  for (let p = 0; p < data.length; p += 4) if (data[p + 3] > 215) {
    const key = [data[p], data[p + 1], data[p + 2]].join();
    seen[key] = (seen[key] || 0) + 1;
  }
  return Object.entries(seen).sort((a, b) => b[1] - a[1]).slice(0, 12).map(e => e[0]).sort();
})()"""


def own_console(browser):
    """Without Chromium's remark about our reading the canvas."""
    return [line for line in browser_tools.console(browser) if "readback" not in line]


def test_map_is_coloured_by_clusters_classes_and_columns(browser, page):
    show(browser, page)
    names = ask(
        browser, "[...document.querySelectorAll('#colour-by option')].map(o => o.textContent)"
    )
    assert names[:2] == ["cluster", "known class"]
    assert len(names) == 2 + len(HOSTILE)
    seen = []
    for value in ("0", "1", "2", "0"):
        browser.execute_script(
            "const pick = document.getElementById('colour-by');"
            "pick.value = arguments[0]; pick.dispatchEvent(new Event('change'))",
            value,
        )
        seen.append(ask(browser, COLOURS))
    assert seen[0] == seen[3] != seen[2]
    browser.execute_script(
        "const pick = document.getElementById('colour-by');"
        "pick.value = 1; pick.dispatchEvent(new Event('change'))"
    )
    assert ask(browser, "document.querySelectorAll('.scale span.dot').length") == 4
    assert own_console(browser) == []


@pytest.mark.parametrize("k", [3, 12, 30])
def test_names_on_the_map_stand_at_their_clusters(browser, tmp_path, k):
    """Whatever strays from a cluster, and none on another."""
    rng = np.random.default_rng(0)
    centres = np.array([(c % 6, c // 6) for c in range(k)]) * 10.0
    y = np.repeat(np.arange(k), 40)
    X = centres[y] + rng.normal(scale=0.8, size=(40 * k, 2))
    strays = np.arange(40 * k) % 40 < 8
    X[strays] = X[rng.permutation(40 * k)][strays] + rng.normal(size=(strays.sum(), 2))

    class Fitted:
        labels_ = y

    write_report(tmp_path / "page.html", Fitted(), X)
    for width in (1200, 390):
        show(browser, tmp_path / "page.html", width=width)
        art = ElementTree.fromstring(browser_tools.taken(browser, "#map", "SVG"))
        dots = [node for node in art.iter() if node.tag.endswith("circle")]
        names = [node for node in art.iter() if node.tag.endswith("text")]
        at = np.array([(float(dot.get("cx")), float(dot.get("cy"))) for dot in dots])
        colour = np.array([dot.get("fill") for dot in dots])
        colours = ask(browser, "JSON.parse(document.getElementById('data').textContent).colours")
        where = np.array([(float(name.get("x")), float(name.get("y")) - 4) for name in names])
        assert sorted(int(name.text) for name in names) == list(range(k))
        middles = np.array([np.median(at[colour == colours[int(n.text)]], axis=0) for n in names])
        apart = np.linalg.norm(where[:, None] - middles[None], axis=2)
        assert (apart.argmin(axis=1) == np.arange(k)).all()
        gaps = np.abs(where[:, None] - where[None]) + np.eye(k)[:, :, None] * 99
        assert ((gaps[..., 0] > 12) | (gaps[..., 1] > 12)).all()


def test_map_zooms(browser, page):
    show(browser, page)
    whole = ask(browser, COLOURS)
    for title, zoom in (
        ("Zoom in", 1.5),
        ("Zoom in", 2.25),
        ("Zoom out", 1.5),
        ("Show the whole map", 1),
    ):
        browser.execute_script(f"document.querySelector('[title=\"{title}\"]').click()")
        assert float(ask(browser, "document.querySelector('.map canvas').dataset.zoom")) == zoom
        assert (ask(browser, COLOURS) == whole) == (zoom == 1)
    browser.execute_script("document.querySelector('.map canvas').focus()")
    from selenium.webdriver.common.keys import Keys

    browser.switch_to.active_element.send_keys("+")
    assert float(ask(browser, "document.querySelector('.map canvas').dataset.zoom")) == 1.5
    browser.switch_to.active_element.send_keys(Keys.ARROW_LEFT, "0")
    assert ask(browser, COLOURS) == whole
    assert own_console(browser) == []


def test_heat_map_and_tree_show_the_data(browser, page, fitted):
    show(browser, page)
    X, _, model = fitted
    assert ask(browser, "document.querySelectorAll('#heat .scroll rect').length") == 4 * X.shape[1]
    merges = len(model.tree_.linkage)
    assert ask(browser, "document.querySelectorAll('#levels .branch').length") == 2 * merges
    browser.execute_script(
        "document.querySelectorAll('#heat .scroll text[role=button]')[1]"
        ".dispatchEvent(new Event('click'))"
    )
    title = ask(browser, "document.querySelector('#heat h3').textContent")
    data = ask(browser, "JSON.parse(document.getElementById('data').textContent).heat")
    assert title == f"{data['names'][1]} in each cluster"
    column = int(data["names"][1].removeprefix("column "))
    medians = [q[2] for q in data["quantiles"][1]]
    expected = [np.median(X[model.labels_ == k, column]) for k in range(4)]
    np.testing.assert_allclose(medians, expected, rtol=1e-3)
    assert ask(browser, "document.querySelectorAll('.values rect').length") == 4


@pytest.mark.parametrize("kind", ["PNG", "SVG", "CSV"])
def test_every_figure_can_be_taken_away(browser, page, kind):
    show(browser, page)
    places = ["map", "graph", "levels", "heat", "heat .values", "spectrum"]
    for place in places:
        browser_tools.check_taken(browser_tools.taken(browser, f"#{place}", kind), kind)
    lines = browser_tools.taken(browser, "#members", "CSV").decode("utf-8-sig").splitlines()
    assert len(lines) == 121
    assert lines[0].startswith("Name,Row,Cluster,Certainty")
    assert own_console(browser) == []


def test_exported_cells_are_no_formulas(browser, tmp_path, fitted):
    X, _, model = fitted
    names = ["=1+1", "@SUM(A1)", '-2,"3"'] * 40
    write_report(tmp_path / "page.html", model, X, names=names)
    show(browser, tmp_path / "page.html")
    lines = browser_tools.taken(browser, "#members", "CSV").decode("utf-8-sig").splitlines()
    found = [row[0] for row in csv.reader(lines[1:])]
    assert sorted(set(found)) == ['\'-2,"3"', "'=1+1", "'@SUM(A1)"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_contrast(browser, page, theme):
    show(browser, page, theme=theme)
    assert browser_tools.poor_contrast(browser) == []


def test_print_leaves_no_half_empty_pages(browser, page):
    """As many sheets as the printed height needs, and one more at most."""
    show(browser, page, width=702, theme="light")  # the width of A4 within its margins
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    height = ask(browser, "document.documentElement.scrollHeight")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    asked = {"printBackground": True, "paperWidth": 8.27, "paperHeight": 11.69}
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", asked)["data"])
    sheets = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert sheets <= int(np.ceil(height / 1032)) + 1  # 297 mm without 2 × 12 mm


def test_theme_button(browser, page):
    show(browser, page, theme="dark")
    before = ask(browser, "getComputedStyle(document.body).backgroundColor")
    browser.execute_script("document.getElementById('theme').click()")
    assert ask(browser, "document.documentElement.dataset.theme") == "light"
    assert ask(browser, "getComputedStyle(document.body).backgroundColor") != before
    assert ask(browser, "document.getElementById('theme').textContent") == "Dark"


def test_hostile_text_does_nothing(browser, tmp_path, fitted):
    X, _, model = fitted
    many = (HOSTILE * 8)[:120]
    write_report(
        tmp_path / "page.html",
        model,
        X,
        columns=HOSTILE,
        names=many,
        truth=np.array(many),
        title=HOSTILE[1],
        command=HOSTILE[3],
        notes=HOSTILE,
        warnings=HOSTILE,
        reading=[{"view": HOSTILE[0], "source": HOSTILE[1], "options": {"id": HOSTILE[2]}}],
    )
    show(browser, tmp_path / "page.html")
    browser.execute_script(
        "document.querySelectorAll('.legend button')[1].click();"
        "document.querySelectorAll('th button').forEach(button => button.click());"
        "const box = document.querySelector('#members-table input');"
        "box.value = '<script>'; box.dispatchEvent(new Event('input'))"
    )
    assert ask(browser, "window.hacked") is None
    assert ask(browser, "document.querySelector('h1').textContent") == HOSTILE[1]
    assert ask(browser, "document.title").startswith(HOSTILE[1])
    assert ask(browser, "document.querySelectorAll('img, iframe, math').length") == 0
    assert ask(browser, "document.querySelectorAll('script').length") == 2
    assert ask(browser, "document.querySelectorAll('style').length") == 1
    assert browser_tools.console(browser) == []


def test_policy_blocks_what_is_not_ours(browser, page):
    show(browser, page)
    browser.execute_script(
        "const node = document.createElement('script');"
        "node.textContent = 'window.hacked = 1'; document.body.append(node);"
        "const frame = document.createElement('div');"
        "frame.innerHTML = '<img src=x onerror=\"window.hacked=1\">'; document.body.append(frame);"
    )
    assert ask(browser, "window.hacked") is None
    blocked = browser_tools.console(browser)
    assert any("Content Security Policy" in line for line in blocked)


def test_pictures_are_shown(browser, tmp_path):
    digits = load_digits(n_class=3)
    model = UnifiedSpectralClustering(3).fit(digits.data[:200])
    write_report(tmp_path / "page.html", model, digits.data[:200], image_shape=(8, 8))
    show(browser, tmp_path / "page.html", width=390)
    assert ask(browser, "document.querySelectorAll('.cluster .faces canvas').length") == 6
    assert ask(browser, "document.querySelectorAll('.people canvas').length") >= 9
    assert ask(browser, "document.documentElement.scrollWidth") <= 390
    assert browser_tools.console(browser) == []


def test_many_clusters_and_points(browser, tmp_path):
    X, y = make_blobs(25_000, centers=120, n_features=3, random_state=0)

    class Fitted:
        labels_ = y

    write_report(tmp_path / "page.html", Fitted(), X)
    assert (tmp_path / "page.html").stat().st_size < 4_000_000
    show(browser, tmp_path / "page.html")
    titles = "[...document.querySelectorAll('.cluster')].map(card => card.id.replace('-', ' '))"
    assert ask(browser, titles) == [f"cluster {i}" for i in range(12)]
    browser.execute_script("document.querySelectorAll('#clusters .pager button')[1].click()")
    assert ask(browser, titles)[0] == "cluster 12"
    browser.execute_script("document.querySelectorAll('.legend button')[117].click()")
    assert ask(browser, titles) == ["cluster 117"]
    assert "20," in ask(browser, "document.querySelector('#members .lead').textContent")
    assert browser_tools.console(browser) == []


def test_the_page_begins_with_the_text_of_the_summary(browser, page, fitted):
    show(browser, page)
    X, _, model = fitted
    shown = " ".join(ask(browser, "document.querySelector('#answer').textContent").split())
    summary = model.summary(X, names=[f"person {i}" for i in range(120)])
    for text in (*summary.sentences(), *summary.diagnostics):
        assert text in shown
    for one in summary.clusters:
        assert one.text in shown


def test_the_slider_shows_other_numbers_of_clusters(browser, page, fitted):
    show(browser, page)
    _, _, model = fitted
    for count in (2, 6):
        browser.execute_script(
            "const slider = document.querySelector('#level'); slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input'))",
            count,
        )
        lines = browser_tools.taken(browser, "#map", "CSV").decode("utf-8-sig").splitlines()
        assert lines[0].endswith(f"{count} clusters")
        found = [int(row[-1]) for row in csv.reader(lines[1:])]
        np.testing.assert_array_equal(found, model.cut(count))
    said = ask(browser, "document.querySelector('#levels [role=status]').textContent")
    assert said.startswith("6 clusters: ")


def test_names_are_changed_on_the_page_and_kept_in_a_file(browser, page, tmp_path):
    show(browser, page)
    name = 'loyal "<b>&</b>" $1'
    browser.execute_script(
        """const input = document.querySelectorAll('.answers .called')[1];
        input.value = arguments[0];
        input.dispatchEvent(new Event('input'));""",
        name,
    )
    assert name in ask(browser, "document.querySelectorAll('.legend button')[1].textContent")
    assert name in ask(browser, "document.querySelector('#cluster-1 h3').textContent")
    lines = browser_tools.taken(browser, "#members", "CSV").decode("utf-8-sig").splitlines()
    rows = list(csv.DictReader(lines))
    assert {row["Name of cluster"] for row in rows if row["Cluster"] == "1"} == {name}
    saved = browser.execute_async_script(
        """const done = arguments[0], make = URL.createObjectURL;
        URL.createObjectURL = blob => { blob.text().then(done); return make.call(URL, blob); };
        document.querySelector('.keep button').click();"""
    )
    (tmp_path / "again.html").write_text(saved, encoding="utf-8")
    show(browser, tmp_path / "again.html")
    assert ask(browser, "document.querySelectorAll('.answers .called')[1].value") == name
    assert browser_tools.console(browser) == []
    assert "hacked" not in ask(browser, "Object.keys(window)")


def test_places_are_drawn_as_such_and_strays_can_be_looked_at(browser, tmp_path):
    import pandas as pd

    rng = np.random.default_rng(0)
    X, _ = make_blobs(150, centers=[[10, 48], [14, 52]], cluster_std=0.3, random_state=0)
    table = pd.DataFrame(X, columns=["longitude", "latitude"])
    table.loc[:3, "longitude"] += rng.uniform(20, 90, size=4)
    model = UnifiedSpectralClustering(2).fit(table)
    assert model.outlier_.sum() == 4
    write_report(tmp_path / "page.html", model, table, refit=False)
    show(browser, tmp_path / "page.html")
    assert ask(browser, "document.querySelector('#draw-as').selectedOptions[0].text").startswith(
        "places"
    )
    browser.execute_script("document.querySelector('#show-nowhere').click()")
    assert ask(browser, "document.querySelectorAll('#members-table tbody tr').length") == 4
    for choice in ("1", "2", "3"):
        browser.execute_script(
            "const list = document.querySelector('#draw-as'); list.value = arguments[0];"
            "list.dispatchEvent(new Event('change'))",
            choice,
        )
    assert not ask(browser, "document.querySelector('.sides').hidden")
    assert browser_tools.console(browser) == []
