"""The window around an onset as SVG: the same numbers give the same bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sismo.incident.types import Picture
from sismo.records.types import Series
from sismo.report.language import Language
from sismo.report.markup import Markup, join, tag

WIDTH, HEIGHT = 380, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 48, 26
_COLOURS = ("#1f5fbf", "#c2571a", "#2a8a57", "#8a4fbf")
_MARK, _LOST, _INK, _FAINT = "#b3261e", "#b3261e", "#222222", "#d5d5d5"
_LOGARITHMIC = 50.0
"""Highest over lowest value beyond which a logarithmic axis shows more."""


class _Axes:
    """Where steps and values come to lie."""

    def __init__(self, picture: Picture) -> None:
        (self.first, last), values = picture.span, _finite(picture.curves)
        self.last = last if last > self.first else self.first + 1
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        self.log = low > 0 and high / low > _LOGARITHMIC
        if high == low:
            low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
        self.low, self.high = low, high

    def x(self, step: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (step - self.first) / (self.last - self.first)

    def y(self, value: float) -> float:
        low, high, at = (math.log(v) for v in (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * (at - low) / (high - low)


def draw(picture: Picture, language: Language) -> Markup:
    """One picture as an ``svg`` element."""
    axes = _Axes(picture)
    title = language.say(picture.title)
    pieces: list[Markup] = [
        tag("title", title),
        tag("rect", width=WIDTH, height=HEIGHT, fill="#ffffff"),
        _text(8, 16, title, weight="600"),
        *_frame(axes, picture, language),
        *(piece for place, curve in enumerate(picture.curves) for piece in _curve(curve, axes, _COLOURS[place])),
        *_legend(picture.curves),
    ]
    return tag("svg", *pieces, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img",
               font_family="system-ui, sans-serif", font_size="11")  # fmt: skip


def sheet(pictures: Sequence[Picture], language: Language) -> str:
    """All pictures in two columns as one SVG file."""
    rows = -(-len(pictures) // 2)
    placed = [
        tag("g", draw(picture, language), transform=f"translate({(place % 2) * WIDTH} {(place // 2) * HEIGHT})")
        for place, picture in enumerate(pictures)
    ]
    # Nested pictures need a size of their own, or each would fill the sheet.
    sized = Markup(str(join(placed)).replace("<svg ", f'<svg width="{WIDTH}" height="{HEIGHT}" '))
    width, height = 2 * WIDTH, rows * HEIGHT
    background = tag("rect", width=width, height=height, fill="#ffffff")
    return str(
        tag("svg", background, sized, xmlns="http://www.w3.org/2000/svg", width=width, height=height, viewBox=f"0 0 {width} {height}")
    )


def _frame(axes: _Axes, picture: Picture, language: Language) -> Iterator[Markup]:
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    for value in (axes.low, math.sqrt(axes.low * axes.high) if axes.log else (axes.low + axes.high) / 2, axes.high):
        y = _n(axes.y(value))
        yield tag("line", x1=_LEFT, x2=right, y1=y, y2=y, stroke=_FAINT)
        yield _text(_LEFT - 5, float(y) + 4, f"{value:.3g}", anchor="end")
    yield _text(_LEFT, bottom + 16, f"{picture.span[0]:,}")
    yield _text(right, bottom + 16, f"{picture.span[1]:,}", anchor="end")
    if picture.mark is not None:
        x = axes.x(picture.mark)
        yield tag("line", x1=_n(x), x2=_n(x), y1=_TOP, y2=bottom, stroke=_MARK, stroke_dasharray="4 3")
        if 0.2 < (x - _LEFT) / (right - _LEFT) < 0.8:  # else it would lie over the first or the last step
            yield _text(x, bottom + 16, f"{picture.mark:,}", anchor="middle", fill=_MARK)
    if axes.log:
        yield _text(right, 16, language.word("logarithmic"), anchor="end", fill="#666666")


def _curve(curve: Series, axes: _Axes, colour: str) -> Iterator[Markup]:
    """A line through finite rows, broken where one is not, and crosses over the rows that are lost."""
    pieces: list[str] = []
    lifted = True
    for step, value in zip(curve.steps.tolist(), curve.values.tolist(), strict=True):
        if math.isfinite(value):
            pieces.append(f"{'M' if lifted else 'L'}{_n(axes.x(step))} {_n(axes.y(value))}")
        else:
            x = _n(axes.x(step))
            yield tag("line", x1=x, x2=x, y1=_TOP, y2=_TOP + 6, stroke=_LOST)
        lifted = not math.isfinite(value)
    if len(pieces) == 1 or (pieces and len(curve) <= 30):
        for piece in pieces:
            x, y = piece[1:].split(" ")
            yield tag("circle", cx=x, cy=y, r=2, fill=colour)
    if pieces:
        yield tag("path", d="".join(pieces), fill="none", stroke=colour, stroke_width="1.4")


def _legend(curves: Sequence[Series]) -> Iterator[Markup]:
    x = 8.0
    for place, curve in enumerate(curves):
        name = curve.channel if len(curve.channel) <= 24 else f"…{curve.channel[-23:]}"
        if x + 14 + 6 * len(name) > WIDTH:
            return
        yield tag("rect", x=_n(x), y=26, width=8, height=8, fill=_COLOURS[place])
        yield _text(x + 12, 34, name)
        x += 22 + 6 * len(name)


def _text(x: float, y: float, text: str, *, anchor: str | None = None, weight: str | None = None, fill: str = _INK) -> Markup:
    return tag("text", text, x=_n(x), y=_n(y), text_anchor=anchor, font_weight=weight, fill=fill)


def _finite(curves: Sequence[Series]) -> np.ndarray:
    values = np.concatenate([curve.values for curve in curves])
    return values[np.isfinite(values)]


def _n(value: float) -> str:
    """A coordinate with one digit behind the point."""
    return f"{value:.1f}"
