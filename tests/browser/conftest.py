"""A real Chromium, and pages opened from disk in it. Without a browser the tests are skipped; CI installs one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sismo
from sismo.dashboard.page import render
from sismo.report.language import language
from sismo.signals.presets import preset

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from sismo.postmortem import PostMortem
    from sismo.records.types import Run

_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

Open = Callable[..., "Page"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("SISMO_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no Chromium is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens the page of a run; at the end no page may have written to the console, failed, or asked the network for anything."""
    complaints: list[str] = []
    pages: list[Page] = []

    def open_page(
        run: Run, *, lang: str = "en", baseline: Run | None = None, document: PostMortem | None = None, **context: object
    ) -> Page:
        file = tmp_path / f"{len(pages)}.html"
        file.write_text(
            render(document or sismo.diagnose(run), run, language(lang), preset("robust").values, baseline=baseline), encoding="utf-8"
        )
        page = show(browser, file.as_uri(), complaints, **context)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.context.close()
    assert complaints == []


def show(browser: Browser, address: str, complaints: list[str], **context: object) -> Page:
    """A page at an address, drawn, with everything that it complains about gathered."""
    options: dict[str, object] = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **context}
    page = browser.new_context(**options).new_page()  # type: ignore[arg-type]
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if not request.url.startswith((address, "data:")) else None)
    page.goto(address)
    page.wait_for_selector("html[data-ready]", timeout=20_000)
    # What is below the screen is drawn when the page is idle; callbacks of that kind come in the order in which they were asked for.
    page.evaluate("() => new Promise((done) => requestIdleCallback(() => done()))")
    return page


def view(page: Page) -> tuple[float, float]:
    """The steps that all panels show."""
    low, high = page.evaluate("document.documentElement.dataset.view").split()
    return float(low), float(high)


def settled(page: Page) -> None:
    """Waits until what was asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def ink(page: Page, selector: str) -> float:
    """Share of a canvas's pixels that are not empty."""
    return page.evaluate(
        """(selector) => {
          const canvas = document.querySelector(selector);
          const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          let full = 0;
          for (let i = 3; i < pixels.length; i += 4) full += pixels[i] > 0;
          return full / (pixels.length / 4);
        }""",
        selector,
    )


def painted(page: Page, plot: str, step: float, band: tuple[float, float], colour: str) -> int:
    """Pixels of a plot that have a colour of the page, within seven pixels of a step and a band of its height (0 is the top)."""
    return page.evaluate(
        """([plot, step, [from, to], name]) => {
          const canvas = document.querySelector(`[data-plot="${plot}"] > canvas`);
          const ratio = canvas.width / canvas.clientWidth;
          const box = { left: 58, top: 6, width: canvas.clientWidth - 68, height: canvas.clientHeight - 28 };
          const [low, high] = document.documentElement.dataset.view.split(" ").map(Number);
          const x = box.left + ((step - low) / (high - low)) * box.width;
          const style = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
          const wanted = [1, 3, 5].map((at) => parseInt(style.slice(at, at + 2), 16));
          const [top, end] = [from, to].map((share) => Math.round((box.top + share * box.height) * ratio));
          const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
          const pen = copy.getContext("2d", { willReadFrequently: true }); // asked of the page's own, the browser would complain
          pen.drawImage(canvas, 0, 0);
          const { data } = pen.getImageData(Math.round((x - 7) * ratio), top, Math.round(14 * ratio), end - top);
          let count = 0;
          for (let i = 0; i < data.length; i += 4) {
            count += data[i + 3] > 150 && wanted.every((part, j) => Math.abs(data[i + j] - part) < 40);
          }
          return count;
        }""",
        [plot, step, list(band), colour],
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser takes seconds to start and each page one to draw."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
