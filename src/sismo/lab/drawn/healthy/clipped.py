"""Clipping at work: the logged norm never passes the threshold."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("clipped", seed, noise)
    draft = healthy(rng, noise)
    draft.norm = np.minimum(draft.norm * 3, 1.0)
    return Sample(logged(draft, any_logger(rng, needs=("norm",)), name="clipped"), "")


RECIPE = Recipe("clipped", "The norm after clipping is pinned at 1 most of the time, the one before it is not.", make)
