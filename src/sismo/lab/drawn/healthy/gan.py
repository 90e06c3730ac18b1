"""Adversarial training: generator and discriminator loss go up and down for ever."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample
from sismo.records.types import Header, Run, Series


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("gan", seed, noise)
    draft = healthy(rng, noise)
    wander = np.cumsum(rng.standard_normal(draft.steps))
    wander = (wander - np.linspace(0, wander[-1], draft.steps)) / (np.abs(wander).max() + 1e-9)
    generator_loss = 1.5 + 0.5 * wander + 0.2 * rng.standard_normal(draft.steps)
    critic_loss = np.abs(0.7 - 0.2 * wander + 0.05 * rng.standard_normal(draft.steps))
    draft.loss = generator_loss + critic_loss
    header = Header(source="lab", objective="gan")
    base = logged(draft, replace(any_logger(rng), interval=1, val_every=0), name="gan", header=header)
    steps = base.series["loss/train"].steps
    terms = {f"loss_term/{key}": Series(f"loss_term/{key}", steps, value) for key, value in (("G", generator_loss), ("D", critic_loss))}
    return Sample(Run(base.path, base.header, {**base.series, **terms}), "")


RECIPE = Recipe("gan", "Two losses that wander against each other.", make)
