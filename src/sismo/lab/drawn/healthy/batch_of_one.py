"""Single-example batches: lognormal loss, most of the signal is noise."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("batch-of-one", seed, noise)
    draft = healthy(rng, noise)
    draft.loss = draft.trend * np.exp(float(rng.uniform(0.25, 0.45)) * rng.standard_normal(draft.steps))
    draft.norm = draft.norm * np.exp(0.4 * rng.standard_normal(draft.steps))
    draft.sigma = 0.05
    return Sample(logged(draft, any_logger(rng), name="batch-of-one"), "")


RECIPE = Recipe("batch-of-one", "Batch size 1: the loss of a row is anywhere between a third and thrice the mean.", make)
