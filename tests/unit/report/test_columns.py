"""Columns fit their page, and no cell loses anything."""

from __future__ import annotations

import pytest

from sismo.report.columns import columns

WORDS = ("replay", "gradient norm", "loss after it", "what it says")
LONG = [WORDS, ("fresh optimizer state", "0.5", "2.31", "rules out the optimizer's state"), ("in fp32", "nan", "nan", "")]
NAMES = [("module", "shape"), ("transformer.blocks.11.attention.output_projection", "8×24×32"), ("head", "8×24×64")]


@pytest.mark.parametrize("rows", [LONG, NAMES], ids=["sentences", "names"])
@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_page_and_nothing_is_lost(rows: list[tuple[str, ...]], width: int) -> None:
    laid = columns(rows, width)
    assert max(len(line) for row in laid for line in row) <= width
    for row, lines in zip(rows, laid, strict=True):
        assert sorted("".join(row).replace(" ", "")) == sorted("".join(lines).replace(" ", ""))


def test_a_row_that_fits_is_one_line() -> None:
    assert columns([("a", "b"), ("first", "second")], 80) == [["  a      b"], ["  first  second"]]


def test_a_head_gives_way_before_what_stands_under_it() -> None:
    head, row = columns([("gradient norm", "what it says"), ("0.5", "rules out data")], 26)
    assert head == ["  gradient  what it says", "  norm"]
    assert row == ["  0.5       rules out data"]


def test_a_sentence_parts_between_words_and_a_name_after_its_marks() -> None:
    _, sentence = columns([("says",), ("rules out the learning rate",)], 20)
    assert sentence == ["  rules out the", "  learning rate"]
    _, name = columns([("module",), ("blocks.0.attention",)], 14)
    assert name == ["  blocks.0.", "  attention"]
