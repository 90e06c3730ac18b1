"""The page as text: what it holds, in which order, and what it never asks for."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import samples
from browser import made

import sismo
from sismo.dashboard import page
from sismo.dashboard.alarms import alarms
from sismo.dashboard.drawing import MANY, draw
from sismo.dashboard.registry import panels
from sismo.dashboard.shell import ASSETS
from sismo.postmortem import PostMortem
from sismo.records.types import Event, Header, Run, Series
from sismo.report.language import language
from sismo.signals.presets import preset

EN = language("en")
EMPTY = Run("none", Header("made"), {})


def test_panels_stand_in_the_order_of_the_user() -> None:
    order = ["loss", "learning-rate", "grad-norm", "activations", "spectral", "dead", "loss-scale", "batches", "classes", "weights"]
    assert [panel.id for panel in panels()] == order
    assert [panel.number for panel in panels()] == [*range(1, 10), 3]


def test_a_sentence_and_the_page_give_a_channel_the_same_number() -> None:
    from sismo.dashboard.registry import panel_of as drawn_on
    from sismo.records.channels import FAMILIES, panel_of

    for family in FAMILIES:
        said, drawn = panel_of(family), drawn_on(f"{family}/any") or drawn_on(family)
        if said and drawn is not None:
            assert int(said.split()[1].rstrip(",")) == drawn.numbers["number"], family


@pytest.mark.parametrize("document", [samples.BROKEN, samples.HEALTHY, samples.UNJUDGED], ids=["broken", "healthy", "unjudged"])
@pytest.mark.parametrize("lang", ["en", "es"])
def test_every_document_makes_a_page_that_stands_alone(document: PostMortem, lang: str) -> None:
    text = page.render(document, EMPTY, language(lang))
    assert text.startswith("<!doctype html>")
    assert f'lang="{lang}"' in text
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]+"', text)
    assert "http://" not in text
    assert "https://" not in text


def test_the_panel_that_cried_first_is_marked() -> None:
    run = made.no_warmup()
    cried = alarms(sismo.diagnose(run), panels())
    assert next(iter(cried.items())) == ("learning-rate", 0)
    assert list(cried.values()) == sorted(cried.values())


def test_a_note_does_not_make_a_panel_cry() -> None:
    healthy = sismo.diagnose(made.healthy())
    assert healthy.healthy is True
    assert alarms(healthy, panels()) == {}


def test_a_note_is_shown_at_the_top_and_on_its_panel() -> None:
    run = made.healthy()
    lr = run.series["lr/0"]
    header = run.header._replace(warmup_steps=None)
    peak = dataclasses.replace(run, header=header, series={**run.series, "lr/0": Series("lr/0", lr.steps, np.full(len(lr), made.PEAK))})
    document = sismo.diagnose(peak)
    assert document.healthy is True
    assert [cause.severity for cause in document.causes if cause.id == "missing-warmup"] == ["note"]
    text = page.render(document, peak, EN)
    assert text.index("missing-warmup") < text.index('id="path-title"')
    assert re.search(r'id="panel-learning-rate"[^>]*>.*?◆ note · step 0', text)
    assert "cried first" not in text[: text.index('id="facts"')]


def test_an_optional_plot_that_is_0_all_over_is_a_sentence() -> None:
    run = made.healthy()
    steps = run.series["loss/train"].steps
    still = Series("act_nonfinite/blocks.0", steps, np.zeros(steps.size))
    one = Series("act_nonfinite/blocks.0", steps, np.eye(1, steps.size, 7)[0])
    said = [page.render(samples.HEALTHY, Run("x", run.header, {**run.series, series.channel: series}), EN) for series in (still, one)]
    assert ["0 in every row of 1 series" in text for text in said] == [True, False]
    assert ['data-plot="activations.2"' in text for text in said] == [False, True]


def test_panels_without_data_are_missing_and_the_optional_ones_left_out() -> None:
    drawing = draw(samples.HEALTHY, EMPTY, EN, {})
    assert all(place.missing for place in drawing.shown)
    assert [place.panel.number for place in drawing.shown] == list(range(1, 10))


def test_rules_draw_their_lines() -> None:
    drawing = draw(sismo.diagnose(made.no_warmup()), made.no_warmup(), EN, preset("robust").values)
    lines = {(plot["panel"], line["label"]) for plot in drawing.facts["plots"] for line in plot["lines"]}  # type: ignore[attr-defined]
    assert {panel for panel, _ in lines} == {"loss", "learning-rate", "grad-norm", "activations", "dead"}


def test_more_than_a_dozen_layers_are_a_heat_map() -> None:
    for layers in (MANY, MANY + 1):
        plots = draw(samples.HEALTHY, made.healthy(steps=30, layers=layers), EN, {}).facts["plots"]
        heat = next(plot["heat"] for plot in plots if plot["panel"] == "activations")  # type: ignore[attr-defined]
        assert heat is (layers > MANY)


def test_thousands_of_overflows_are_few_marks_that_count_them() -> None:
    events = tuple(Event(step, "overflow", {}) for step in range(0, 50_000, 5))
    marks = draw(samples.HEALTHY, Run("many", Header("made"), made.healthy().series, events), EN, {}).facts["marks"]
    assert len(marks) <= 401  # type: ignore[arg-type]
    assert sum(mark["count"] for mark in marks) == 10_000  # type: ignore[attr-defined]


def test_every_part_of_the_script_is_used_and_parses(tmp_path: Path) -> None:
    assert sorted(f"{name}.js" for name in page.SCRIPTS) == sorted(file.name for file in ASSETS.glob("*.js"))
    assert all(len(file.read_text(encoding="utf-8").splitlines()) <= 400 for file in ASSETS.iterdir())
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to parse with")
    whole = tmp_path / "whole.js"
    whole.write_text("\n".join((ASSETS / f"{name}.js").read_text(encoding="utf-8") for name in page.SCRIPTS), encoding="utf-8")
    subprocess.run([node, "--check", str(whole)], check=True, capture_output=True)
