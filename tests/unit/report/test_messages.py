"""Every sentence that sismo can say has a Spanish translation with the same numbers in it."""

from __future__ import annotations

import re
import string
import sys

import messages
import pytest
import samples

from sismo.report.language import language

CATALOGUE = messages.catalogue()


def fields(text: str) -> set[tuple[str, str]]:
    """Every number with its format; a plural (``{count:row|rows}``) is each language's own."""
    return {(name, spec or "") for _, name, spec, _ in string.Formatter().parse(text) if name and "|" not in (spec or "")}


def test_the_catalogue_is_what_would_be_written() -> None:
    assert messages.written(CATALOGUE) == (messages.PO.read_bytes(), messages.MO.read_bytes()), "run `make messages`"


def test_every_sentence_is_translated() -> None:
    assert messages.untranslated(CATALOGUE) == []


def test_the_check_fails_where_a_sentence_has_no_translation(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["messages.py", "--check"])
    assert messages.main() == 0
    lacking = messages.catalogue()
    lacking.add("a sentence that nobody has translated", "")
    monkeypatch.setattr(messages, "catalogue", lambda: lacking)
    monkeypatch.setattr(messages, "written", lambda _: (messages.PO.read_bytes(), messages.MO.read_bytes()))
    assert messages.main() == 1
    assert "a sentence that nobody has translated" in capsys.readouterr().out


def test_one_thing_has_one_name_in_spanish() -> None:
    """The loss is la pérdida and the LR la LR; a loss scale is what PyTorch calls it."""
    masculine = re.compile(r"\b(?:el|del|al|un|este|ningún) (?:loss(?! scal| kwargs)|LR)\b|\bnormas? de gradiente", re.IGNORECASE)
    assert [str(message.string) for message in CATALOGUE if message.id and masculine.search(str(message.string))] == []


def test_a_word_of_the_field_is_not_translated_here_and_kept_there() -> None:
    """A batch is no lote, a file an archivo, and the reader is spoken to as tú; numbers are written as the reports write them."""
    names = r"lotes?|ficheros?|tasa de aprendizaje|la loss scale|mesetas?|desbordamientos?|escala de (?:la )?pérdida|decaimiento"
    polite = r"Dé|Lea|Siga|Vuelva|Mire|Use|Haga|indique"
    other = re.compile(rf"\b(?:{names}|{polite})\b|\d,\d|[1-9]\.\d{{3}}\b")
    assert [str(message.string) for message in CATALOGUE if message.id and other.search(str(message.string))] == []


def test_a_translation_keeps_the_numbers() -> None:
    pairs = [(str(message.id), str(message.string)) for message in CATALOGUE if message.id and message.string]
    assert [pair for pair in pairs if fields(pair[0]) != fields(pair[1])] == []


def test_every_verdict_is_in_the_catalogue() -> None:
    templates = {samples.BROKEN.verdict.template, samples.HEALTHY.verdict.template, samples.UNJUDGED.verdict.template, *messages.verdicts()}
    assert [template for template in templates if template not in CATALOGUE] == []


def test_the_compiled_catalogue_is_what_a_report_reads() -> None:
    assert language("es").word("Do first") == "Lo primero"
