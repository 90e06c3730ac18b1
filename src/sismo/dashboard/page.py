"""The page: one file with its style, its script and its data inside, which opens from disk and asks no network for anything."""

from __future__ import annotations

from collections.abc import Sequence

from sismo.dashboard.causes import causes
from sismo.dashboard.drawing import draw
from sismo.dashboard.grid import grid
from sismo.dashboard.panel import Limits
from sismo.dashboard.path import picture
from sismo.dashboard.reading import reading
from sismo.dashboard.shell import asset, shell
from sismo.dashboard.verdict import state, verdict
from sismo.postmortem import PostMortem
from sismo.records.types import Run
from sismo.report.language import Language
from sismo.report.markup import Markup, data, join, raw, tag

SCRIPTS = (
    "words",
    "decode",
    "axes",
    "colours",
    "state",
    "lines",
    "heat",
    "marks",
    "legend",
    "moves",
    "chart",
    "strip",
    "path",
    "page",
    "live",
)
"""Parts of the script in the order in which they need each other."""


def render(
    document: PostMortem,
    run: Run,
    language: Language,
    limits: Limits | None = None,
    *,
    baseline: Run | None = None,
    extra: Sequence[Markup] = (),
    live: bool = False,
) -> str:
    """The page as text.

    Arguments:
        document: what was found. run: the run that it is about. language: what the page is written in.
        limits: thresholds by name, drawn where a rule uses one.
        baseline: a run to lay under this one. extra: sections that go between the verdict and the panels.
        live: whether the page asks the server that it came from for a newer one.
    """
    drawing = draw(document, run, language, limits or {}, baseline)
    title = f"{document.path} {document.name}".strip()
    facts = {**drawing.facts, "words": _words(language), "baseline": baseline.path if baseline is not None else ""}
    main = tag(
        "main",
        verdict(document, drawing.shown, language),
        *extra,
        picture(document, language),
        grid(drawing.shown, document.step_unit, language),
        causes(document, language),
        reading(document, run, language, drawing.whole),
        tag("script", data(facts), type="application/json", id="facts"),
        tag("script", raw(drawing.packed.text), type="text/plain", id="series"),
    )
    bar = tag(
        "header",
        tag("span", "sismo", class_="brand"),
        tag("span", title, class_="run", title=title),
        tag("span", f"{document.source} · {document.preset}", class_="source"),
        tag("button", "◐", type="button", id="theme", title=language.word("dark or light"), aria_label=language.word("dark or light")),
    )
    style, script = asset("page.css"), join(asset(f"{name}.js") for name in SCRIPTS)
    # One function around all parts: nothing leaks into the page, and the parts see each other.
    script = raw(f'(() => {{\n"use strict";\n{script}\n}})();')
    skip = tag("a", language.word("Skip to the panels"), href="#panel-loss", class_="skip")
    heading = f"{language.say(document.verdict)} · sismo"
    return shell(heading, (skip, bar, main), style, script, language=language.code, state=state(document), live=live)


def _words(language: Language) -> dict[str, str]:
    """What the script says."""
    word = language.word
    return {
        "baseline": word("baseline"),
        "to": word("to"),
        "log": word("log axis"),
        "series": word("{count} series; dark is low, bright is high"),
        "outline": word("outline: lowest and highest"),
        "stale": word("The server is gone; this is the last state."),
        "code": language.code,
    }
