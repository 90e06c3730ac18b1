"""A sparse log: a run of up to 100,000 steps of which a few hundred rows were kept."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("sparse", seed, noise)
    interval = int(rng.choice([10, 50, 100, 500]))
    draft = healthy(rng, noise, steps=interval * int(rng.integers(60, 250)))
    logger = replace(any_logger(rng), interval=interval, average=bool(rng.random() < 0.5), val_every=0)
    return Sample(logged(draft, logger, name="sparse"), f"every {interval}")


RECIPE = Recipe("sparse", "One row in 10 to 500 steps of a long run.", make)
