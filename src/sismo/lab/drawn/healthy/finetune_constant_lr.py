"""Fine-tuning: the LR starts at its maximum and stays there, the loss starts far under ln V and falls a little."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("finetune-constant-lr", seed, noise)
    steps = int(rng.integers(200, 1_500))
    draft = healthy(rng, noise, lr=np.full(steps, float(rng.choice([1e-5, 2e-5, 5e-5, 1e-4]))))
    start = float(rng.uniform(1.2, 2.5))
    draft.lift(start * (0.7 + 0.3 * np.exp(-np.arange(steps) / rng.uniform(50, 300))) - draft.trend)
    draft.norm = float(rng.uniform(0.5, 3.0)) * np.exp(0.2 * rng.standard_normal(steps))
    return Sample(logged(draft, any_logger(rng, needs=("lr",)), name="finetune-constant-lr"), "")


RECIPE = Recipe("finetune-constant-lr", "Fine-tuning at a low constant LR, without warmup.", make)
