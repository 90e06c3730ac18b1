"""The plainest healthy run, Gaussian whatever the bench asks for."""

from __future__ import annotations

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("gaussian", seed, noise)
    draft = healthy(rng, Noise.GAUSSIAN)
    return Sample(logged(draft, any_logger(rng), name="gaussian"), "")


RECIPE = Recipe("gaussian", "An ordinary run with Gaussian noise.", make)
