"""The generated pages are what the catalogue says now."""

from __future__ import annotations

import reference


def test_the_reference_is_what_would_be_written() -> None:
    stale = [name for name, text in reference.pages().items() if (reference.FOLDER / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run `make docs`"


def test_the_readme_shows_what_is_printed() -> None:
    assert (reference.ROOT / "README.md").read_text(encoding="utf-8") == reference.readme(), "run `make docs`"
