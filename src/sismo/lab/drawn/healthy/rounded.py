"""One decimal: the curve is made of steps, most differences are exactly 0."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("rounded", seed, noise)
    draft = healthy(rng, noise)
    draft.loss = np.round(draft.loss, 1)
    return Sample(logged(draft, any_logger(rng), name="rounded"), "")


RECIPE = Recipe("rounded", "The loss is printed with one decimal.", make)
