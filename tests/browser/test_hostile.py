"""A log that wants to run something, to break the page, or to make it say what is not so: it stays text, in a real browser."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from browser import made
from browser.conftest import Open, ink, settled, show

import sismo
from sismo.compare import compare
from sismo.dashboard.comparison import comparison
from sismo.dashboard.page import render
from sismo.dashboard.server import PageServer
from sismo.records.types import Event, Header, Note, Run, Series
from sismo.report.comparison import verdict
from sismo.report.language import language
from sismo.report.page import Page as Sheet

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCRIPTS = (
    '</script><script>document.title="owned"</script>',
    '<img src=x onerror=document.title="owned">',
    '"><svg onload=document.title="owned">',
    "javascript:document.title='owned'",
    "<style>*{display:none}</style>",
    "<!--",
    "<base href=//evil.example>",
    "{0} {title.__class__} %s ${document.title='owned'}",
)
NAMES = (
    "__proto__",
    "constructor",
    "toString",
    "\u202egnp.exe\u2066",
    "\x00\x07\x1b[2J\r\n\u2028\u2029",
    "\ud800 half of a pair",
    "\U0001f4a5 \u0627\u0644\u0639 \u5b57",
    "x" * 5_000,
)
HOSTILE = (*SCRIPTS, *NAMES)
ALL = " ".join(SCRIPTS)


def attacked() -> Run:
    """A run that is hostile in every place where a log may say something."""
    run = made.healthy(steps=200)
    loss = run.series["loss/train"]
    named = {f"loss_class/{name}": dataclasses.replace(loss, channel=f"loss_class/{name}", source_key=name) for name in HOSTILE}
    named |= {f"act_mean_abs/{name}": Series(f"act_mean_abs/{name}", loss.steps, np.full(len(loss), np.nan)) for name in HOSTILE[:5]}
    header = Header(ALL, name=ALL, schedule=ALL, dtype=ALL, status=ALL, config={name: {name: [name]} for name in HOSTILE})
    events = tuple(Event(10 * at, kind, {name: name}) for at, name in enumerate(HOSTILE) for kind in ("warning", "crash", name))
    return Run(ALL, header, {**run.series, **named}, events, (Note("odd", "{line}", {"line": ALL}),))


def unharmed(page: Page) -> None:
    """Nothing that was read became part of the page."""
    assert page.title() != "owned"
    assert page.locator("img, base, iframe, object, embed, link:not([rel=icon])").count() == 0
    assert page.locator("script").count() == 3
    assert page.locator("style").count() == 1
    assert page.locator("[onload], [onerror], [onclick], a[href^='javascript']").count() == 0
    assert page.locator("h1").bounding_box() is not None
    assert page.evaluate("Object.keys(Object.prototype).length === 0 && ({}).title === undefined")
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content") or ""
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for panel in page.locator(".panel").all():
        panel.scroll_into_view_if_needed()
        settled(page)
    text = page.locator("body").inner_text()
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00]", text)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_hostile_log_stays_text(opened: Open) -> None:
    page = opened(attacked(), baseline=attacked())
    unharmed(page)
    page.locator("#panel-loss .plot > canvas").first.hover(position={"x": 200, "y": 60})
    settled(page)
    for one in page.locator("details").all():
        one.evaluate("one => { one.open = true; }")
    assert SCRIPTS[0] in page.locator(".reading").inner_text()
    assert page.locator(".panel").count() == 9


def test_a_hostile_comparison_stays_text(browser: Browser, tmp_path: Path) -> None:
    before, after = attacked(), attacked()
    after = dataclasses.replace(after, path=ALL[::-1], header=after.header._replace(config=dict.fromkeys(NAMES, ALL)))
    found = compare(before, after)
    english = language("en")
    extra = [comparison(found, verdict(found, Sheet(english)), english)]
    file = tmp_path / "both.html"
    file.write_text(render(sismo.diagnose(after), after, english, baseline=before, extra=extra), encoding="utf-8")
    complaints: list[str] = []
    page = show(browser, file.as_uri(), complaints)
    assert page.locator(".compared td").count() > len(HOSTILE)
    unharmed(page)
    page.context.close()
    assert complaints == []


def test_a_hostile_log_that_is_served_stays_text(browser: Browser) -> None:
    """The page that comes later goes another way into the document: it is parsed by the one before it."""
    server, complaints = PageServer(0), list[str]()
    try:
        server.show(render(sismo.diagnose(made.healthy(steps=100)), made.healthy(steps=100), language("en"), live=True))
        page = show(browser, server.address, complaints)
        server.show(render(sismo.diagnose(attacked()), attacked(), language("en"), live=True))
        page.wait_for_selector('html[data-view="0 199"]', timeout=15_000)
        unharmed(page)
        page.context.close()
    finally:
        server.close()
    assert complaints == []


def test_a_run_of_nothing_but_lost_numbers_is_a_page(opened: Open) -> None:
    run = made.healthy(steps=120, layers=20)
    for value in (np.nan, np.inf, -np.inf):
        lost = {name: Series(name, one.steps, np.full(len(one), value)) for name, one in run.series.items()}
        page = opened(dataclasses.replace(run, series=lost), baseline=run)
        assert page.locator(".panel canvas").count() > 5
        assert page.locator("html").get_attribute("data-state") != "healthy"


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, 5e-324])
def test_no_number_breaks_the_page(opened: Open, odd: float) -> None:
    steps = np.arange(300, dtype=np.int64)
    values = np.linspace(3, 2, 300)
    values[50:60] = odd
    page = opened(
        Run(
            "odd",
            Header("made"),
            {
                "loss/train": Series("loss/train", steps, values),
                "grad_norm/pre": Series("grad_norm/pre", steps, np.full(300, odd)),
                "lr/0": Series("lr/0", steps[:1], values[:1]),
            },
        )
    )
    assert ink(page, "#panel-loss .plot > canvas") > 0.01
    assert re.search(r"\d", page.locator("#range").inner_text())
