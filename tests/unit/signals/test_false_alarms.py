"""How often healthy noise is called a spike. What is asked for is measured with 200 seeds of each kind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from unit.signals.curves import Floats, autoregressive, descent, spikes_of

_ROWS = 1000
_TIME = np.arange(_ROWS)


def _seen(curve: Callable[[int], Floats], seeds: int = 200) -> tuple[int, int]:
    """Spikes, and seeds with one of prominence 2 or more."""
    found = [spikes_of(curve(seed)) for seed in range(seeds)]
    return sum(map(len, found)), sum(any(spike.prominence >= 2.0 for spike in spikes) for spikes in found)


def test_gaussian_noise_on_a_decay_has_none() -> None:
    assert _seen(descent) == (0, 0)


def test_a_steep_start_has_next_to_none() -> None:
    spikes, prominent = _seen(lambda seed: 2.0 + 8.0 * np.exp(-_TIME / 20.0) + 0.03 * np.random.default_rng(seed).standard_normal(_ROWS))
    assert spikes <= 2
    assert prominent == 0


def test_a_power_law_with_noise_that_shrinks_has_none() -> None:
    def curve(seed: int) -> Floats:
        return (1.5 + 8.0 * (_TIME + 1.0) ** -0.5) * (1.0 + 0.02 * np.random.default_rng(seed).standard_normal(_ROWS))

    assert _seen(curve) == (0, 0)


@pytest.mark.parametrize("memory", [0.5, 0.9])
def test_noise_with_a_memory_has_none_that_is_prominent(memory: float) -> None:
    assert _seen(lambda seed: 2.0 + 0.1 * autoregressive(seed, _ROWS, memory), 60)[1] == 0


def test_a_decaying_grad_norm_has_none_that_is_prominent() -> None:
    def curve(seed: int) -> Floats:
        return 3e6 * (1.0 + 20.0 * np.exp(-_TIME / 40.0)) * np.exp(0.2 * np.random.default_rng(seed).standard_normal(_ROWS))

    assert _seen(curve)[1] == 0


def test_rounded_values_have_none() -> None:
    assert _seen(lambda seed: np.round(descent(seed, noise=0.08), 1)) == (0, 0)


def test_heavy_tails_have_spikes_but_few_prominent_ones() -> None:
    def curve(seed: int) -> Floats:
        return descent(seed, noise=0.0) + 0.05 * np.random.default_rng(seed).standard_t(3, _ROWS)

    spikes, prominent = _seen(curve)
    assert 400 <= spikes <= 1400  # 0.5 % of the rows of Student's t with 3 degrees lie beyond 5 scales
    assert prominent <= 30
