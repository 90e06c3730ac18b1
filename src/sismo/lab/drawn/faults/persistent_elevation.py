"""After one bad step the loss stays up: level, drifting, or healing far too slowly."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("persistent-elevation", seed, noise)
    draft = healthy(rng, noise)
    at, height = draft.place(0.25, 0.7), float(rng.uniform(0.5, 2.5))
    since = np.arange(draft.steps) - at
    left = np.maximum(since, 0) / (draft.steps - at)
    variant = str(rng.choice(["level", "drifts up", "heals by a third"]))
    drift = {"level": 0 * left, "drifts up": 0.25 * left, "heals by a third": -left / 3}[variant]
    draft.lift(np.where(since >= 0, height * (1 + drift), 0.0))
    draft.norm = draft.norm * np.where(since >= 0, rng.uniform(1.3, 2.5), 1.0) * np.where(since == 0, rng.uniform(3, 10), 1.0)
    return Sample(
        logged(draft, any_logger(rng), name="persistent-elevation"), variant, ("optimizer-state-corrupted", "labels-corrupted"), at
    )


RECIPE = Recipe("persistent-elevation", "The loss jumps and never comes back.", make)
