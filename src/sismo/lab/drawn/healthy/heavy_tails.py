"""Heavy tails in loss and norm: single batches stand out by many standard deviations and mean nothing."""

from __future__ import annotations

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("heavy-tails", seed, noise)
    draft = healthy(rng, Noise.HEAVY)
    return Sample(logged(draft, any_logger(rng), name="heavy-tails"), "")


RECIPE = Recipe("heavy-tails", "Loss noise and norm noise are Student-t with 3 degrees of freedom.", make)
