"""Standard output and standard error as sismo uses them: a page that fits the stream, and writing that survives a closed pipe."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, TextIO

from sismo.errors import SismoError

if TYPE_CHECKING:
    from sismo.report.page import Page

_PROBE = "✖▲◆✔●○•└…·"
_STAND_INS = {"−": "-", "±": "+-", "×": "x", "σ": "sigma", "“": '"', "”": '"', "«": '"', "»": '"', "¿": "", "¡": "", "─": "-"}
"""What a stream gets that cannot encode the sign; the rest loses its accent."""

_BLINK = 0.05
"""Seconds between two states of a line that changes: no eye follows more."""

WIDEST = 100
"""Columns beyond which a wide terminal is not used: long lines are hard to read."""


def page(lang: str | None, *, verbose: bool = False) -> Page:
    """The page for standard output: coloured only on a terminal without ``NO_COLOR``, 80 columns when it is not one."""
    # Imported here: this module is loaded for --help too, and these bring numpy.
    from sismo.report.language import language, preferred
    from sismo.report.page import Page

    terminal = _stdout().isatty()
    return Page(
        language(lang or preferred(os.environ)),
        width=min(WIDEST, max(60, _columns())) if terminal else 80,
        colour=terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        unicode=_encodes(sys.stdout, _PROBE),
        verbose=verbose,
    )


class OutputLost(SismoError):
    """Standard output takes nothing: it is closed, or the disk behind it is full."""


def emit(text: str) -> None:
    """Writes text and a newline to standard output. A reader that went away (``| head``) ends the output, not the work.

    Raises ``OutputLost`` when it cannot be written for another reason.
    """
    stream = _stdout()
    try:
        stream.write(_fitting(text, stream) + "\n")
        stream.flush()
    except BrokenPipeError:
        _discard(stream)
    except OSError as error:
        _discard(stream)
        raise OutputLost(f"standard output cannot be written ({error.strerror or error})") from None


def complain(message: str) -> None:
    """One line on standard error."""
    if _closed(sys.stderr):
        return
    try:
        sys.stderr.write(_fitting(f"sismo: {visible(message)}", sys.stderr) + "\n")
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)


def flush() -> None:
    """Empties standard output before the interpreter does, which would complain about a closed pipe."""
    if _closed(sys.stdout):
        return
    try:
        sys.stdout.flush()
    except OSError:
        _discard(sys.stdout)


def visible(text: str) -> str:
    """The text with control characters written out (``\\x1b``): names of files and columns must not steer a terminal."""
    if text.isprintable():
        return text
    return "".join(repr(letter)[1:-1] if _steers(letter) else letter for letter in text)


def _steers(letter: str) -> bool:
    return letter < " " or "\x7f" <= letter < "\xa0" or letter in "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def _stdout() -> TextIO:
    if _closed(sys.stdout):
        raise OutputLost("standard output is closed")
    return sys.stdout


def _closed(stream: TextIO | None) -> bool:
    """Whether the process was started without this stream (``>&-``)."""
    return stream is None or stream.closed


class Progress:
    """One line on standard error that says how far a long job is; silent unless that is a terminal and there is a lot to do."""

    def __init__(self) -> None:
        self._done, self._shown_at = 0, 0.0
        self._shown = not _closed(sys.stderr) and sys.stderr.isatty()

    def advance(self, name: str, total: int) -> None:
        """One more of a total: the one that is about to be read, or was."""
        self._done += 1
        now = time.monotonic()
        if self._shown and total > 1 and (now - self._shown_at >= _BLINK or self._done == total):
            self._shown_at = now
            sys.stderr.write(f"\r\x1b[K{self._done}/{total}  {visible(name[-60:])}")
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
