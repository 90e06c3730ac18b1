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
from sismo.probes.dormant import awake
from sismo.probes.frames import visited
from sismo.probes.step import LossFn
from sismo.probes.tensors import tensors
from sismo.probes.untouched import untouched
from sismo.records.probing import ProbeReport, word
from sismo.records.types import Note

FACTOR = 5.0
"""Times a fresh initialisation that is another order of size; one made bad on purpose gave 50 to 200 (three-failures, failure 1)."""
_FAINT = FACTOR**-2
"""Output over that of a fresh initialisation from which the signal is lost. GPT-2's 0.02 gives 0.035 √width: 0.2 at a width of 32."""
_WIDESPREAD = 0.5
"""Share of the matrices that are too small where the signal dies: some are meant to be, as the last of a branch or a policy's head."""
_DEAD = 1e-3
"""Gradient of the first layer over that of the last: the same as in a recorded run (docs/sources.md, detector 14)."""
_ALSO = _DEAD ** (2 / 3)
"""The same for each of the first third of the layers, as of a gradient that dies step by step: of a side branch it may be small."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Mean absolute activation and gradient norm of one module, and what they are times those of a fresh initialisation.

    ``signal_ratio`` is that of how far its activations vary from example to example, which a bias does not hide.
    """

    name: str
    activation: float
    gradient: float
    activation_ratio: float
    gradient_ratio: float
    signal_ratio: float


@dataclass(frozen=True, slots=True)
class Initialisation:
    """The layers of a model in the order in which they run.

    Attributes:
        layers: modules with weights. first_off: the first one whose activation is ``FACTOR`` times too large or small; None for none, and
            where nothing comes of it: where no activation is as many times over the largest of a fresh initialisation (He's is larger than
            PyTorch's own, and holds its size), or where the output is there and most layers are not small (GPT-2's residual branches).
            What is too small is how far activations vary from example to example.
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
            data["init"] = "sound" if off is None else ("large" if self.large else "small")
        if off is not None:
            data |= {"where": off.name, "ratio": off.activation_ratio if self.large else off.signal_ratio}
        elif self.dies:
            data["where"] = self.layers[0].name
        found = off is not None or self.dies
        return ProbeReport("init", found, self._verdict(), data, columns, rows, open=not found and self.reset < 0.5)

    @property
    def large(self) -> bool:
        """Whether it is too large that the first layer is."""
        return self.first_off is not None and self.first_off.activation_ratio > FACTOR

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
        if self.large:
            return Note(
                "init-off",
                "{where} is the first whose activations are off: {ratio:.3g}× those of a fresh initialisation.",
                {"where": self.first_off.name, "ratio": self.first_off.activation_ratio},
            )
        return Note(
            "init-faint",
            "The signal dies: {where} is the first whose activations hardly vary from example to example, {ratio:.3g}× as far as under a "
            "fresh initialisation, and the output no more.",
            {"where": self.first_off.name, "ratio": self.first_off.signal_ratio},
        )


def initialisation(model: nn.Module, batch: Any, loss_fn: LossFn) -> Initialisation:
    """Runs a batch through the model as it is and once more freshly initialised, and compares layer by layer.

    Meant for a model before training; one that has trained may be far from its beginning for good reasons. Parameters that are zero
    throughout are given values first (see ``awake``). It is left as it was. Raises ``UsageError`` for activations that are NaN.
    """
    with untouched(model, None, loss_fn) as loan:
        awake(model)
        own = _measured(model, batch, loss_fn)
        loan.rewind()
        reset = initialised(model)
        fresh = _measured(model, batch, loss_fn)
    layers = tuple(
        Layer(name, size, gradient, *(_ratio(mine, its) for mine, its in zip(own[name], fresh[name], strict=True)))
        for name, (size, gradient, _) in own.items()
        if name in fresh  # another draw may leave out a layer, as a router does with its experts
    )
    lost = next((one.name for one in layers if math.isnan(one.activation)), None)
    if lost is not None:
        raise UsageError(f"the activations of {lost} are NaN on this batch, which is no matter of size: sismo probe nan says where from")
    off = _first_off(model, layers, max((size for size, *_ in fresh.values()), default=0.0)) if reset >= 0.5 else None
    return Initialisation(layers, off, _dies(layers), reset)


def _first_off(model: nn.Module, layers: tuple[Layer, ...], largest: float) -> Layer | None:
    """The first layer that is off, where that has consequences; ``largest`` is the largest activation of a fresh initialisation.

    An embedding is never too small: PyTorch fills it from N(0, 1), and transformers from N(0, 0.02²) on purpose (GPT-2).
    """
    large = [one for one in layers if one.activation_ratio > FACTOR]
    if any(one.activation > FACTOR * largest for one in large):
        return large[0]
    matrices = [one for one in layers if _is_matrix(model.get_submodule(one.name))]
    small = [one for one in matrices if one.signal_ratio < 1 / FACTOR]
    if small and matrices[-1].signal_ratio < _FAINT and len(small) >= _WIDESPREAD * len(matrices):
        return small[0]
    return None


def _is_matrix(module: nn.Module) -> bool:
    own = module.parameters(recurse=False)
    return not isinstance(module, nn.Embedding) and any(parameter.ndim > 1 for parameter in own)


def _dies(layers: tuple[Layer, ...]) -> bool:
    if not layers or not layers[0].gradient < _DEAD * layers[-1].gradient:
        return False
    return all(one.gradient < _ALSO * layers[-1].gradient for one in layers[: math.ceil(len(layers) / 3)])


def _measured(model: nn.Module, batch: Any, loss_fn: LossFn) -> Mapping[str, tuple[float, float, float]]:
    """Size, gradient and signal of every module with weights of its own."""
    sizes = _Sizes({name for name, module in model.named_modules() if name and next(module.parameters(recurse=False), None) is not None})
    with visited(model, sizes):
        loss = step.loss_of(model, batch, loss_fn)
    if loss.isfinite():
        step.backward(loss)
    return {name: (size, _gradient(model.get_submodule(name)), signal) for name, (size, signal) in sizes.seen.items()}


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


def _ratio(one: float, other: float) -> float:
    if one == other == 0.0:
        return 1.0
    return one / other if other else math.inf


def _times(ratio: float) -> str:
    return f"{ratio:.3g}"


class _Sizes:
    """Mean absolute output of every module with weights of its own, and how far it varies from example to example, at its first call."""

    def __init__(self, wanted: set[str]) -> None:
        self._wanted = wanted
        self.seen: dict[str, tuple[float, float]] = {}

    def entered(self, name: str, inputs: Any) -> None:
        """Nothing is known yet."""

    def left(self, name: str, inputs: Any, output: Any) -> None:
        """A module returns."""
        value: Tensor | None = next((tensor for tensor in tensors(output) if tensor.is_floating_point()), None)
        if name in self._wanted and name not in self.seen and value is not None:
            with torch.no_grad():
                numbers = value.float()
                varies = numbers.std(0) if numbers.ndim > 1 and len(numbers) > 1 else numbers.std()
                self.seen[name] = float(numbers.abs().mean()), float(varies.mean())
