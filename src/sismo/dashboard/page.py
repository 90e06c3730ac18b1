"""The page: one file with its style, its script and its data inside, which opens from disk and asks no network for anything."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from sismo.dashboard.causes import causes
from sismo.dashboard.drawing import draw
from sismo.dashboard.grid import grid
from sismo.dashboard.markup import Markup, data, join, raw, tag
from sismo.dashboard.panel import Limits
from sismo.dashboard.path import picture
from sismo.dashboard.reading import reading
from sismo.dashboard.verdict import state, verdict
from sismo.postmortem import PostMortem
from sismo.records.types import Run
from sismo.report.language import Language

ASSETS = Path(__file__).parent / "assets"

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
        tag("span", f"{document.source} · {language.word(document.preset)}", class_="source"),
        tag("button", "◐", type="button", id="theme", title=language.word("dark or light"), aria_label=language.word("dark or light")),
    )
    style, script = _asset("page.css"), join(_asset(f"{name}.js") for name in SCRIPTS)
    # One function around all parts: nothing leaks into the page, and the parts see each other.
    script = raw(f'(() => {{\n"use strict";\n{script}\n}})();')
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script, live=live)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"{language.say(document.verdict)} · sismo"),
        tag("style", style),
    )
    body = tag("body", tag("a", language.word("Skip to the panels"), href="#panel-loss", class_="skip"), bar, main, tag("script", script))
    return "<!doctype html>\n" + tag("html", head, body, lang=language.code, data_state=state(document), data_live=live) + "\n"


def _policy(style: str, script: str, *, live: bool) -> str:
    """Nothing may run or load but what is on this page; a live page may ask its own server."""
    rules = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "img-src data:"]
    rules += [f"{kind}-src '{_digest(text)}'" for kind, text in (("style", style), ("script", script))]
    return "; ".join([*rules, "connect-src 'self'"] if live else rules)


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}"


@cache
def _asset(name: str) -> Markup:
    return raw((ASSETS / name).read_text(encoding="utf-8"))


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
