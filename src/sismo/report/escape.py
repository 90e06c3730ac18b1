"""Text that comes from outside, made harmless for Markdown."""

from __future__ import annotations


def markdown(text: str) -> str:
    """The text on one line, with what Markdown would take for markup escaped."""
    escaped = text.replace("\\", "\\\\")
    for mark in "*_|<>`[]#":
        escaped = escaped.replace(mark, f"\\{mark}")
    return " ".join(escaped.split())
