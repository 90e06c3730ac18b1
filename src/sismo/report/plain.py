"""Named tuples as plain data for JSON."""

from __future__ import annotations

from typing import cast


def plain(value: object) -> object:
    """The value with every named tuple in it turned into a dict, and every other tuple into a list."""
    if not isinstance(value, tuple):
        return value
    items = [plain(item) for item in cast("tuple[object, ...]", value)]
    names = cast("tuple[str, ...] | None", getattr(cast("object", value), "_fields", None))
    return items if names is None else dict(zip(names, items, strict=True))
