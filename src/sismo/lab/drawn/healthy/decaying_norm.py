"""A gradient norm that decays strongly, so that its early values are huge against any average over the run."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("decaying-norm", seed, noise)
    draft = healthy(rng, noise)
    draft.norm = draft.norm * (1 + 150 * np.exp(-np.arange(draft.steps) / rng.uniform(40, 300)))
    return Sample(logged(draft, any_logger(rng, needs=("norm",)), name="decaying-norm"), "")


RECIPE = Recipe("decaying-norm", "The gradient norm falls by two orders of magnitude.", make)
