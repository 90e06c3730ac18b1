"""Sentences in the reader's language. Message ids are the English templates, so English needs no catalogue at all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sismo.errors import UsageError
from sismo.postmortem import Text
from sismo.records import sentence
from sismo.records.types import Note

LANGUAGES = ("en", "es")

_AS_LOGGED = frozenset({"key", "keys", "others", "parts", "path", "line"})
"""Fields that hold names and lines as the log has them: a column called loss is not to be found under pérdida."""

LOCALE = Path(__file__).parent / "locale"


class Language:
    """One language: ``word`` for fixed text, ``say`` for a sentence with numbers in it."""

    def __init__(self, code: str, messages: Mapping[str, str]) -> None:
        self.code = code
        self._messages = messages

    def word(self, english: str) -> str:
        """The text in this language; English where it is not translated."""
        return self._messages.get(english, english)

    def say(self, text: Text) -> str:
        """The sentence with its numbers filled in. Words among the numbers (a title, a unit) are translated too."""
        return sentence.fill(self.word(text.template), {name: self._value(name, value) for name, value in text.numbers.items()})

    def _value(self, name: str, value: object) -> object:
        if isinstance(value, Text):
            return self.say(value)
        if isinstance(value, Note):
            return self.say(Text(value.text, value.numbers))
        return self.word(value) if isinstance(value, str) and name not in _AS_LOGGED else value

    def fill(self, english: str, **numbers: object) -> str:
        """``say`` for a sentence of the report itself."""
        return self.say(Text(english, numbers))


@cache
def language(code: str) -> Language:
    """The language of a code. Raises ``UsageError`` for one that is not in ``LANGUAGES``."""
    if code not in LANGUAGES:
        raise UsageError(f"no language is called {code!r}; there are {', '.join(LANGUAGES)}")
    return Language(code, {} if code == "en" else _messages(LOCALE / code / "LC_MESSAGES" / "sismo.mo"))


def preferred(environ: Mapping[str, str]) -> str:
    """The code of the language that the environment asks for, English where that is none of ours."""
    for name in ("SISMO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name, ""):
            code = value[:2].lower()
            return code if code in LANGUAGES else "en"
    return "en"


def _messages(path: Path) -> Mapping[str, str]:
    from gettext import GNUTranslations

    with path.open("rb") as file:
        catalogue: dict[Any, str] = getattr(GNUTranslations(file), "_catalog")  # noqa: B009 - the only way to the plain mapping
    return {key: value for key, value in catalogue.items() if key and value}
