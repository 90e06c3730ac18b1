"""Steps that are bad for a known reason: small models, trained for a while, and then one thing about them is spoilt."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from recorder import loops
from torch import Tensor, nn
from torch.nn import functional

from sismo.probes.checkpoints import Checkpoint
from sismo.probes.outcomes import Class


class Lab(NamedTuple):
    """A trained model with everything that a replay takes."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    batch: Any
    others: list[Any]
    earlier: Checkpoint
    loss_fn: Callable[[nn.Module, Any], Tensor]


def _classes(seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 5, (32,), generator=generator)
    return {"x": torch.randn(32, 12, generator=generator) + 2.0 * functional.one_hot(labels, 12), "y": labels}


def _classify(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    return functional.cross_entropy(model(batch["x"]).float(), batch["y"])


def _classifier() -> nn.Module:
    return nn.Sequential(nn.Linear(12, 24), nn.LayerNorm(24), nn.GELU(), nn.Dropout(0.1), nn.Linear(24, 24), nn.GELU(), nn.Linear(24, 5))


def _language(seed: int) -> Tensor:
    start = torch.randint(0, 97, (6, 1), generator=torch.Generator().manual_seed(seed))
    return (start + 7 * torch.arange(loops.LENGTH + 1)) % 97


@cache
def _trained(kind: str, optimizer: str, seed: int) -> tuple[Any, ...]:
    torch.manual_seed(seed)
    model = _classifier() if kind == "classes" else loops.Model(blocks=1)
    batch_of, loss_fn = (_classes, _classify) if kind == "classes" else (_language, loops.loss_of)
    made = torch.optim.AdamW(model.parameters(), 3e-3) if optimizer == "adam" else torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    earlier = None
    for number in range(60):
        loss_fn(model, batch_of(1000 * seed + number)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        made.step()
        made.zero_grad()
        if number == 40:
            earlier = Checkpoint(Path("earlier"), copy.deepcopy(model.state_dict()), copy.deepcopy(made.state_dict()))
    return model, made, batch_of, loss_fn, earlier


def lab(kind: str, optimizer: str, seed: int) -> Lab:
    """A fresh copy of a trained model."""
    model, made, batch_of, loss_fn, earlier = _trained(kind, optimizer, seed)
    model, made = copy.deepcopy((model, made))
    return Lab(model, made, batch_of(5000 + seed), [batch_of(6000 + seed + at) for at in range(3)], earlier, loss_fn)


Spoil = Callable[[Lab, int], Lab]


def _huge_inputs(made: Lab, number: int) -> Lab:
    if isinstance(made.batch, dict):
        return made._replace(batch={"x": made.batch["x"] * 50 * (number + 1), "y": made.batch["y"].roll(1)})
    return made._replace(batch=torch.randint(0, 97, made.batch.shape, generator=torch.Generator().manual_seed(number)))


def _wrong_labels(made: Lab, number: int) -> Lab:
    if isinstance(made.batch, dict):
        return made._replace(batch={"x": made.batch["x"], "y": (made.batch["y"] + 1 + number % 3) % 5})
    return made._replace(batch=made.batch.flip(1))


def _bad_weights(made: Lab, number: int) -> Lab:
    parameters = [parameter for parameter in made.model.parameters() if parameter.ndim > 1]
    with torch.no_grad():
        parameters[-1 - number % 2].mul_(-20.0) if number % 3 else parameters[-1].view(-1)[0].fill_(math.nan)
    return made


def _bad_moments(made: Lab, number: int) -> Lab:
    for state in made.optimizer.state.values():
        if "exp_avg_sq" in state:
            state["exp_avg_sq"].mul_(1e-10) if number % 2 else state["exp_avg"].mul_(1e4)
        else:
            state["momentum_buffer"].add_(100.0 * (number + 1))
    return made


def _half(made: Lab, number: int) -> Lab:
    """A product that passes 65504 in fp16 and is divided back later."""
    inner = made.loss_fn
    gain = 3e5 * (number + 1)

    def loss(model: nn.Module, batch: Any) -> Tensor:
        with torch.autocast("cpu", torch.float16):
            hidden = torch.ones(4, 64) @ torch.full((64, 4), gain / 64)
        return inner(model, batch) + (hidden.float() / gain).mean() - 1.0

    return made._replace(loss_fn=loss)


def _fast(made: Lab, number: int) -> Lab:
    for group in made.optimizer.param_groups:
        group["lr"] = group["lr"] * (100 if "betas" in group else 400) * (1 + number % 4)
    return made


def _flips(made: Lab, number: int) -> Lab:
    """A machine that now and then computes wrong, whatever the seed."""

    def hook(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        wrong = torch.zeros_like(output)
        wrong.view(-1)[int.from_bytes(os.urandom(2), "little") % wrong.numel()] = float(1 + os.urandom(1)[0]) * 1e-3 * 10.0 ** (number % 4)
        return output + wrong

    [module for module in made.model.modules() if isinstance(module, nn.Linear)][-1].register_forward_hook(hook)
    return made


def _lost_always(made: Lab, number: int) -> Lab:
    inner = made.loss_fn
    losses: list[Callable[[Tensor], Tensor]] = [
        lambda loss: loss + (loss - loss) / (loss - loss),
        lambda loss: loss + (loss - loss.detach()).abs().sqrt(),
        lambda loss: loss - (loss * 0).log(),
        lambda loss: loss + (loss.detach() * 0 + 1e30) * loss * 1e30,
    ]
    return made._replace(loss_fn=lambda model, batch: losses[number % 4](inner(model, batch)))


SPOILS: dict[Class, tuple[Spoil, ...]] = {
    Class.DATA: (_huge_inputs, _wrong_labels),
    Class.STATE: (_bad_weights, _bad_moments),
    Class.PRECISION: (_half,),
    Class.LEARNING_RATE: (_fast,),
    Class.HARDWARE: (_flips,),
    Class.STRUCTURE: (_lost_always,),
}


def faults(each: int = 20) -> Iterator[tuple[Class, Callable[[], Lab]]]:
    """As many of every class, over two kinds of model, two optimizers and several seeds."""
    for name, spoils in SPOILS.items():
        for number in range(each):
            kind, optimizer = ("classes", "language")[number % 2], ("adam", "momentum")[number // 2 % 2]
            spoil = spoils[number // 4 % len(spoils)]
            yield name, lambda spoil=spoil, kind=kind, optimizer=optimizer, number=number: spoil(lab(kind, optimizer, number % 4), number)
