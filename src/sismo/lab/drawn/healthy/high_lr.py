"""High but healthy: correlated bumps whose size follows the LR."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy, warmup_cosine
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("high-lr", seed, noise)
    draft = healthy(rng, noise, lr=warmup_cosine(int(rng.integers(1_000, 3_001)), 60, float(10 ** rng.uniform(-2.7, -2.0))))
    bumps = np.convolve(rng.standard_normal(draft.steps + 40), np.hanning(41) / np.sqrt((np.hanning(41) ** 2).sum()), "valid")
    draft.lift(float(rng.uniform(1.0, 2.0)) * draft.sigma * bumps * draft.lr / draft.lr.max())
    draft.norm = draft.norm * np.exp(0.2 * bumps)
    return Sample(logged(draft, any_logger(rng), name="high-lr"), "")


RECIPE = Recipe("high-lr", "A high LR: the loss falls with wide, slow bumps and comes to rest as the LR decays.", make)
