"""Divergence that announces itself: first the norm, then the loss, then nothing finite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sismo.lab.drawn.draft import cut, generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("nan-with-runup", seed, noise)
    draft = healthy(rng, noise)
    at, length = draft.place(0.1, 0.8), int(rng.integers(12, 80))
    growth, height = float(rng.uniform(30, 3_000)), float(rng.uniform(1.0, 6.0))
    ramp = np.clip((np.arange(draft.steps) - at) / length, 0.0, 1.0)
    draft.norm = draft.norm * growth**ramp
    draft.lift(height * np.clip(2 * ramp - 1, 0.0, 1.0) ** 2)
    dead = np.arange(draft.steps) > at + length
    draft.loss, draft.norm = np.where(dead, np.nan, draft.loss), np.where(dead, np.nan, draft.norm)
    draft.trend = np.where(dead, np.nan, draft.trend)
    stops = bool(rng.random() < 0.4)
    if stops:
        draft = cut(draft, at + length + int(rng.integers(5, 60)))
    logger = replace(any_logger(rng), interval=1, average=False)
    return Sample(
        logged(draft, logger, name="nan-with-runup"), "stops soon" if stops else "runs on", ("exploding-gradients", "lr-too-high"), at
    )


RECIPE = Recipe("nan-with-runup", "The gradient norm grows over some steps, the loss follows, then NaN.", make)
