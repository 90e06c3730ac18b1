"""Generators that code holds itself are put back as those that it shares: a step twice is the same step."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sismo.probes.replay import replay

Draw = Callable[[], float]
_SHARED = np.random.default_rng(3)


def _batch() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {"x": torch.randn(8, 4, generator=generator)}


def _loss(draw: Draw) -> Callable[[nn.Module, Any], Tensor]:
    return lambda model, batch: (model(batch["x"]) - 1 - draw()).square().mean()


def _torch() -> Draw:
    generator = torch.Generator().manual_seed(1)
    return lambda: float(torch.randn((), generator=generator))


def _numpy() -> Draw:
    generator = np.random.default_rng(1)
    return lambda: float(generator.standard_normal())


def _old_numpy() -> Draw:
    generator = np.random.RandomState(1)
    return lambda: float(generator.randn())


def _python() -> Draw:
    return random.Random(1).random


def _as_default() -> Draw:
    def draw(generator: np.random.Generator = np.random.default_rng(2)) -> float:  # noqa: B008 - as people write it
        return float(generator.standard_normal())

    return draw


def _by_partial() -> Draw:
    return functools.partial(lambda generator: float(generator.random()), random.Random(4))


def _of_the_module() -> Draw:
    return lambda: float(_SHARED.standard_normal())


class Noise:
    """Holds its generator, and is called."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(5)

    def __call__(self) -> float:
        return float(torch.randn((), generator=self.generator))

    def method(self) -> float:
        """The same by name."""
        return self()


@pytest.mark.parametrize(
    "make", [_torch, _numpy, _old_numpy, _python, _as_default, _by_partial, _of_the_module, Noise, lambda: Noise().method]
)
def test_a_step_with_a_generator_of_its_own_is_the_same_twice(make: Callable[[], Draw]) -> None:
    draw = make()
    model = nn.Linear(4, 4)
    found = replay(model, _batch(), _loss(draw), torch.optim.SGD(model.parameters(), 0.1))
    assert found.repeats
    after, again = draw(), make()()
    if make is not _of_the_module:
        assert after == again  # it goes on from where it was


def test_one_that_a_module_holds() -> None:
    class Noisy(nn.Linear):
        def __init__(self) -> None:
            super().__init__(4, 4)
            self.generator = torch.Generator().manual_seed(1)

        def forward(self, x: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
            return super().forward(x) + torch.randn(4, generator=self.generator)

    model = Noisy()
    assert replay(model, _batch(), _loss(lambda: 0.0), torch.optim.SGD(model.parameters(), 0.1)).repeats


def test_code_that_counts_its_calls_is_among_what_may_make_the_difference() -> None:
    calls: list[int] = []

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        calls.append(1)
        return model(batch["x"]).square().mean() * (1 + 0.01 * len(calls))

    model = nn.Linear(4, 4)
    said = str(replay(model, _batch(), loss, torch.optim.SGD(model.parameters(), 0.1)).report().verdict)
    assert "counts its calls" in said
