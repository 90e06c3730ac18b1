"""What is packed comes out again, as the script reads it."""

from __future__ import annotations

import zlib
from base64 import b64decode

import numpy as np
import pytest

from sismo.dashboard import packing
from sismo.dashboard.packing import Packed, pack
from sismo.records.types import Series


def unpack(packed: Packed) -> list[tuple[np.ndarray, np.ndarray]]:
    stream = np.frombuffer(zlib.decompress(b64decode(packed.text)), np.uint8)
    total = stream.size // (packed.planes + 4)
    planes = stream.reshape(packed.planes + 4, total).astype(np.uint64)
    gaps = sum((planes[place] << np.uint64(8 * place) for place in range(packed.planes)), np.zeros(total, np.uint64))
    bits = sum((planes[packed.planes + place] << np.uint64(8 * place) for place in range(4)), np.zeros(total, np.uint64))
    found, at = [], 0
    for rows, first, power in packed.layout:
        values = bits[at : at + rows].astype(np.uint32).view(np.float32).astype(np.float64)
        found.append((first + np.cumsum(gaps[at : at + rows]).astype(np.int64), np.ldexp(values, power)))
        at += rows
    return found


@pytest.mark.parametrize(
    "values",
    [[1.0, 2.5, -3.0], [np.nan, np.inf, -np.inf, 0.0], [1e300, 2e300, np.nan], [1e-300, 3e-300], [3.4e38, 1.0], [0.0]],
)
def test_values_come_back(values: list[float]) -> None:
    array = np.array(values)
    series = Series("loss/train", np.arange(array.size) * 7 + 3, array)
    ((steps, back),) = unpack(pack([series]))
    np.testing.assert_array_equal(steps, series.steps)
    np.testing.assert_allclose(back, array, rtol=1e-6)


def test_many_rows_keep_four_digits_and_every_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_EXACT_ROWS", 10)
    values = np.random.default_rng(0).lognormal(0, 3, 5_000)
    values[[7, 99]] = np.nan, np.inf
    ((_, back),) = unpack(pack([Series("loss/train", np.arange(5_000), values)]))
    np.testing.assert_allclose(back, values, rtol=2**-12)


def test_steps_may_be_huge_and_far_apart() -> None:
    steps = np.array([2**50, 2**50 + 1, 2**52], dtype=np.int64)
    series = [Series("loss/train", steps, np.ones(3)), Series("lr/0", steps[:0], np.ones(0))]
    back = unpack(pack(series))
    np.testing.assert_array_equal(back[0][0], steps)
    assert back[1][0].size == 0
    assert pack([]).layout == []
