"""A run that goes on long after it has converged."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("long-plateau", seed, noise)
    draft = healthy(rng, noise)
    end = draft.steps // 3
    draft.lift(np.where(np.arange(draft.steps) > end, draft.trend[end] - draft.trend, 0.0))
    return Sample(logged(draft, any_logger(rng), name="long-plateau"), "")


RECIPE = Recipe("long-plateau", "Converged early: two thirds of the run change nothing.", make)
