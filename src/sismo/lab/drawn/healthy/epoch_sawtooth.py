"""Several epochs over the same data: a step down at each boundary, then flat or slightly rising."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("epoch-sawtooth", seed, noise)
    draft = healthy(rng, noise)
    epochs = int(rng.integers(3, 7))
    within = (np.arange(draft.steps) * epochs / draft.steps) % 1.0
    count = np.floor(np.arange(draft.steps) * epochs / draft.steps)
    draft.loss = draft.loss - float(rng.uniform(0.04, 0.12)) * count + float(rng.uniform(0.01, 0.03)) * within
    return Sample(logged(draft, replace(any_logger(rng), val_every=0), name="epoch-sawtooth"), f"{epochs} epochs")


RECIPE = Recipe("epoch-sawtooth", "Each epoch starts a step lower: the loss falls at the boundary and creeps up within.", make)
