"""Every step overflows from some step on: the scale halves down to its minimum and no update is applied any more."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("fp16-overflow", seed, noise)
    draft = healthy(rng, noise)
    draft.dtype = "fp16"
    at, floor = draft.place(0.15, 0.8), float(rng.choice([2.0**-14, 1.0, 0.0625]))
    t = np.arange(draft.steps)
    top, window = float(2.0 ** rng.integers(14, 18)), int(rng.choice([200, 500, 1_000]))
    level = top * 2.0 ** np.minimum(t // window, 3)
    draft.scale = np.where(t < at, level, np.maximum(level[at] * 0.5 ** np.clip(t - at + 1, 0, 60), floor))
    dead = t >= at
    draft.norm = np.where(dead, rng.choice([np.inf, np.nan]), draft.norm)
    rises = bool(rng.random() < 0.3)
    frozen = draft.trend[at] + (float(rng.uniform(0.5, 2.0)) * (1 - np.exp(-np.maximum(t - at, 0) / 30)) if rises else 0.0)
    draft.loss = np.where(dead, frozen + (draft.loss - draft.trend), draft.loss)
    draft.trend = np.where(dead, frozen, draft.trend)
    run = logged(draft, any_logger(rng, needs=("norm",)), name="fp16-overflow")
    return Sample(run, "loss stays up" if rises else "loss frozen", ("loss-scale-collapse", "fp16-overflow"), at)


RECIPE = Recipe("fp16-overflow", "Gradients overflow for good and the loss scale collapses.", make)
