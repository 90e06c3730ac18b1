"""What is drawn over and under the curves: the marks of events, the limits of rules, and a baseline."""

from __future__ import annotations

import dataclasses

import numpy as np
from browser import made
from browser.conftest import Open, ink, painted, settled

import sismo
from sismo.records.types import Event, Header, Run, Series

TOP, BOTTOM, MIDDLE = (0.0, 0.12), (0.85, 1.0), (0.3, 0.7)

MARKS = {
    "nonfinite": (TOP, "alarm", "✖"),
    "crash": (TOP, "alarm", "✖"),
    "resume": (TOP, "alarm", "↻"),
    "guard": (TOP, "alarm", "◆"),
    "overflow": (BOTTOM, "mark", "×"),
    "skipped_step": (BOTTOM, "mark", "○"),
    "checkpoint": (BOTTOM, "mark", "▪"),
    "warning": (BOTTOM, "mark", "!"),
    "probe": (BOTTOM, "mark", "?"),
}


def test_every_kind_of_event_has_its_mark(opened: Open) -> None:
    """Each kind at its own step of a flat run, and nothing between them."""
    places = {kind: 30 + 40 * place for place, kind in enumerate(MARKS)}
    events = tuple(Event(step, kind, {"line": "x"}) for kind, step in places.items())
    flat = Series("loss/train", np.arange(400), np.full(400, 3.0))
    run = Run("marked", Header("made"), {"loss/train": flat}, events)
    healthy = sismo.diagnose(made.healthy())
    page = opened(run, document=healthy)
    drawn = {kind: painted(page, "loss.0", places[kind], band, colour) for kind, (band, colour, _) in MARKS.items()}
    assert {kind for kind, count in drawn.items() if count < 3} == set()
    beside = {kind: painted(page, "loss.0", places[kind] + 20, band, colour) for kind, (band, colour, _) in MARKS.items()}
    assert set(beside.values()) == {0}
    legend = page.locator("#kinds").inner_text()
    assert all(sign in legend for _, _, sign in MARKS.values())


def test_a_spike_and_a_lost_stretch_are_marked(opened: Open) -> None:
    run = made.healthy()
    loss = run.series["loss/train"].values.copy()
    loss[250:253] = 30.0
    loss[300:340] = np.nan
    page = opened(dataclasses.replace(run, series={**run.series, "loss/train": Series("loss/train", run.series["loss/train"].steps, loss)}))
    assert "spike" in page.locator("#kinds").inner_text()
    assert painted(page, "loss.0", 250, TOP, "alarm") >= 3
    hatched = '[data-plot="loss.0"] > canvas'
    assert ink(page, hatched) > ink(opened(run), hatched)


def test_two_marks_at_one_step_are_both_seen(opened: Open) -> None:
    run = Run("both", Header("made"), {"loss/train": Series("loss/train", np.arange(400), np.full(400, 3.0))},
              (Event(200, "nonfinite", {}), Event(200, "guard", {}), Event(200, "overflow", {}), Event(200, "checkpoint", {})))  # fmt: skip
    page = opened(run, document=sismo.diagnose(made.healthy()))
    for first, second, colour in (((0.0, 0.07), (0.075, 0.14), "alarm"), ((0.93, 1.0), (0.85, 0.925), "mark")):
        assert painted(page, "loss.0", 200, first, colour) >= 3
        assert painted(page, "loss.0", 200, second, colour) >= 3


def test_a_limit_of_the_start_is_drawn_at_the_start_only(opened: Open) -> None:
    page = opened(made.healthy())
    page.locator("#panel-learning-rate").scroll_into_view_if_needed()
    settled(page)
    lr = "learning-rate.0"
    half = (0.42, 0.6)
    assert painted(page, lr, 8, half, "limit") >= 3
    assert painted(page, lr, 380, half, "limit") == 0


def test_a_baseline_has_the_colour_of_what_it_lies_under(opened: Open) -> None:
    page = opened(made.no_warmup(layers=8), baseline=made.healthy(layers=8))
    assert page.locator("#panel-loss .key.under").all_inner_texts() == ["baseline"]
    canvas = page.locator("#panel-activations .plot > canvas").first
    canvas.scroll_into_view_if_needed()
    height = page.evaluate("document.documentElement.scrollHeight")
    canvas.hover(position={"x": 61, "y": 60})
    settled(page)
    assert page.evaluate("document.documentElement.scrollHeight") == height  # nothing moves under the pointer
    first = page.locator("#panel-activations .readout").first.locator(".key").first
    value, under = (float(part) for part in first.inner_text().removeprefix("blocks.0").replace("(", " ").rstrip(")").split())
    assert value > 1.4 * under  # the excursion of a run without a warmup over the calm one


def test_a_baseline_stands_under_a_heat_map_in_the_same_colours(opened: Open) -> None:
    run, calm = made.bad_init(layers=20), made.healthy(layers=20)
    page = opened(run, baseline=calm)
    page.locator("#panel-activations").scroll_into_view_if_needed()
    settled(page)
    canvas = page.locator("#panel-activations .plot > canvas").first
    box = canvas.bounding_box()
    assert box is not None
    said = []
    for share in (0.2, 0.8):
        canvas.hover(position={"x": 64, "y": 6 + share * (box["height"] - 28)})
        settled(page)
        said.append(page.locator("#panel-activations .readout").first.locator("span").last.inner_text())
    assert "baseline" not in said[0]
    assert said[1].startswith("baseline blocks.")
    above, below = (
        page.evaluate(
            """([x, share]) => {
              const canvas = document.querySelector('[data-plot="activations.0"] > canvas');
              const y = 6 + share * (canvas.clientHeight - 28);
              const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
              pen.drawImage(canvas, -x, -y);
              return [...pen.getImageData(0, 0, 1, 1).data];
            }""",
            [66, share],
        )
        for share in (0.2, 0.8)
    )
    assert sum(above[:3]) > sum(below[:3]) + 60  # enormous activations are bright, those of the baseline dark


def test_a_row_of_a_heat_map_that_passes_a_limit_is_marked(opened: Open) -> None:
    def marked(run: Run) -> int:
        page = opened(run)
        page.locator("#panel-dead").scroll_into_view_if_needed()
        settled(page)
        return painted(page, "dead.0", made.STEPS + 3, (0.0, 1.0), "alarm")

    assert marked(made.healthy(layers=20)) == 0
    assert marked(made.bad_init(layers=20)) > 100
