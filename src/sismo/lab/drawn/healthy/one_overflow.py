"""Dynamic loss scaling at work: one skipped step at the start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("one-overflow", seed, noise)
    draft = healthy(rng, noise)
    draft.dtype = "fp16"
    draft.scale = np.where(np.arange(draft.steps) < 3, 65536.0, 32768.0)
    draft.norm[3] = np.inf if rng.random() < 0.5 else np.nan
    return Sample(logged(draft, replace(any_logger(rng, needs=("norm",)), interval=1, average=False), name="one-overflow"), "")


RECIPE = Recipe("one-overflow", "fp16: one overflow at step 3 halves the scale, and nothing else happens.", make)
