"""Where the digits of many lines stand and which numbers they spell, for all of the lines in one go.

The lines lie one behind the other in an array of bytes. A run is what digits stand together: ``12.5e-04`` has three.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
LONGEST = 16
"""Digits of a run that is read as a number; of a longer one the value is not told."""
_WORD = 8
"""Digits that are read at a time, one a byte of a word of the machine."""
_DIGITS = b"0123456789"


class Spelled(NamedTuple):
    """Some runs of some lines, a column of each table a line: what they spell, how many digits they have, and where they start."""

    values: Ints
    lengths: Ints
    starts: Ints


class Digits:
    """The runs of digits in some lines.

    Attributes:
        shapes: each line without its digits, in UTF-8. data: the lines, each behind a newline, in UTF-8.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        text = "\n".join(["", *lines, ""]).encode("utf-8", "surrogatepass")
        self.shapes = text.translate(None, _DIGITS).split(b"\n")[1:-1]
        self.data = text + bytes(_WORD)
        letters = np.frombuffer(self.data, dtype=np.uint8)
        digit = (letters - ord("0")) < len(_DIGITS)  # what stands before "0" wraps around
        edges = np.flatnonzero(digit[1:] != digit[:-1]) + 1
        self._starts, ends = edges[::2], edges[1::2]
        self._lengths = ends - self._starts
        breaks = np.flatnonzero(letters == ord("\n"))
        self._first = np.searchsorted(self._starts, breaks)
        # How far a run is into the shape of its line.
        passed = np.concatenate([[0], np.cumsum(self._lengths)])
        self._into = self._starts - passed[:-1]
        self._into -= np.repeat(breaks[:-1] + 1 - passed[self._first[:-1]], np.diff(self._first))
        self._words = np.ndarray((len(self.data) - _WORD + 1,), dtype="<u8", buffer=self.data, strides=(1,))

    def stand(self, lines: Ints, into: Ints) -> NDArray[np.bool_]:
        """Which of some lines, all of one shape, have their runs so far into it, and no others."""
        first = self._first[lines]
        fits = self._first[lines + 1] - first == into.size
        if into.size and fits.any():
            fits[fits] = (self._into[first[fits, None] + np.arange(into.size)] == into).all(axis=1)
        return fits

    def spell(self, lines: Ints, runs: Ints) -> Spelled:
        """What some runs of each line spell. ``runs`` has a column for each line, or one for all: which of its runs they are."""
        which = self._first[lines] + runs
        starts, lengths = self._starts[which], self._lengths[which]
        tail = np.minimum(lengths, _WORD)
        values = _spelled(self._words[starts + lengths - tail], tail)
        long = np.nonzero(lengths > _WORD)
        if long[0].size:
            values[long] += 10**_WORD * _spelled(self._words[starts[long]], np.minimum(lengths[long] - _WORD, _WORD))
        return Spelled(values, lengths, starts)


def _spelled(words: NDArray[np.uint64], digits: Ints) -> Ints:
    """What so many first letters of each word spell, which are digits: two by two neighbours become one number."""
    value = words << (_WORD * (_WORD - digits)).astype(np.uint64)  # before the first digit there is nothing, which is 0
    for mask, factor, shift in (
        (0x0F0F0F0F0F0F0F0F, 10 << 8 | 1, 8),
        (0x00FF00FF00FF00FF, 100 << 16 | 1, 16),
        (0x0000FFFF0000FFFF, 10000 << 32 | 1, 32),
    ):
        value &= np.uint64(mask)
        value *= np.uint64(factor)
        value >>= np.uint64(shift)
    return value.astype(np.int64)
