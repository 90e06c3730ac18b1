"""The page in a real browser: everything is drawn, evidence zooms, nothing is said to the console."""

from __future__ import annotations

import numpy as np
import pytest
from browser import made
from browser.conftest import Open, ink, settled, view

from sismo.records.types import Header, Run, Series

FAILURES = {"init": made.bad_init, "warmup": made.no_warmup, "mask": made.broken_mask, "healthy": made.healthy}


@pytest.mark.parametrize("name", FAILURES)
def test_every_panel_is_drawn(opened: Open, name: str) -> None:
    page = opened(FAILURES[name]())
    frames = page.locator("[data-plot]")
    for place in range(frames.count()):
        plot = frames.nth(place).get_attribute("data-plot")
        page.locator(f'[data-plot="{plot}"]').scroll_into_view_if_needed()
        settled(page)
        assert ink(page, f'[data-plot="{plot}"] > canvas') > 0.005, plot
    assert [text.strip() for text in page.locator(".panel .number").all_inner_texts()] == [str(n) for n in range(1, 10)]


def test_the_panel_that_the_table_names_cries(opened: Open) -> None:
    def first(run: Run) -> str | None:
        return opened(run).locator(".panel.first").get_attribute("id")

    assert first(made.no_warmup()) == "panel-learning-rate"
    assert first(made.broken_mask()) == "panel-dead"
    page = opened(made.bad_init())
    assert {"panel-loss", "panel-grad-norm", "panel-activations"} <= set(
        page.locator(".panel.alarm").evaluate_all("all => all.map((one) => one.id)")
    )
    assert opened(made.healthy()).locator(".panel.alarm").count() == 0


def test_evidence_zooms_every_panel(opened: Open) -> None:
    page = opened(made.bad_init())
    whole = view(page)
    button = page.locator(".verdict .zoom").first
    button.click()
    settled(page)
    low, high = view(page)
    assert high - low < (whole[1] - whole[0]) / 3
    assert low <= float(button.get_attribute("data-start") or "nan") <= high
    page.locator("#go-all").click()
    settled(page)
    assert view(page) == whole


def test_a_node_of_the_path_shows_its_question(opened: Open) -> None:
    page = opened(made.no_warmup())
    node = page.locator("a.node.leads").first
    node.click()
    shown = page.locator("#chosen").inner_text()
    assert "P2" in shown
    assert "yes" in shown.lower()
    assert {"yes", "no", "unknown"} <= {
        word for name in page.locator("a.node").evaluate_all("all => all.map((one) => one.getAttribute('class'))") for word in name.split()
    }


def test_drag_wheel_and_keys_move_all_panels(opened: Open) -> None:
    page = opened(made.healthy())
    canvas = page.locator("#panel-loss .plot > canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 150, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 80, steps=4)
    page.mouse.up()
    settled(page)
    dragged = view(page)
    assert dragged[1] - dragged[0] < 200
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    settled(page)
    closer = view(page)
    assert closer[1] - closer[0] < dragged[1] - dragged[0]
    canvas.focus()
    page.keyboard.press("Home")
    settled(page)
    assert view(page) == (0, made.STEPS - 1)
    page.keyboard.press("ArrowRight")
    settled(page)
    assert "step" in page.locator("#panel-learning-rate .readout .at").inner_text()


def test_everything_is_reached_by_the_keyboard(opened: Open) -> None:
    page = opened(made.no_warmup())
    reached: set[str] = set()
    for _ in range(160):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.tagName + '.' + (document.activeElement.getAttribute('class') ?? '').split(' ')[0]")
        )
    assert {"BUTTON.zoom", "a.node", "CANVAS.", "SUMMARY.", "A.skip"} <= reached


def test_what_was_not_recorded_says_how_to_record_it(opened: Open) -> None:
    run = made.healthy()
    short = Run(run.path, run.header._replace(source="csv"), {name: run.series[name] for name in ("loss/train", "lr/0")})
    page = opened(short)
    missing = page.locator(".panel.missing")
    assert missing.evaluate_all("all => all.map((one) => one.id)") == [
        f"panel-{name}" for name in ("grad-norm", "activations", "spectral", "dead", "loss-scale", "batches", "classes")
    ]
    assert "clip_grad_norm_" in missing.first.inner_text()
    assert missing.locator("canvas").count() == 0


def test_a_recorded_run_is_not_told_to_record_what_its_model_does_not_have(opened: Open) -> None:
    run = made.healthy()
    page = opened(Run(run.path, run.header, {name: run.series[name] for name in ("loss/train", "lr/0")}))
    said = page.locator("#panel-loss-scale").inner_text()
    assert "The recorder found none of it" in said
    assert "get_scale" not in said


@pytest.mark.parametrize(("layers", "heat"), [(2, False), (100, True)])
def test_two_layers_are_lines_and_a_hundred_are_a_heat_map(opened: Open, layers: int, heat: bool) -> None:
    page = opened(made.healthy(steps=120, layers=layers))
    keys = page.locator("#panel-activations .keys").first
    page.locator("#panel-activations").scroll_into_view_if_needed()
    settled(page)
    assert (keys.locator(".ramp").count() == 1) is heat
    assert (keys.locator(".key").count() == layers) is not heat


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("lang", ["en", "es"])
def test_nothing_is_wider_than_the_screen(opened: Open, width: int, lang: str) -> None:
    page = opened(made.bad_init(), lang=lang, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("html").get_attribute("lang") == lang


def test_dark_and_light_and_print(opened: Open) -> None:
    page = opened(made.healthy(), color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.locator("#theme").click()
    light = page.evaluate(paper)
    assert dark != light
    page.locator("#theme").click()
    assert page.evaluate(paper) == dark
    assert len(page.pdf()) > 20_000


def test_one_row_and_large_steps(opened: Open) -> None:
    far = np.array([2**40, 2**40 + 1, 2**52], dtype=np.int64)
    page = opened(Run("far", Header("made"), {"loss/train": Series("loss/train", far, np.array([3.0, 2.0, 1.0]))}))
    assert view(page) == (2**40, 2**52)
    single = Series("loss/train", np.array([7], dtype=np.int64), np.array([3.0]))
    assert view(opened(Run("one", Header("made"), {"loss/train": single}))) == (7, 8)
    assert view(opened(Run("none", Header("made"), {}))) == (0, 1)
