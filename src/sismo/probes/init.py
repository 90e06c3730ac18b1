"""Initialisation: how activations and gradients grow over depth, against the same model freshly initialised by its own layers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sismo.errors import UsageError
from sismo.probes import step
from sismo.probes.frames import visited
from sismo.probes.step import LossFn
from sismo.probes.tensors import tensors
from sismo.probes.untouched import untouched
from sismo.records.probing import ProbeReport, word
from sismo.records.types import Note

FACTOR = 5.0
"""Times a fresh initialisation that is another order of size; one made bad on purpose gave 50 to 200 (three-failures, failure 1)."""


_DEAD = 1e-3
"""Gradient of the first layer over that of the last: the same as in a recorded run (docs/sources.md, detector 14)."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Mean absolute activation and gradient norm of one module, and what they are times those of a fresh initialisation."""

    name: str
    activation: float
    gradient: float
    activation_ratio: float
    gradient_ratio: float


@dataclass(frozen=True, slots=True)
class Initialisation:
    """The layers of a model in the order in which they run.

    Attributes:
        layers: modules with weights. first_off: the first one whose activation is ``FACTOR`` times too large or small; None for none. An
            embedding is never too small: PyTorch fills it from N(0, 1), and transformers from N(0, 0.02²) on purpose (GPT-2).
        dies: whether the gradient of the first layer is under a thousandth of that of the last; not where the first is frozen.
        reset: share of the weights that could be initialised anew; under a half nothing is said.
    """

    layers: tuple[Layer, ...]
    first_off: Layer | None
    dies: bool
    reset: float

    def report(self) -> ProbeReport:
        """The result for a run and a reader."""
        off = self.first_off
        columns = (word("module"), word("activation"), word("× fresh"), word("gradient"), word("× fresh gradient"))
        rows = tuple(
            (one.name, f"{one.activation:.3g}", _times(one.activation_ratio), f"{one.gradient:.3g}", _times(one.gradient_ratio))
            for one in self.layers
        )
        data: dict[str, object] = {}
        if self.layers and math.isfinite(self.layers[0].gradient) and self.layers[-1].gradient > 0:
            data["gradient"] = "dies" if self.dies else "reaches"
        if self.reset >= 0.5:
            data["init"] = "sound" if off is None else ("large" if off.activation_ratio > 1 else "small")
        if off is not None:
            data |= {"where": off.name, "ratio": off.activation_ratio}
        elif self.dies:
            data["where"] = self.layers[0].name
        found = off is not None or self.dies
        return ProbeReport("init", found, self._verdict(), data, columns, rows, open=not found and self.reset < 0.5)

    def _verdict(self) -> Note:
        if self.dies and self.first_off is None:
            first, last = self.layers[0], self.layers[-1]
            return Note(
                "init-dies",
                "The gradient dies on its way back: {ratio:.1e} of that of {last} gets to {first}.",
                {"ratio": first.gradient / last.gradient, "first": first.name, "last": last.name},
            )
        if self.reset < 0.5:
            return Note(
                "init-unknown", "Too few layers know how to initialise themselves (reset_parameters): there is nothing to compare with."
            )
        if self.first_off is None:
            return Note("init-sound", "Activations are of the order that a fresh initialisation gives, at every depth.")
        return Note(
            "init-off",
            "{where} is the first whose activations are off: {ratio:.3g}× those of a fresh initialisation.",
            {"where": self.first_off.name, "ratio": self.first_off.activation_ratio},
        )


def initialisation(model: nn.Module, batch: Any, loss_fn: LossFn) -> Initialisation:
    """Runs a batch through the model as it is and once more freshly initialised, and compares layer by layer.

    Meant for a model before training; one that has trained may be far from its beginning for good reasons. It is left as it was. Raises
    ``UsageError`` for activations that are NaN.
    """
    with untouched(model) as loan:
        own = _measured(model, batch, loss_fn)
        loan.rewind()
        reset = initialised(model)
        fresh = _measured(model, batch, loss_fn)
    layers = tuple(
        Layer(name, activation, gradient, _ratio(activation, fresh[name][0]), _ratio(gradient, fresh[name][1]))
        for name, (activation, gradient) in own.items()
    )
    lost = next((one.name for one in layers if math.isnan(one.activation)), None)
    if lost is not None:
        raise UsageError(f"the activations of {lost} are NaN on this batch, which is no matter of size: sismo probe nan says where from")
    off = next((one for one in layers if _off(one, model.get_submodule(one.name))), None) if reset >= 0.5 else None
    dies = bool(layers) and layers[0].gradient < _DEAD * layers[-1].gradient
    return Initialisation(layers, off, dies, reset)


def _measured(model: nn.Module, batch: Any, loss_fn: LossFn) -> Mapping[str, tuple[float, float]]:
    sizes = _Sizes({name for name, module in model.named_modules() if name and next(module.parameters(recurse=False), None) is not None})
    with visited(model, sizes):
        loss = step.loss_of(model, batch, loss_fn)
    if loss.isfinite():
        step.backward(loss)
    return {name: (size, _gradient(model.get_submodule(name))) for name, size in sizes.seen.items()}


def _gradient(module: nn.Module) -> float:
    """Norm of the gradient of a module's own parameters; NaN where none of them asks for one."""
    if not any(parameter.requires_grad for parameter in module.parameters(recurse=False)):
        return math.nan
    norms = [float(parameter.grad.double().norm()) for parameter in module.parameters(recurse=False) if parameter.grad is not None]
    return math.hypot(*norms)


def initialised(model: nn.Module) -> float:
    """Initialises every layer anew that knows how to; returns the share of weights that this is."""
    done = 0
    for module in model.modules():
        again = getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)
        if callable(again):
            again()
            done += sum(parameter.numel() for parameter in module.parameters(recurse=False))
    return done / max(1, sum(parameter.numel() for parameter in model.parameters()))


def _off(layer: Layer, module: nn.Module) -> bool:
    small = layer.activation_ratio < 1 / FACTOR and not isinstance(module, nn.Embedding)
    return small or layer.activation_ratio > FACTOR


def _ratio(one: float, other: float) -> float:
    if one == other == 0.0:
        return 1.0
    return one / other if other else math.inf


def _times(ratio: float) -> str:
    return f"{ratio:.3g}"


class _Sizes:
    """Mean absolute output of every module that has weights of its own, at its first call."""

    def __init__(self, wanted: set[str]) -> None:
        self._wanted = wanted
        self.seen: dict[str, float] = {}

    def entered(self, name: str, inputs: Any) -> None:
        """Nothing is known yet."""

    def left(self, name: str, inputs: Any, output: Any) -> None:
        """A module returns."""
        value: Tensor | None = next((tensor for tensor in tensors(output) if tensor.is_floating_point()), None)
        if name in self._wanted and name not in self.seen and value is not None:
            with torch.no_grad():
                self.seen[name] = float(value.float().abs().mean())
