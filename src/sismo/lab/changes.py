"""What several faults do: a setup goes in, and comes out with one field changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from sismo.lab.types import IGNORE, Batch, Data, Loop, Settings, Setup


def setting(setup: Setup, **values: Any) -> Setup:
    """Other settings: the configuration itself is wrong, and the manifest says so."""
    return replace(setup, settings=replace(setup.settings, **values))


def inflated(setup: Setup, factor: float) -> Setup:
    """The weights of every Linear and Embedding times ``factor`` before training begins; a shared matrix once."""

    def model(settings: Settings) -> nn.Module:
        built = setup.model(settings)
        weights = {id(module.weight): module.weight for module in built.modules() if isinstance(module, (nn.Linear, nn.Embedding))}
        with torch.no_grad():
            for weight in weights.values():
                weight.mul_(factor)
        return built

    return replace(setup, model=model)


def goes_on_at(setup: Setup, step: int) -> int:
    """The step at which a run that dies at ``step`` goes on: after its last checkpoint."""
    return step - step % setup.settings.save_every


def from_step(setup: Setup, step: int, happen: Callable[[Loop], None]) -> Setup:
    """Something happens at the beginning of a step, and of every one after it."""

    def before(loop: Loop, now: int) -> None:
        setup.before(loop, now)
        if now >= step:
            happen(loop)

    return replace(setup, before=before)


def at_step(setup: Setup, step: int, happen: Callable[[Loop], None]) -> Setup:
    """Something happens at the beginning of one step."""

    def before(loop: Loop, now: int) -> None:
        setup.before(loop, now)
        if now == step:
            happen(loop)

    return replace(setup, before=before)


def batches(setup: Setup, step: int, spoil: Callable[[Batch, int], Batch]) -> Setup:
    """The loader spoils what it gives from a step on; ``spoil`` is told how many steps ago that was."""

    def batch(settings: Settings, data: Data, number: int) -> Batch:
        given = setup.batch(settings, data, number)
        now = number // settings.accumulation
        return spoil(given, now - step) if now >= step else given

    return replace(setup, batch=batch)


def steps_an_epoch(settings: Settings) -> int:
    """Optimizer steps from one pass over the data to the next."""
    return max(1, settings.rows // (settings.batch * settings.accumulation))


def first_matrix(model: nn.Module) -> nn.Parameter:
    """The first weight inside the blocks that multiplies something: where a fault strikes that could strike any."""
    return next(parameter for name, parameter in model.named_parameters() if "blocks" in name and parameter.ndim > 1)


def mislabelled(batch: Batch, share: float) -> Batch:
    """A share of the labels drawn anew from all that there are; the same batch always in the same way."""
    generator = torch.Generator().manual_seed(int(batch.targets.sum()) % 2**31)
    flat = batch.targets.flatten()
    chosen = (torch.rand(len(flat), generator=generator) < share) & (flat != IGNORE)
    drawn = torch.randint(int(flat.max()) + 1, flat.shape, generator=generator)
    return batch._replace(targets=torch.where(chosen, drawn, flat).view_as(batch.targets))
