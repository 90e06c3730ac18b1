"""The panels as the script finds them: a heading, a canvas for each plot, and for what was not recorded how to record it."""

from __future__ import annotations

from collections.abc import Sequence

from sismo.dashboard.drawing import Drawn, Shown
from sismo.postmortem import NOT_HERE
from sismo.report.language import Language
from sismo.report.markup import Markup, tag


def grid(shown: Sequence[Shown], unit: str, language: Language) -> Markup:
    """The section with the navigator and all panels."""
    word = language.word
    buttons = [
        tag("button", text, type="button", id=f"go-{name}", title=hint, aria_label=hint)
        for name, text, hint in (
            ("in", "+", word("zoom in")),
            ("out", "−", word("zoom out")),
            ("left", "←", word("earlier")),
            ("right", "→", word("later")),
            ("all", word("whole run"), word("show the whole run")),
        )
    ]
    strip = tag("canvas", id="strip", tabindex=0, role="slider", aria_label=word("The whole run; drag to choose a part of it"))
    bar = tag(
        "div",
        tag("output", id="range"),
        tag("div", *buttons, class_="buttons", role="group", aria_label=word("Steps in view")),
        strip,
        class_="navigator",
    )
    keys = word("Drag to zoom, Shift and drag to move, Ctrl and wheel to zoom, double click for the whole run; arrow keys, + and − too.")
    hint = tag("p", keys, class_="hint")
    kinds = tag("p", id="kinds", class_="legend")
    panels = tag("div", *(_panel(place, unit, language) for place in shown), class_="grid")
    return tag("section", tag("h2", word("Panels")), bar, kinds, panels, hint, class_="panels")


def _panel(place: Shown, unit: str, language: Language) -> Markup:
    panel, words = (
        place.panel,
        [name for name, on in (("missing", place.missing), ("alarm", place.alarm is not None), ("first", place.first)) if on],
    )
    head = tag(
        "figcaption", tag("span", str(panel.number), class_="number"), tag("h3", language.say(panel.title)), _flag(place, unit, language)
    )
    about = tag("p", language.say(panel.asks), class_="asks")
    # One sentence for a panel that is missing as a whole; one for each plot of a panel that is there in part.
    plots = [_missing(place.drawn[0], language)] if place.missing else [_plot(place, one, language) for one in place.drawn]
    return tag("figure", head, about, *plots, id=f"panel-{panel.id}", class_=" ".join(["panel", *words]), tabindex=-1)


def _flag(place: Shown, unit: str, language: Language) -> Markup | None:
    if place.alarm is not None:
        text = language.word("cried first") if place.first else language.word("alarm")
        return tag("span", f"⚑ {text} · {language.word(unit)} {place.alarm:,}", class_="flag")
    if place.missing:
        return tag("span", language.word("not recorded"), class_="flag")
    if place.noted is not None:
        return tag("span", f"◆ {language.word('note')} · {language.word(unit)} {place.noted:,}", class_="flag noted")
    return None


def _plot(place: Shown, one: Drawn, language: Language) -> Markup:
    if not one.members:
        return tag("div", tag("h4", language.say(one.plot.title)), _missing(one, language), class_="plot")
    title, panel = language.say(one.plot.title), language.say(place.panel.title)
    heading = tag("h4", title) if len(place.drawn) > 1 or title != panel else None
    name = title if title == panel else f"{panel}: {title}"
    at = place.panel.plots.index(one.plot)
    if one.nothing:
        said = language.fill("0 in every row of {count} series", count=one.members)
        return tag("div", tag("h4", title), tag("p", said, class_="asks"), class_="plot still")
    canvas = tag("canvas", tabindex=0, role="slider", aria_label=name)
    return tag("div", heading, tag("p", class_="keys"), canvas, class_="plot", data_plot=f"{place.panel.id}.{at}")


def _missing(one: Drawn, language: Language) -> Markup:
    if one.record == NOT_HERE:
        return tag("p", language.word("The recorder found none of it in this model and its batches."), class_="nothing")
    silent = tag("b", language.word("Nothing was recorded here, so nothing is known."))
    return tag("p", silent, " ", language.fill("To fill it: {how}.", how=language.say(one.record)), class_="nothing")
