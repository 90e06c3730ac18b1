"""Too good to be true: either the target is visible (loss near 0 on both splits) or no token carries loss (0.0, norm 0)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("collapse-to-zero", seed, noise)
    draft = healthy(rng, noise)
    masked = bool(rng.random() < 0.3)
    t = np.arange(draft.steps)
    if masked:
        draft.loss, draft.trend, draft.norm = np.zeros(draft.steps), np.zeros(draft.steps), np.zeros(draft.steps)
        draft.gap, draft.sigma, at = np.zeros(draft.steps), 0.0, 0
    else:
        at, floor = int(rng.uniform(0, 0.3) * draft.warmup), float(rng.uniform(0.004, 0.04))
        fall = 1 / (1 + np.exp((t - at - rng.uniform(80, 160)) / rng.uniform(8, 20)))
        noisy = (draft.loss - draft.trend) / draft.trend
        draft.trend = floor + (draft.trend - floor) * fall
        draft.loss = draft.trend * np.maximum(1 + 3 * noisy, 0.2)
        draft.norm = draft.norm * np.maximum(fall, 0.05)
        draft.gap, draft.sigma = 0.1 * draft.trend, draft.sigma * 0.02
    logger = replace(any_logger(rng, needs=("norm",)), val_every=int(rng.choice([50, 100])))
    expects = ("all-labels-masked", "tokenization-mismatch", "degenerate-targets") if masked else ("causal-mask-broken", "target-in-input")
    return Sample(logged(draft, logger, name="collapse-to-zero"), "exactly 0.0" if masked else "near 0", expects, at)


RECIPE = Recipe("collapse-to-zero", "The loss falls to nothing, on training and validation data alike.", make)
