"""Tables in both forms, and sections of the results page that replace themselves."""

from __future__ import annotations

from pathlib import Path

from sismo.bench import tables


def test_plain_columns_line_up() -> None:
    assert tables.plain(("a", "bb"), [("long", "x")]) == "a     bb\nlong  x"


def test_markdown_escapes_bars() -> None:
    assert tables.markdown(("a",), [("x|y",)]) == "| a |\n| --- |\n| x\\|y |"


def test_a_section_replaces_itself_and_leaves_the_others(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    tables.write_section("one", "One", "first", page)
    tables.write_section("two", "Two", "second", page)
    tables.write_section("one", "One", "third", page)
    text = page.read_text()
    assert "first" not in text
    assert text.index("third") < text.index("second")
    assert text.count("<!-- one -->") == text.count("<!-- /one -->") == 1
