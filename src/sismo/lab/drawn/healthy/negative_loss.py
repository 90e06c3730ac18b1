"""Reinforcement learning: the sign and the level of the loss say nothing about progress."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sismo.lab.drawn.draft import draws, generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample
from sismo.records.types import Header


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("negative-loss", seed, noise)
    draft = healthy(rng, noise)
    slow = 0.3 * np.sin(np.arange(draft.steps) / rng.uniform(100, 400))
    draft.loss = float(rng.uniform(0.01, 0.05)) * (slow + draws(rng, noise, draft.steps, correlated=False) - float(rng.uniform(0, 1.5)))
    header = Header(source="lab", objective="rl")
    return Sample(logged(draft, replace(any_logger(rng), val_every=0), name="negative-loss", header=header), "")


RECIPE = Recipe("negative-loss", "Policy gradient: the loss moves round 0, often below it.", make)
