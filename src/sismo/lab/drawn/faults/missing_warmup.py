"""No warmup at a high LR: the norm spikes in the first steps and the loss draws a V, upside down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sismo.lab.drawn.draft import generator, healthy, warmup_cosine
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("missing-warmup", seed, noise)
    steps = int(rng.integers(1_000, 3_001))
    draft = healthy(rng, noise, lr=warmup_cosine(steps, 0, float(10 ** rng.uniform(-3, -1.5))))
    t = np.arange(steps)
    peak_at, fade, height = int(rng.integers(2, 12)), float(rng.uniform(8, 40)), float(rng.uniform(1.0, 5.0))
    draft.lift(height * np.where(t <= peak_at, t / peak_at, np.exp(-(t - peak_at) / fade)))
    draft.norm = draft.norm * (1 + float(rng.uniform(6, 30)) * np.exp(-(((t - peak_at / 2) / 3.0) ** 2)))
    run = logged(draft, replace(any_logger(rng, needs=("lr",)), average=False), name="missing-warmup")
    return Sample(run, f"height {height:.0f}", ("missing-warmup",), 0)


RECIPE = Recipe("missing-warmup", "The run starts at the full learning rate.", make)
