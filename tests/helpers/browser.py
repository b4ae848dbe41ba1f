"""A real browser for tests of the page: Debian's Chromium, without a window.

It resolves no names, so that a page cannot reach anything but this machine, and tells what it was
asked to fetch and what it complained about.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # few tests look at a page, and all load this module
    from selenium.webdriver import Chrome

_PROGRAMS = ("chromium", "chromedriver")
_ALONE = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--disable-default-apps", "--disable-extensions",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)  # fmt: skip
_WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


class Browser:
    """A browser with one page in it."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def look(self, *, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        """Choose the size in CSS pixels, and what the person prefers; below 600 it is a phone."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        calm = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme, calm]})

    def open(self, url: str) -> None:
        """Open a page; what the one before said and fetched is forgotten."""
        self.driver.get("about:blank")
        self.complaints()
        self.fetched()
        self.driver.get(url)

    def run(self, script: str, *words: object) -> Any:
        """Run a script in the page and return its value."""
        return self.driver.execute_script(script, *words)

    def text(self, css: str = "body") -> str:
        """Return what can be read in an element; empty where it is hidden."""
        return self.driver.find_element("css selector", css).text

    def click(self, css: str) -> None:
        """Click on an element."""
        self.driver.find_element("css selector", css).click()

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains  # noqa: PLC0415 - as above

        ActionChains(self.driver).send_keys(*keys).perform()

    def fetched(self) -> set[str]:
        """Return all addresses that were asked for since the last call; `data:` is no address."""
        urls = set()
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                urls.add(message["params"]["request"]["url"])
        return {url for url in urls if not url.startswith("data:")}

    def complaints(self) -> list[str]:
        """Return what the console says since the last call: errors, warnings, broken policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def too_wide(self) -> int:
        """Return by how many pixels the page is wider than the screen."""
        wide: int = self.run(
            "const e = document.documentElement; return e.scrollWidth - e.clientWidth"
        )
        return wide

    def unfit(self) -> list[str]:
        """Return what axe-core finds that keeps people from using the page."""
        self.run(_axe())
        found: list[dict[str, Any]] = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run({runOnly: arguments[0], resultTypes: ['violations']}).then(r => done(r.violations))",
            _WCAG,
        )
        return [
            f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes'][:3]]}"
            for one in found
        ]

    def picture(self, path: Path, *, most: int = 1200) -> None:
        """Write what the page looks like from its top, at most so many pixels of its height."""
        self.run("scrollTo(0, 0)")
        size = self.run(
            "const e = document.documentElement; return [e.clientWidth, e.scrollHeight]"
        )
        clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], most), "scale": 1}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
        )
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chrome]:
    """Start the browser once for all tests of a process."""
    from selenium.webdriver import Chrome, ChromeOptions  # noqa: PLC0415 - as above
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415

    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"no {', '.join(missing)}: apt-get install chromium chromium-driver")
    options = ChromeOptions()
    for word in _ALONE:
        options.add_argument(word)
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium: Chrome) -> Iterator[Browser]:
    """Give a browser of the usual size; the page is left at the end, so that its server may end."""
    made = Browser(chromium)
    made.look()
    yield made
    chromium.get("about:blank")


def _axe() -> str:
    found = importlib.util.find_spec("axe_core_python")
    assert found is not None
    assert found.submodule_search_locations is not None
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")
