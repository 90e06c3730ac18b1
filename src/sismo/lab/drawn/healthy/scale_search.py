"""Dynamic loss scaling from far too high a start, then an overflow after each doubling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("scale-search", seed, noise)
    draft = healthy(rng, noise)
    draft.dtype = "fp16"
    t, search, window = np.arange(draft.steps), int(rng.integers(6, 20)), int(rng.choice([200, 500]))
    level = float(2.0 ** rng.integers(12, 17))
    found = level * np.where((t - search) % window == window - 1, 2.0, 1.0)
    draft.scale = np.where(t < search, level * 2.0 ** (search - t), found)
    draft.norm[(t < search) | (draft.scale > level)] = np.inf
    draft.loss[:search] = draft.loss[0] + draft.sigma * rng.standard_normal(search)
    return Sample(logged(draft, replace(any_logger(rng, needs=("norm",)), interval=1, average=False), name="scale-search"), "")


RECIPE = Recipe("scale-search", "fp16: the scaler looks for its level in the first 20 steps, later it doubles and halves at times.", make)
