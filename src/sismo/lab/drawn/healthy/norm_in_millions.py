"""A norm without units: only its shape can mean anything."""

from __future__ import annotations

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("norm-in-millions", seed, noise)
    draft = healthy(rng, noise)
    draft.norm = draft.norm * float(10 ** rng.uniform(5.5, 7))
    return Sample(logged(draft, any_logger(rng, needs=("norm",)), name="norm-in-millions"), "")


RECIPE = Recipe("norm-in-millions", "The gradient norm is in the millions: a sum over tokens, or a scaled gradient.", make)
