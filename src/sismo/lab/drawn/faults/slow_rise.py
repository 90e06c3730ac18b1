"""Silent divergence: no spike anywhere, and a level that rises for 200 steps until the log ends."""

from __future__ import annotations

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("slow-rise", seed, noise)
    draft = healthy(rng, noise)
    length = int(rng.integers(200, 260))
    ramp = np.clip((np.arange(draft.steps) - (draft.steps - length)) / length, 0.0, 1.0)
    rise = float(rng.uniform(0.12, 0.4)) * draft.trend[-1]
    curved = bool(rng.random() < 0.5)
    draft.lift(rise * (ramp**1.7 if curved else ramp))
    draft.norm = draft.norm * (1 + float(rng.choice([0.0, 0.6, 2.0])) * ramp)
    run = logged(draft, any_logger(rng), name="slow-rise")
    return Sample(run, "bends up" if curved else "straight", ("silent-divergence",), draft.steps - length)


RECIPE = Recipe("slow-rise", "The loss creeps up over the last 200 steps.", make)
