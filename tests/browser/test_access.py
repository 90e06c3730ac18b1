"""The page for those who read small contrasts badly, who have no mouse, or who hear it read out."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from browser import made
from browser.conftest import Open, settled, view

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Every piece of text with the contrast of its colour to what lies behind it, where that is under what WCAG 1.4.3 asks for.
_FAINT = """() => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return { rgb: [r, g, b], a: a / 255 };
  };
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) layers.unshift(parse(getComputedStyle(one).backgroundColor));
    return layers.reduce((under, layer) => under.map((part, i) => part * (1 - layer.a) + layer.rgb[i] * layer.a), [255, 255, 255]);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  for (const one of document.querySelectorAll("details")) one.open = true;
  const found = [];
  let looked = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || element.closest("script, svg") || !element.getClientRects().length) continue;
    looked += 1;
    const share = contrast(parse(getComputedStyle(element).color).rgb, behind(element));
    if (share < 4.5) found.push(`${share.toFixed(2)} ${element.className} ${walk.currentNode.data.slice(0, 40)}`);
  }
  for (const swatch of document.querySelectorAll(".key:not(.under) i")) {
    looked += 1;
    const share = contrast(parse(getComputedStyle(swatch).backgroundColor).rgb, behind(swatch.closest(".panel")));
    if (share < 3) found.push(`${share.toFixed(2)} curve ${swatch.parentElement.textContent}`);
  }
  return [looked, [...new Set(found)]];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("layers", [2, 5, 12])
def test_text_and_curves_stand_out(opened: Open, scheme: str, layers: int) -> None:
    page = opened(made.no_warmup(layers=layers), baseline=made.healthy(layers=layers), color_scheme=scheme)
    draw_all(page)
    looked, faint = page.evaluate(_FAINT)
    assert looked > 150
    assert faint == []


def draw_all(page: Page) -> None:
    for panel in page.locator(".panel").all():
        panel.scroll_into_view_if_needed()
        settled(page)


def test_what_a_screen_reader_finds(opened: Open) -> None:
    page = opened(made.no_warmup())
    tree = page.locator("body").aria_snapshot()
    assert tree.count("- main") == 1
    assert tree.count("- banner") == 1
    assert '- heading "No warmup (missing-warmup), from step 0." [level=1]' in tree
    for name in ("Evidence", "Do first", "The path", "Panels", "Causes"):
        assert f'- heading "{name}" [level=2]' in tree
    assert '- link "P2.Q2 Does the LR start at over half of its maximum? yes"' in tree
    assert '- slider "Learning rate"' in tree
    for name in ("zoom in", "zoom out", "earlier", "later", "show the whole run", "dark or light"):
        assert f'- button "{name}"' in tree
    # Nothing that takes the focus or that stands for something is without a name.
    nameless = page.locator("a, button, summary, canvas, svg[role], [role=group], section[aria-labelledby]").evaluate_all(
        """all => all.filter((one) => !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim()))
                  .map((one) => one.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    assert page.locator("[tabindex]").evaluate_all("all => all.every((one) => one.tabIndex <= 0)")
    levels = page.locator("h1, h2, h3, h4").evaluate_all("all => all.map((one) => Number(one.tagName[1]))")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_a_plot_says_its_values_as_the_crosshair_moves(opened: Open) -> None:
    page = opened(made.no_warmup())
    plot = page.get_by_role("slider", name="Gradient norm: Norm before and after clipping")
    plot.focus()
    before = plot.get_attribute("aria-valuetext") or ""
    assert before.startswith(f"step {made.STEPS - 1}: pre ")
    page.keyboard.press("ArrowLeft")
    after = plot.get_attribute("aria-valuetext") or ""
    assert after.startswith("step 1")
    assert "post" in after
    assert int(plot.get_attribute("aria-valuenow") or -1) == int(after.split()[1].rstrip(":"))


def test_the_order_of_the_tab_key_is_that_of_the_page(opened: Open) -> None:
    page = opened(made.no_warmup())
    heights: list[float] = []
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.classList.contains('skip')")
    for _ in range(100):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        heights.append(page.evaluate("document.activeElement.closest('section, body > header').getBoundingClientRect().top + scrollY"))
    assert len(heights) > 20
    assert heights == sorted(heights)


def test_the_path_is_walked_and_zoomed_with_the_keyboard(opened: Open) -> None:
    page = opened(made.no_warmup())
    nodes = page.locator("a.node")
    assert nodes.evaluate_all("all => all.filter((one) => one.tabIndex === 0).map((one) => one.classList.contains('leads'))") == [True]
    page.locator("a.node.leads").focus()
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement === document.querySelector('a.node')")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement === [...document.querySelectorAll('a.node')].at(-1)")
    page.locator("a.node.leads").focus()
    page.keyboard.press("Enter")
    settled(page)
    whole = (0, made.STEPS - 1)
    assert view(page) != whole
    assert page.evaluate("document.activeElement.id") == "chosen"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.matches('a.node.leads')")
    page.locator("#go-all").press("Enter")
    settled(page)
    assert view(page) == whole
    page.locator(".verdict .zoom").first.focus()
    page.keyboard.press("Enter")
    settled(page)
    assert view(page) != whole
