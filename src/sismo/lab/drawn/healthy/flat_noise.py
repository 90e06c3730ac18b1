"""A converged model that trains on: a flat loss is not a failure to learn."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import draws, generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("flat-noise", seed, noise)
    draft = healthy(rng, noise)
    level = float(rng.uniform(1.6, 3.2))
    draft.lift(level * (1 - 0.004 * np.arange(draft.steps) / draft.steps) - draft.trend)
    draft.norm = float(rng.uniform(0.2, 1.0)) * np.exp(0.15 * draws(rng, noise, draft.steps, correlated=False))
    draft.lr = draft.lr * 0.1
    return Sample(logged(draft, any_logger(rng, needs=("lr",)), name="flat-noise"), "")


RECIPE = Recipe("flat-noise", "Continued pretraining: the loss is flat in its noise from start to end.", make)
