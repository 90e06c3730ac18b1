"""A page of text: its width, colours, marks and language, and the few shapes that every report is put together from."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

from sismo.postmortem import Text
from sismo.report.language import Language

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "bold": "1", "dim": "2"}

_MARKS = {
    "broken": ("✖", "x"),
    "warning": ("▲", "!"),
    "note": ("◆", "i"),
    "healthy": ("✔", "+"),
    "none": ("✔", "+"),
    "unjudged": ("?", "?"),
    "yes": ("●", "*"),
    "no": ("○", "-"),
    "unknown": ("?", "?"),
    "bullet": ("•", "-"),
    "under": ("└", "`"),
    "more": ("…", "..."),
    "between": ("·", "-"),
}
"""Each mark in Unicode, and for a stream that cannot encode it."""

TONES = {"broken": "red", "warning": "yellow", "note": "blue", "healthy": "green", "none": "green", "unjudged": "magenta",
         "yes": "yellow", "no": "dim", "unknown": "dim"}  # fmt: skip
"""The colour of each severity and answer."""


@dataclass(frozen=True, slots=True)
class Page:
    """Where a report is printed. All methods return lines or parts of a line; nothing is printed here.

    Attributes:
        language: what it is written in.
        width: columns. colour: whether escape codes are wanted. unicode: whether the stream can encode the marks.
        verbose: whether everything is to be shown.
    """

    language: Language
    width: int = 80
    colour: bool = False
    unicode: bool = True
    verbose: bool = False

    def word(self, english: str) -> str:
        """The text in the language of the page."""
        return self.language.word(english)

    def say(self, text: Text) -> str:
        """The sentence in the language of the page, on one line."""
        return " ".join(self.language.say(text).split())

    def mark(self, name: str) -> str:
        """A mark that the stream can show."""
        return _MARKS[name][0 if self.unicode else 1]

    def paint(self, text: str, *tones: str) -> str:
        """The text in a colour, where colours are wanted."""
        if not self.colour or not tones:
            return text
        return f"\x1b[{';'.join(_COLOURS[tone] for tone in tones)}m{text}\x1b[0m"

    def clip(self, text: str, width: int) -> str:
        """The text cut at a word to fit a width, with an ellipsis where something was cut."""
        if len(text) <= width:
            return text
        more = self.mark("more")
        kept = text[: max(0, width - len(more))]
        head, space, _ = kept.rpartition(" ")
        # A cut inside a word is better than losing half of the line to one long word.
        return (head if space and len(head) > width * 0.6 else kept).rstrip(" ,;:(") + more

    def hang(self, lead: str, text: str, indent: int | None = None) -> list[str]:
        """The text wrapped behind a lead, later lines under its first one (or at ``indent``)."""
        column = len(lead) if indent is None else indent
        lines = wrap(text, max(20, self.width - column), break_long_words=True, break_on_hyphens=False) or [""]
        return [(lead + lines[0]).rstrip(), *(" " * column + line for line in lines[1:])]

    def heading(self, title: str, right: str = "") -> str:
        """A heading, with something at the right margin."""
        title = self.clip(title, self.width - len(right) - 1 if right else self.width)
        gap = " " * (self.width - len(title) - len(right)) if right else ""
        return self.paint(title, "bold") + gap + (self.paint(right, "dim") if right else "")
