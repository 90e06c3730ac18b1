"""Dropout explains a validation loss that is lower by some per cent."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("dropout", seed, noise)
    draft = healthy(rng, noise)
    draft.gap = -float(rng.uniform(0.01, 0.05)) * draft.trend
    return Sample(logged(draft, replace(any_logger(rng), val_every=100), name="dropout"), "")


RECIPE = Recipe("dropout", "Validation loss a little under training loss all the way: dropout acts in training only.", make)
