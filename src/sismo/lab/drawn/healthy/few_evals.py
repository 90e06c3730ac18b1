"""Few evaluations: the best one need not be the last."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.drawn.draft import generator, healthy
from sismo.lab.drawn.logging import any_logger, logged
from sismo.lab.drawn.types import Noise, Recipe, Sample


def make(seed: int, noise: Noise) -> Sample:
    """One run at a seed."""
    rng = generator("few-evals", seed, noise)
    draft = healthy(rng, noise)
    draft.sigma = draft.sigma * 2
    return Sample(logged(draft, replace(any_logger(rng), val_every=draft.steps // int(rng.integers(7, 11))), name="few-evals"), "")


RECIPE = Recipe("few-evals", "Six to ten evaluations with mild noise, the last ones flat.", make)
