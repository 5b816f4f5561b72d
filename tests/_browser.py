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
        browser.set_page_load_timeout(60)
        yield browser
    finally:
        browser.quit()


def console(browser: Any) -> list[str]:
    """What the page has said in the console so far, warnings and errors."""
    return [
        entry["message"]
        for entry in browser.get_log("browser")
        if entry["level"] in ("WARNING", "SEVERE")
    ]


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
