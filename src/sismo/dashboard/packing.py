"""Series as compact bytes: step differences and float32 values, byte plane by byte plane, deflated.

A plane holds the same byte of every number. Neighbouring numbers share their high bytes, so planes deflate to about half of what
whole numbers do; that is what lets sixty series fit a page of 3 MB.
"""

from __future__ import annotations

import math
import zlib
from base64 import b64encode
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sismo.records.types import Series, Values

_EXACT_ROWS = 150_000
"""Rows in all up to which values keep all of float32; beyond, 12 bits of fraction (four digits) are kept."""
_DROPPED_BITS = 11
_LEVEL = 5


class Packed(NamedTuple):
    """The bytes as base64, how many planes the steps take, and per series its rows, first step and power of two."""

    text: str
    planes: int
    layout: list[tuple[int, int, int]]


def pack(series: Sequence[Series]) -> Packed:
    """All series in one stream, in their order."""
    total = sum(len(one) for one in series)
    layout: list[tuple[int, int, int]] = []
    gaps: list[NDArray[np.uint64]] = []
    values: list[NDArray[np.uint32]] = []
    for one in series:
        power = _power(one.values)
        first = int(one.steps[0]) if len(one) else 0
        layout.append((len(one), first, power))
        gaps.append(np.diff(one.steps, prepend=one.steps[:1]).astype(np.uint64))
        values.append(_bits(one.values, power, exact=total <= _EXACT_ROWS))
    gap = np.concatenate(gaps) if gaps else np.zeros(0, np.uint64)
    bits = np.concatenate(values) if values else np.zeros(0, np.uint32)
    planes = max(1, -(-int(gap.max()).bit_length() // 8)) if gap.size else 1
    stream = b"".join([*(_plane(gap, place) for place in range(planes)), *(_plane(bits, place) for place in range(4))])
    return Packed(b64encode(zlib.compress(stream, _LEVEL)).decode("ascii"), planes, layout)


def _power(values: Values) -> int:
    """The power of two that brings the largest value into the range of float32; 0 where it is there."""
    sizes = np.abs(values[np.isfinite(values)])
    largest = float(sizes.max()) if sizes.size else 0.0
    exponent = math.frexp(largest)[1] if largest > 0 else 0
    return exponent if abs(exponent) > 100 else 0


def _bits(values: Values, power: int, *, exact: bool) -> NDArray[np.uint32]:
    scaled = np.ldexp(values, -power) if power else values
    bits = scaled.astype(np.float32).view(np.uint32)
    if exact:
        return bits
    half = np.uint32(1 << (_DROPPED_BITS - 1))
    rounded = (bits + half) & ~np.uint32((1 << _DROPPED_BITS) - 1)
    # Rounding must not carry a NaN or an infinity into a number.
    return np.where(np.isfinite(scaled), rounded, bits)


def _plane(numbers: NDArray[np.uint64] | NDArray[np.uint32], place: int) -> bytes:
    return ((numbers >> np.asarray(8 * place, numbers.dtype)) & np.asarray(255, numbers.dtype)).astype(np.uint8).tobytes()
