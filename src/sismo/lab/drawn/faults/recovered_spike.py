"""A batch of rare tokens: one step up, back at once, or back over a few steps as an exponential."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample

_CLEAR = {Noise.GAUSSIAN: 10.0, Noise.HEAVY: 25.0}
"""Least height in sigma. The largest of 3,000 draws is about 3.5 (Gaussian) or 8.6 (Student-t(3), with a tail of its own): what the
noise does by itself is no fault."""


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("recovered-spike", seed, noise)
    draft = healthy(rng, noise)
    at, kick = draft.place(0.2, 0.85), float(rng.uniform(4, 20))
    height = max(float(rng.uniform(0.8, 4.0)), _CLEAR[noise] * draft.sigma)
    decays = bool(rng.random() < 0.5)
    since = np.arange(draft.steps) - at
    shape = np.where(since >= 0, np.exp(-np.maximum(since, 0) / rng.uniform(1.5, 6)), 0.0) if decays else (since == 0).astype(float)
    draft.loss = draft.loss + height * shape
    draft.norm = draft.norm * (1 + (kick - 1) * shape**2)
    logger = replace(any_logger(rng), anchor=at, average=False)
    return Sample(logged(draft, logger, name="recovered-spike"), "decays back" if decays else "one step", ("long-tail-batch",), at)


RECIPE = Recipe("recovered-spike", "The loss jumps at one batch and comes back within a few steps.", make)
