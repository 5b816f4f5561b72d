"""A headless Chromium for the tests of pages; tests are skipped where there is none."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


@contextlib.contextmanager
def chromium(folder: Path, width: int = 1280, height: int = 900) -> Iterator[Any]:
    """A browser with a fresh profile in `folder`; skips the test if there is none."""
    selenium = pytest.importorskip("selenium.webdriver")
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("there is no chromium with chromedriver here")
    options = selenium.ChromeOptions()
    options.binary_location = binary
    for option in (*_OPTIONS, f"--window-size={width},{height}", f"--user-data-dir={folder}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = selenium.ChromeService(executable_path=driver)
    browser = selenium.Chrome(options=options, service=service)
    try:
        browser.set_page_load_timeout(300)
        browser.set_script_timeout(300)
        yield browser
    finally:
        browser.quit()


def show(browser: Any, path: Path) -> None:
    """Open a page and wait till it has drawn itself in the size that it was given."""
    browser.get(path.as_uri())
    # What watches sizes is called after the first frame and before the second.
    browser.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));"
    )


def console(browser: Any) -> list[str]:
    """What the page has said in the console so far, warnings and errors."""
    return [
        entry["message"]
        for entry in browser.get_log("browser")
        if entry["level"] in ("WARNING", "SEVERE")
    ]


def texts(browser: Any, css: str) -> list[str]:
    """The visible texts of all elements of a kind, read at one moment.

    A page may draw itself anew at any time, which leaves elements found earlier behind.
    """
    script = """return [...document.querySelectorAll(arguments[0])]
      .filter(node => node.getClientRects().length).map(node => node.innerText.trim());"""
    return browser.execute_script(script, css)


def click(browser: Any, css: str, at: int = 0) -> None:
    """Click one of the elements of a kind, found and clicked at one moment."""
    script = """const node = document.querySelectorAll(arguments[0])[arguments[1]];
      node.focus();
      node.click();"""
    browser.execute_script(script, css, at)


def set_theme(browser: Any, theme: str) -> None:
    """Let the page believe that the reader prefers ``"dark"`` or ``"light"``."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": theme}]},
    )


def set_width(browser: Any, width: int, height: int = 900) -> None:
    """Make the view as wide as a phone, say; windows cannot be made that narrow."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )


def screenshot(browser: Any, path: Path) -> Path:
    """The whole page as a picture."""
    import base64

    shot = browser.execute_cdp_cmd(
        "Page.captureScreenshot", {"captureBeyondViewport": True, "format": "png"}
    )
    path.write_bytes(base64.b64decode(shot["data"]))
    return path


_TAKE = """
const done = arguments[2], make = URL.createObjectURL;
URL.createObjectURL = blob => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.split(",")[1]);
  reader.readAsDataURL(blob);
  URL.createObjectURL = make;
  return make(blob);
};
[...document.querySelectorAll(arguments[0] + ' .exports button')]
  .find(button => button.textContent === arguments[1]).click();
"""


def taken(browser: Any, place: str, kind: str) -> bytes:
    """The file that the first export button of a part of the page makes: PNG, SVG or CSV."""
    import base64

    return base64.b64decode(browser.execute_async_script(_TAKE, place, kind))


def check_taken(content: bytes, kind: str) -> None:
    """A picture with more than one colour, a drawing with parts, or a heading and rows."""
    if kind == "CSV":
        lines = content.decode("utf-8-sig").splitlines()
        assert len(lines) >= 3
        assert all(line.count(",") >= 1 for line in lines)
    elif kind == "SVG":
        from xml.etree import ElementTree

        root = ElementTree.fromstring(content)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert len(list(root.iter())) > 5
        assert not any("class" in node.attrib for node in root.iter())
    else:
        import io

        from PIL import Image

        picture = Image.open(io.BytesIO(content))
        assert picture.format == "PNG"
        assert len(picture.convert("RGB").getcolors(10**7)) > 2


_CONTRAST = """
const channel = v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
const numbers = text => [...text.match(/[\\d.]+/g).map(Number), 1].slice(0, 4);
const light = rgb => .2126 * channel(rgb[0]) + .7152 * channel(rgb[1]) + .0722 * channel(rgb[2]);
const behind = node => {
  for (let at = node; at; at = at.parentElement) {
    const colour = numbers(getComputedStyle(at).backgroundColor);
    if (colour[3] > 0) return colour;
  }
  return [255, 255, 255, 1];
};
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), poor = [];
while (walk.nextNode()) {
  const text = walk.currentNode.textContent.trim(), node = walk.currentNode.parentElement;
  if (!text || node.closest('script, style, noscript, option, #tip')) continue;
  if (!node.getClientRects().length || node.style.fill) continue;
  const style = getComputedStyle(node), drawn = node.closest('svg');
  const a = light(numbers(drawn ? style.fill : style.color)), b = light(behind(node));
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) poor.push(`${text.slice(0, 30)}: ${ratio.toFixed(2)}`);
}
return poor;
"""


def poor_contrast(browser: Any) -> list[str]:
    """Texts on the page whose contrast to what is behind them is below 4.5."""
    return browser.execute_script(_CONTRAST)
