"""Writing a post-mortem again: the parts are new, and not a word of a person is lost."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from sismo.report.incident.keep import compose, merge, touched

NAMES = ("verdict", "symptoms", "cause", "lesson")
OLD = [(name, f"## {name}\n\nold words of {name}\n") for name in NAMES]
NEW = [(name, f"## {name}\n\nnew numbers of {name}") for name in NAMES]

words = st.text(alphabet="abcXYZ 0189-<>!/:#`\n\r\té→", min_size=1, max_size=40)
edits = st.lists(st.tuples(st.integers(0, 2000), st.sampled_from(["insert", "delete"]), words), max_size=6)


def test_untouched_it_is_written_anew() -> None:
    assert merge(compose(OLD), NEW) == (compose(NEW), [])
    assert not touched(compose(OLD))


def test_what_stands_between_the_parts_stays() -> None:
    document = compose(OLD).replace("<!-- sismo:cause", "My own note.\n\n<!-- sismo:cause")
    merged = merge(document, NEW)
    assert merged.text == compose(NEW).replace("<!-- sismo:cause", "My own note.\n\n<!-- sismo:cause")
    assert touched(document)


def test_a_part_that_was_changed_is_its_authors() -> None:
    document = compose(OLD).replace("old words of cause", "it was the new shard")
    merged = merge(document, NEW)
    assert "it was the new shard" in merged.text
    assert "new numbers of cause" not in merged.text
    assert "new numbers of symptoms" in merged.text
    assert merged.kept == ["cause"]
    assert merge(merged.text, NEW) == merged


def test_a_part_that_was_deleted_comes_back_in_its_place() -> None:
    for name in NAMES:
        document = re.sub(rf"<!-- sismo:{name} .*<!-- /sismo:{name} -->\n*", "", compose(OLD), flags=re.DOTALL)
        merged = merge(document, NEW).text
        assert re.findall(r"<!-- sismo:(\w+)", merged) == list(NAMES)
        assert merge(merged, NEW).text == merged


def test_an_editors_line_ends_are_no_change() -> None:
    document = compose(OLD).replace("\n", "\r\n").replace("words of cause", "words of cause  ")
    assert merge(document, NEW).kept == []


def test_a_copied_part_is_not_written_twice() -> None:
    document = compose(OLD) + compose(OLD[2:3])
    merged = merge(document, NEW).text
    assert merged.count("new numbers of cause") == 1
    assert merged.count("old words of cause") == 1


def test_a_lost_end_makes_it_a_persons_text() -> None:
    document = compose(OLD).replace("<!-- /sismo:symptoms -->", "")
    merged = merge(document, NEW).text
    assert "old words of symptoms" in merged
    assert "new numbers of symptoms" in merged


def test_what_a_log_says_cannot_end_a_part() -> None:
    parts = [("cause", "a path <!-- /sismo:cause --> in it <!-- sismo:cause 00000000 -->")]
    assert merge(compose(parts), NEW[2:3]) == (compose(NEW[2:3]), [])


def _pieces(document: str) -> set[str]:
    """The lines of a document without the comments that mark its parts."""
    return {piece.strip() for line in document.splitlines() for piece in re.split(r"<!-- /?sismo:[^>\n]*-->", line)}


@given(edits)
def test_no_word_that_a_person_wrote_is_lost(changes: list[tuple[int, str, str]]) -> None:
    """Whatever is done to a document: what was not in it before is still there after it is written again, once and for all."""
    document = compose(OLD)
    for place, what, text in changes:
        at = place % (len(document) + 1)
        document = document[:at] + (text + document[at:] if what == "insert" else document[at + len(text) :])
    merged = merge(document, NEW)
    for piece in _pieces(document) - _pieces(compose(OLD)):
        assert piece in merged.text
    assert merge(merged.text, NEW) == merged
    assert all(f"sismo:{name}" in merged.text for name in NAMES)
