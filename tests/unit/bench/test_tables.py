"""Tables in both forms, and sections of the results page that replace themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from sismo.bench import tables


def test_plain_columns_line_up() -> None:
    assert tables.plain(("a", "bb"), [("long", "x")]) == "a     bb\nlong  x"


def test_markdown_escapes_bars() -> None:
    assert tables.markdown(("a",), [("x|y",)]) == "| a |\n| --- |\n| x\\|y |"


@pytest.mark.parametrize(
    ("count", "total", "text"),
    [(48, 60, "48 of 60 (80 %, 68-88)"), (0, 1_000, "0 of 1000 (0 %, 0-0.4)"), (5, 5, "5 of 5 (100 %, 57-100)"), (0, 0, "0 of 0")],
)
def test_a_share_has_its_wilson_interval(count: int, total: int, text: str) -> None:
    assert tables.share(count, total) == text


def test_a_section_replaces_itself_and_leaves_the_others(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    tables.write_section("one", "One", "first", page)
    tables.write_section("two", "Two", "second", page)
    tables.write_section("one", "One", "third", page)
    text = page.read_text()
    assert "first" not in text
    assert text.index("third") < text.index("second")
    assert text.count("<!-- one -->") == text.count("<!-- /one -->") == 1
