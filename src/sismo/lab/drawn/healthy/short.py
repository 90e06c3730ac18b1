"""A short log: little to see, nothing wrong."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.drawn.draft import cut, generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("short", seed, noise)
    steps = int(rng.integers(30, 151))
    draft = cut(healthy(rng, noise), steps)
    return Sample(logged(draft, replace(any_logger(rng), interval=1, average=False, val_every=0), name="short"), f"{steps} steps")


RECIPE = Recipe("short", "The first 30 to 150 steps of a run.", make)
