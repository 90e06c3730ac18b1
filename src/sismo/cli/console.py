"""Standard output and standard error as sismo uses them: a page that fits the stream, and writing that survives a closed pipe."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from sismo.report.page import Page

_PROBE = "✖▲◆✔●○•└…·"
_STAND_INS = {"−": "-", "±": "+-", "×": "x", "σ": "sigma", "“": '"', "”": '"', "«": '"', "»": '"', "¿": "", "¡": "", "─": "-"}
"""What a stream gets that cannot encode the sign; the rest loses its accent."""

_WIDEST = 100
"""Columns beyond which a wide terminal is not used: long lines are hard to read."""


def page(lang: str | None, *, verbose: bool = False) -> Page:
    """The page for standard output: coloured only on a terminal without ``NO_COLOR``, 80 columns when it is not one."""
    # Imported here: this module is loaded for --help too, and these bring numpy.
    from sismo.report.language import language, preferred
    from sismo.report.page import Page

    terminal = sys.stdout.isatty()
    return Page(
        language(lang or preferred(os.environ)),
        width=min(_WIDEST, max(60, _columns())) if terminal else 80,
        colour=terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        unicode=_encodes(sys.stdout, _PROBE),
        verbose=verbose,
    )


def emit(text: str) -> None:
    """Writes text and a newline to standard output. A reader that went away (``| head``) ends the output, not the work."""
    stream = sys.stdout
    try:
        stream.write(_fitting(text, stream) + "\n")
        stream.flush()
    except BrokenPipeError:
        _discard(stream)


def complain(message: str) -> None:
    """One line on standard error."""
    try:
        sys.stderr.write(_fitting(f"sismo: {message}", sys.stderr) + "\n")
        sys.stderr.flush()
    except BrokenPipeError:
        _discard(sys.stderr)


def flush() -> None:
    """Empties standard output before the interpreter does, which would complain about a closed pipe."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)


class Progress:
    """One line on standard error that says how far a long job is; silent unless that is a terminal and there is a lot to do."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._shown = total > 1 and sys.stderr.isatty()

    def advance(self, name: str) -> None:
        """One more is about to be read."""
        self._done += 1
        if self._shown:
            sys.stderr.write(f"\r\x1b[K{self._done}/{self._total}  {name[-60:]}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Takes the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 80


def _encodes(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _fitting(text: str, stream: TextIO) -> str:
    """The text with what the stream cannot encode replaced by its plain letter, or else by a question mark."""
    if _encodes(stream, text):
        return text
    return "".join(letter if _encodes(stream, letter) else _plain(letter, stream) for letter in text)


def _plain(letter: str, stream: TextIO) -> str:
    import unicodedata

    base = _STAND_INS[letter] if letter in _STAND_INS else unicodedata.normalize("NFKD", letter)[0]
    return base if _encodes(stream, base) else "?"


def _discard(stream: TextIO) -> None:
    """Points the stream at nothing, so that neither we nor the interpreter meet the closed pipe again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
