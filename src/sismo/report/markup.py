"""HTML out of plain values: whatever is not markup already is escaped, so nothing that a log says can become a tag."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape


class Markup(str):
    """Text that is markup already. Only ``tag`` and ``join`` make it."""

    __slots__ = ()


def tag(name: str, /, *children: str | None, **attributes: str | float | bool | None) -> Markup:
    """An element. Children that are not ``Markup`` are escaped; ``class_`` and ``data_step`` become ``class`` and ``data-step``.

    An attribute that is None or False is left out; True is one without a value.
    """
    parts = [name]
    for key, value in attributes.items():
        label = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(label)
        elif value is not None and value is not False:
            parts.append(f'{label}="{escape(_visible(str(value)))}"')
    opening = " ".join(parts)
    # In a picture an element that is not closed would swallow those after it, hence the slash.
    return Markup(f"<{opening}/>" if name in _VOID else f"<{opening}>{join(children)}</{name}>")


def join(children: Iterable[str | None], between: str = "") -> Markup:
    """Several pieces behind each other, escaped where they are not markup."""
    kept = [child if isinstance(child, Markup) else escape(_visible(child)) for child in children if child]
    return Markup(between.join(kept))


def raw(text: str) -> Markup:
    """Takes text for markup. For the page's own style and script, never for anything that was read."""
    return Markup(text)


def data(value: object) -> Markup:
    """A value as JSON that is safe between ``<script>`` tags: no ``<`` can end the element, no number is one that JSON lacks."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text.translate(_TURNING).encode("utf-8", "replace").decode("utf-8"))


_TURNING = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")
"""Signs that turn the direction of what stands after them: with them a name could rewrite the sentence that it stands in."""

_VOID = {"meta", "link", "br", "circle", "line", "path", "rect"}


def _visible(text: str) -> str:
    """The text without control characters, lone surrogates, which no encoding of a page can hold, and signs that turn its direction."""
    whole = text.translate(_TURNING).encode("utf-8", "replace").decode("utf-8")
    return "".join(sign if sign >= " " or sign in "\n\t" else "\ufffd" for sign in whole)
