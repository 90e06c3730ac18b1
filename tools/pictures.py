"""Takes the pictures in docs/images: trains the healthy run and the three failures of the lab, and lets Chromium photograph their pages.

python tools/pictures.py                an exam of 600 steps (some minutes), and its pictures
python tools/pictures.py experiments    pictures of the exam that `make lab` left there, once it is revealed
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from sismo.cli.console import emit
from sismo.dashboard.page import render
from sismo.judge import diagnose
from sismo.lab import exam, sealed
from sismo.records.reader import read_run
from sismo.records.types import Run
from sismo.report.language import language
from sismo.signals.presets import preset

IMAGES = Path(__file__).parent.parent / "docs" / "images"
HEALTHY = "healthy"

_STEPS = 600
_WIDTH = 1280
_FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--force-color-profile=srgb"]


def folders(root: Path) -> dict[str, Path]:
    """The four run folders of an exam by what is wrong with them."""
    truth = sealed.read(root / exam.EXAM).truth()
    return {HEALTHY: root / exam.HEALTHY, **{failure: root / exam.EXAM / number for number, failure in sorted(truth.items())}}


def photograph(run: Run, file: Path, browser: Browser, baseline: Run | None) -> None:
    """One page from its top to the end of the sixth panel, as a picture."""
    page_file = file.with_suffix(".html")
    page_file.write_text(render(diagnose(run), run, language("en"), preset("robust").values, baseline=baseline), encoding="utf-8")
    page = browser.new_page(viewport={"width": _WIDTH, "height": 900})
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-ready]")
    end = page.evaluate("Math.ceil(document.getElementById('panel-dead').getBoundingClientRect().bottom + scrollY) + 12")
    # Panels are drawn when they come near the screen, so the screen is made as high as the picture.
    page.set_viewport_size({"width": _WIDTH, "height": end})
    page.wait_for_timeout(500)
    page.screenshot(path=file, clip={"x": 0, "y": 0, "width": _WIDTH, "height": end})
    page.close()
    page_file.unlink()


def main(arguments: list[str]) -> int:
    """Writes docs/images/page-NAME.png; 2 where there is no browser."""
    chromium = os.environ.get("SISMO_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        emit("no Chromium is installed")
        return 2
    with tempfile.TemporaryDirectory() as made, sync_playwright() as driver:
        root = Path(arguments[0]) if arguments else Path(made)
        if not arguments:
            exam.make(root, exam.Options(steps=_STEPS), language("en"), lambda: None)
        elif not sealed.read(root / exam.EXAM).revealed:
            emit(f"{root} is sealed: sismo lab reveal first")
            return 2
        browser = driver.chromium.launch(executable_path=chromium, args=_FLAGS)
        runs = {name: _named(name, folder) for name, folder in folders(root).items()}
        for name, run in runs.items():
            file = IMAGES / f"page-{name}.png"
            photograph(run, file, browser, None if name == HEALTHY else runs[HEALTHY])
            emit(str(file))
        browser.close()
    return 0


def _named(name: str, folder: Path) -> Run:
    """The run, under a path that says nothing of the machine it was trained on."""
    run = read_run(folder)
    return Run(f"runs/{name}", run.header, run.series, run.events, run.notes)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
