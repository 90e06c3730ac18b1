"""The schedule is broken at one step: the LR is several times what it was, for a while or for good."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("lr-jump", seed, noise)
    draft = healthy(rng, noise)
    at, factor, height = draft.place(0.3, 0.75), float(rng.uniform(3, 10)), float(rng.uniform(0.5, 2.0))
    stays = bool(rng.random() < 0.6)
    length = draft.steps - at if stays else int(rng.integers(30, 120))
    since = np.arange(draft.steps) - at
    high = (since >= 0) & (since < length)
    draft.lr = np.where(high, draft.lr * factor, draft.lr)
    rise = np.where(since >= 0, 1 - np.exp(-np.maximum(since, 0) / rng.uniform(1, 10)), 0.0)
    decay = np.where(high, np.exp(-np.maximum(since, 0) / draft.steps), np.exp(-np.maximum(since - length, 0) / rng.uniform(8, 40)))
    draft.lift(height * rise * decay)
    draft.norm = draft.norm * (1 + 2 * rise * decay)
    run = logged(draft, any_logger(rng, needs=("lr",)), name="lr-jump")
    return Sample(run, "stays" if stays else "returns", ("lr-jump",), at)


RECIPE = Recipe("lr-jump", "The learning rate jumps and the loss follows.", make)
