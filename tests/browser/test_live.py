"""A page that is served: it replaces itself when there is a newer one, and keeps where you have zoomed to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from browser import made
from browser.conftest import settled, show, view

import sismo
from sismo.dashboard.page import render
from sismo.dashboard.server import PageServer
from sismo.report.language import language

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from sismo.records.types import Run


def page_of(run: Run) -> str:
    return render(sismo.diagnose(run), run, language("en"), live=True)


def test_a_newer_page_takes_the_place_of_the_older(browser: Browser) -> None:
    server, complaints = PageServer(0), list[str]()
    try:
        server.show(page_of(made.healthy(steps=200)))
        page = show(browser, server.address, complaints)
        assert view(page) == (0, 199)
        server.show(page_of(made.healthy(steps=300)))
        page.wait_for_selector('html[data-view="0 299"]', timeout=15_000)
        page.locator("#go-in").click()
        settled(page)
        zoomed = view(page)
        server.show(page_of(made.no_warmup(steps=400)))
        page.wait_for_selector("html[data-state=broken]", timeout=15_000)
        settled(page)
        assert view(page) == zoomed
        assert page.locator(".panel.first").count() == 1
        page.context.close()
    finally:
        server.close()
    assert complaints == []


def test_a_page_whose_server_went_away_says_so(browser: Browser) -> None:
    server = PageServer(0)
    server.show(page_of(made.healthy(steps=100)))
    page = show(browser, server.address, [])
    server.close()
    page.wait_for_selector("html[data-stale]", timeout=15_000)
    page.context.close()
