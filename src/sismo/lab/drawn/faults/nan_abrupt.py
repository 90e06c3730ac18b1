"""Nothing grows: the loss is calm, then Inf or NaN at once, and NaN for good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("nan-abrupt", seed, noise)
    draft = healthy(rng, noise)
    draft.dtype = "fp32"
    at = draft.place(0.1, 0.9)
    dead = np.arange(draft.steps) >= at
    for name in ("loss", "trend"):
        setattr(draft, name, np.where(dead, np.nan, getattr(draft, name)))
    draft.norm = np.where(dead, np.nan, draft.norm)
    infinite = bool(rng.random() < 0.5)
    if infinite:
        draft.loss[at] = np.inf
    logger = replace(any_logger(rng), interval=1, average=False)
    return Sample(logged(draft, logger, name="nan-abrupt"), "Inf, then NaN" if infinite else "NaN", ("log-of-zero", "sqrt-at-zero"), at)


RECIPE = Recipe("nan-abrupt", "A calm fp32 run whose loss is non-finite from one step to the next.", make)
