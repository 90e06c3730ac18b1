"""Curriculum: training loss up by design, validation loss down all the way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("curriculum", seed, noise)
    draft = healthy(rng, noise)
    t = np.arange(draft.steps) / draft.steps
    draft.loss = draft.loss + float(rng.uniform(0.8, 1.6)) * np.clip((t - 0.2) / 0.8, 0, 1) * draft.trend
    return Sample(logged(draft, replace(any_logger(rng), val_every=100), name="curriculum"), "")


RECIPE = Recipe("curriculum", "The training loss rises because the task gets harder; the validation loss falls.", make)
