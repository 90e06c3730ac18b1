"""Warm restarts: regular jumps of the LR that are the schedule itself."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("cosine-restarts", seed, noise)
    steps, cycles = int(rng.integers(1_200, 3_001)), int(rng.integers(3, 6))
    phase = (np.arange(steps) * cycles / steps) % 1.0
    peak = float(10 ** rng.uniform(-4, -3.2))
    lr = peak * (0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * phase))) * np.minimum(1.0, (np.arange(steps) + 1) / 50)
    draft = healthy(rng, noise, lr=lr)
    cycle = np.floor(np.arange(steps) * cycles / steps)
    draft.lift(np.where(cycle > 0, float(rng.uniform(0.02, 0.1)) * np.exp(-phase * 8), 0.0))
    return Sample(logged(draft, any_logger(rng, needs=("lr",)), name="cosine-restarts"), f"{cycles} cycles")


RECIPE = Recipe("cosine-restarts", "Cosine with warm restarts: the LR jumps up at even periods and the loss with it, a little.", make)
