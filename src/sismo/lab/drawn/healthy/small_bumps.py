"""Bumps that any long run has, too small to be worth a word of warning."""

from __future__ import annotations

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("small-bumps", seed, noise)
    draft = healthy(rng, noise)
    at = rng.choice(draft.steps, int(rng.integers(3, 8)), replace=False)
    draft.loss[at] += draft.sigma * rng.uniform(2, 4, at.size)
    draft.norm[at] *= rng.uniform(1.0, 1.8, at.size)
    return Sample(logged(draft, any_logger(rng), name="small-bumps"), "")


RECIPE = Recipe("small-bumps", "Now and then a batch is a little harder: loss up by a few standard deviations, back at once.", make)
