"""Size and speed of the page: ``python -m sismo.bench.page [--steps 1000000] [--series 60] [--events 12] [--write]``.

The run is in memory, as the target says; what is timed is from a run and its post-mortem to the text of the page. The browser is a
headless Chromium on the same machine: first paint is from the start of the loading until every panel on the screen is drawn, a zoom is
the time in which all of them are drawn again.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sismo.bench import tables
from sismo.dashboard.page import render
from sismo.postmortem import CauseItem, EvidenceItem, PostMortem, Text
from sismo.records.types import Header, Run, Series
from sismo.report.language import language

MAX_BYTES, MAX_BUILD, MAX_PAINT, MAX_ZOOM = 3_000_000, 2.0, 1.0, 0.1

_FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]


class Measured(NamedTuple):
    """Bytes and seconds; None where there is no browser to measure with."""

    size: int
    build: float
    paint: float | None
    zoom: float | None


def big_run(steps: int, count: int, seed: int = 0) -> Run:
    """A run of so many series of noise around a trend: noise is what compresses worst."""
    rng = np.random.default_rng(seed)
    at = np.arange(steps, dtype=np.int64)
    names = ["loss/train", "loss/val", "lr/0", "grad_norm/pre", "grad_norm/post", "loss_scale"]
    names += [f"{family}/blocks.{layer}" for layer in range(count) for family in ("act_mean_abs", "spectral", "dead_units", "act_max_abs")]
    trend = 1 + 4 * (1 + at / (steps / 50)) ** -0.5
    series = {name: Series(name, at, trend * (1 + 0.1 * rng.standard_normal(steps))) for name in names[:count]}
    return Run("big", Header("made"), series)


def flagging(run: Run, steps: Sequence[int]) -> PostMortem:
    """A post-mortem that flags these steps, as one of a run with many spikes would."""
    said = Text("made")
    evidence = [EvidenceItem("made", said, "loss/train", step, step) for step in steps]
    cause = CauseItem("made", said, said, "broken", None, 0.9, evidence, [], [], [], said, [], said, said, None)
    return PostMortem(run.path, "", "made", "robust", "step", False, "broken", None, said, [], [cause], [], [], [])


def measure(run: Run, document: PostMortem, repeats: int = 3, *, browse: bool = True) -> Measured:
    """The best of some repeats: the target is not about what else the machine does. ``browse`` is whether a browser is started."""
    text, seconds = "", []
    for _ in range(repeats):
        start = time.perf_counter()
        text = render(document, run, language("en"))
        seconds.append(time.perf_counter() - start)
    paint, zoom = _browse(text) if browse else (None, None)
    return Measured(len(text.encode("utf-8")), min(seconds), paint, zoom)


def _browse(text: str) -> tuple[float | None, float | None]:
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None, None
    if browser_path is None:
        return None, None
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "page.html"
        file.write_text(text, encoding="utf-8")
        browser = driver.chromium.launch(executable_path=browser_path, args=_FLAGS)
        paints, zooms = [], []
        for _ in range(3):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(file.as_uri())
            page.wait_for_selector("html[data-ready]", timeout=60_000)
            paints.append(float(page.evaluate("document.documentElement.dataset.ready")) / 1000)
            page.locator(".navigator").scroll_into_view_if_needed()
            page.evaluate("window.scrollTo(0, document.querySelector('.panels').offsetTop)")
            page.wait_for_timeout(200)
            for _ in range(4):
                page.click("#go-in")
                page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
                zooms.append(float(page.evaluate("document.documentElement.dataset.drawMs")) / 1000)
            page.close()
        browser.close()
    return min(paints), statistics.median(zooms)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; 0 when the targets are met, 1 when not."""
    parser = argparse.ArgumentParser(prog="python -m sismo.bench.page", description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--series", type=int, default=60)
    parser.add_argument("--events", type=int, default=12)
    parser.add_argument("--write", action="store_true", help="write the table to docs/results.md")
    options = parser.parse_args(arguments)
    run = big_run(options.steps, options.series)
    gap = options.steps // (options.events + 1)
    found = measure(run, flagging(run, [gap * (place + 1) for place in range(options.events)]))
    rows = [
        ("size of the file", f"{found.size / 1e6:.2f} MB", f"<= {MAX_BYTES / 1e6:.0f} MB"),
        ("built", f"{found.build:.2f} s", f"<= {MAX_BUILD:.0f} s"),
        ("first paint", _seconds(found.paint), f"<= {MAX_PAINT:.0f} s"),
        ("zoom", _seconds(found.zoom), f"<= {MAX_ZOOM * 1000:.0f} ms"),
    ]
    met = found.size <= MAX_BYTES and found.build <= MAX_BUILD and (found.paint or 0) <= MAX_PAINT and (found.zoom or 0) <= MAX_ZOOM
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    what = f"{options.steps:,} steps × {options.series} series of noise, {options.events} flagged events"
    how = f"{what}; numpy {np.__version__}, {platform.machine()}, load average {load}."
    header = ("what", "measured", "target")
    print(f"{how}\n\n{tables.plain(header, rows)}")
    if options.write:
        tables.write_section("page", "Size and speed of the page", f"{how}\n\n{tables.markdown(header, rows)}")
    return 0 if met else 1


def _seconds(value: float | None) -> str:
    return "no browser" if value is None else f"{value:.2f} s" if value >= 0.1 else f"{value * 1000:.0f} ms"


if __name__ == "__main__":
    raise SystemExit(main())
