"""Every sentence that sismo can say has a Spanish translation with the same numbers in it."""

from __future__ import annotations

import string

import messages
import pytest

from sismo.report.language import language

CATALOGUE = messages.catalogue()
TRANSLATED = [message for message in CATALOGUE if message.id and message.string]


def fields(text: str) -> set[tuple[str, str]]:
    return {(name, spec or "") for _, name, spec, _ in string.Formatter().parse(text) if name}


def test_the_catalogue_is_what_would_be_written() -> None:
    assert messages.written(CATALOGUE) == (messages.PO.read_bytes(), messages.MO.read_bytes()), "run `make messages`"


def test_every_sentence_is_translated() -> None:
    assert messages.untranslated(CATALOGUE) == []


@pytest.mark.parametrize("message", TRANSLATED, ids=lambda message: str(message.id)[:40])
def test_a_translation_keeps_the_numbers(message: object) -> None:
    assert fields(str(message.string)) == fields(str(message.id))  # type: ignore[attr-defined]


def test_the_compiled_catalogue_is_what_a_report_reads() -> None:
    assert language("es").word("Do first") == "Lo primero"
