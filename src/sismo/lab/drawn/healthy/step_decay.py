"""Step decay, as in image classification: downward jumps of LR and loss."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("step-decay", seed, noise)
    steps = int(rng.integers(1_000, 3_001))
    t = np.arange(steps) / steps
    lr = float(10 ** rng.uniform(-3.5, -2.5)) * np.where(t < 0.5, 1.0, np.where(t < 0.8, 0.1, 0.01)) * np.minimum(1.0, t / 0.03 + 1 / steps)
    draft = healthy(rng, noise, lr=lr)
    draft.lift(-0.12 * draft.trend * ((t >= 0.5) + 0.3 * (t >= 0.8)))
    return Sample(logged(draft, any_logger(rng, needs=("lr",)), name="step-decay"), "")


RECIPE = Recipe("step-decay", "The LR falls to a tenth at two points and the loss drops at each.", make)
