"""Sentences: filled whatever the numbers are, translated where there is a translation."""

from __future__ import annotations

import pytest

from sismo.errors import UsageError
from sismo.postmortem import Text
from sismo.records.types import Note
from sismo.report.language import Language, language, preferred


@pytest.mark.parametrize(
    ("template", "numbers", "expected"),
    [
        ("loss {loss:.4g}", {"loss": 9.123456}, "loss 9.123"),
        ("loss {loss:.4g}", {"loss": None}, "loss ?"),
        ("loss {loss:.4g}", {}, "loss ?"),
        ("loss {loss:.4g}", {"loss": float("nan")}, "loss NaN"),
        ("loss {loss:d}", {"loss": float("-inf")}, "loss -Inf"),
        ("loss {loss:.4g}", {"loss": "n/a"}, "loss n/a"),
        ("{a.b} {c[d]}", {"a": 1, "c": None}, "? ?"),
        ("100 %, {{}}", {}, "100 %, {}"),
        ("{rows} {rows:row was|rows were}", {"rows": 1}, "1 row was"),
        ("{rows} {rows:row was|rows were}", {"rows": "1"}, "1 row was"),
        ("{rows} {rows:row was|rows were}", {"rows": 0}, "0 rows were"),
        ("{rows} {rows:row was|rows were}", {"rows": 21}, "21 rows were"),
        ("{rows} {rows:row was|rows were}", {}, "? rows were"),
        ("desde {unit:el|la} {unit} 3", {"unit": "paso"}, "desde el paso 3"),
        ("desde {unit:el|la} {unit} 3", {"unit": "época"}, "desde la época 3"),
    ],
)
def test_a_sentence_is_filled_whatever_the_numbers_are(template: str, numbers: dict[str, object], expected: str) -> None:
    assert language("en").say(Text(template, numbers)) == expected


def test_a_sentence_reads_the_same_without_a_language() -> None:
    numbers = {"count": 1}
    template = "{count} {count:line|lines} could not be read and {count:was|were} skipped"
    assert str(Text(template, numbers)) == str(Note("skipped-lines", template, numbers)) == "1 line could not be read and was skipped"
    assert language("es").say(Text(template, numbers)) == "se saltó 1 línea ilegible"


def test_words_among_the_numbers_are_translated_too() -> None:
    spanish = Language("es", {"step": "paso", "at {unit} {step}": "en el {unit} {step}"})
    assert spanish.say(Text("at {unit} {step}", {"unit": "step", "step": 3})) == "en el paso 3"


def test_a_column_keeps_its_name_in_any_language() -> None:
    assert language("es").say(Text("{key}, {title}", {"key": "loss", "title": "loss"})) == "loss, pérdida"


def test_a_remark_among_the_numbers_is_translated() -> None:
    remark = Note("no-step", "rows have no step; they were counted instead")
    assert language("es").say(Text("{remark}", {"remark": remark})) == "las filas no llevan paso; se contaron"
    assert str(Text("{remark}", {"remark": remark})) == remark.text


def test_what_is_not_translated_stays_english() -> None:
    assert language("es").word("no such sentence anywhere") == "no such sentence anywhere"


def test_an_unknown_language_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="en, es"):
        language("fr")


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ({}, "en"),
        ({"LANG": "es_ES.UTF-8"}, "es"),
        ({"LANG": "es_ES.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "C.UTF-8", "SISMO_LANG": "es"}, "es"),
        ({"LANG": "fr_FR"}, "en"),
    ],
)
def test_the_environment_chooses_the_language(environ: dict[str, str], code: str) -> None:
    assert preferred(environ) == code
