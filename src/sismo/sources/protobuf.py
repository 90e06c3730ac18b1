"""The wire format of protocol buffers: enough of it to walk through a message without its schema."""

from __future__ import annotations

from collections.abc import Iterator


def fields(view: memoryview) -> Iterator[tuple[int, int, memoryview | int]]:
    """Field number, wire type and content of a message. Raises ``ValueError`` or ``IndexError`` where it breaks off."""
    at, end = 0, len(view)
    while at < end:
        key, at = varint(view, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(view, at)
            yield key >> 3, wire, value
            continue
        if wire == 2:
            size, at = varint(view, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")
        if at + size > end:
            raise ValueError("field beyond the end of its message")
        yield key >> 3, wire, view[at : at + size]
        at += size


def varint(view: memoryview | bytes, at: int) -> tuple[int, int]:
    """The number at a place, and the place behind it."""
    value = shift = 0
    while True:
        byte = view[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("varint too long")
