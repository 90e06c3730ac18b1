"""Nothing can move: a loss that is flat in its noise, at ln V or where a checkpoint left it."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("lr-zero", seed, noise)
    steps = int(rng.integers(1_000, 3_001))
    draft = healthy(rng, noise, lr=np.zeros(steps))
    loaded = bool(rng.random() < 0.4)
    if loaded:
        draft.lift(np.full(steps, float(rng.uniform(1.5, 3.0)) - draft.trend[0]))
    draft.norm = float(rng.uniform(0.3, 3.0)) * np.exp(0.1 * rng.standard_normal(steps))
    run = logged(draft, any_logger(rng, needs=("lr",)), name="lr-zero")
    return Sample(run, "from a checkpoint" if loaded else "from scratch", ("lr-zero",), 0)


RECIPE = Recipe("lr-zero", "The learning rate is 0 for the whole run.", make)
