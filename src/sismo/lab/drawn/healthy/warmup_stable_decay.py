"""WSD: the LR is constant for most of the run by design, and ends at 0."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("warmup-stable-decay", seed, noise)
    steps = int(rng.integers(1_000, 3_001))
    t = np.arange(steps) / steps
    lr = float(10 ** rng.uniform(-4, -3)) * np.minimum(1.0, t / 0.05 + 1 / steps) * np.clip((1 - t) / 0.2, 0, 1)
    draft = healthy(rng, noise, lr=lr)
    draft.lift(-0.06 * draft.trend * np.clip((t - 0.8) / 0.2, 0, 1))
    return Sample(logged(draft, any_logger(rng, needs=("lr",)), name="warmup-stable-decay"), "")


RECIPE = Recipe("warmup-stable-decay", "Warmup, a long constant LR, then a linear decay to 0 in which the loss drops.", make)
