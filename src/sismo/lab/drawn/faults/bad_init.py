"""The first loss is many times ln V and the first norm in the hundreds or more; then it comes down, to a worse level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("bad-init", seed, noise)
    draft = healthy(rng, noise)
    t = np.arange(draft.steps)
    factor, fade = float(np.exp(rng.uniform(np.log(2.5), np.log(40)))), float(rng.uniform(15, 150))
    stalls = bool(rng.random() < 0.5)
    draft.lift(draft.trend[0] * (factor - 1) * np.exp(-t / fade) + (0.5 * (draft.uniform - draft.trend) if stalls else 0.0))
    draft.norm = draft.norm * (1 + float(10 ** rng.uniform(2, 4)) / draft.norm[0] * np.exp(-t / fade))
    logger = any_logger(rng)
    expects = ("init-too-large",) if logger.norm else ("init-too-large", "head-biased")
    return Sample(logged(draft, replace(logger, average=False), name="bad-init"), "stalls" if stalls else "heals", expects, 0)


RECIPE = Recipe("bad-init", "The weights start far too large.", make)
