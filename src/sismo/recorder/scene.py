"""What is recorded: the model, its optimizers, and the parameters by group and by block."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from torch import nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from sismo.errors import UsageError
from sismo.recorder import anatomy
from sismo.recorder.draft import Draft
from sismo.recorder.local import sharded
from sismo.recorder.shield import Shield
from sismo.recorder.taps import Hanging

_ASKS = attrgetter("requires_grad")


class Weight(NamedTuple):
    """One parameter that is trained: its name, its optimizer, the member of its group (``0``) and of its block (``layers.3``)."""

    name: str
    tensor: nn.Parameter
    optimizer: Optimizer
    settings: Mapping[str, Any]
    group: str
    block: str
    embeds: bool


class Scene:
    """The things that panels look at.

    Attributes:
        model: as the user gave it. root: without DDP and compile wrappers. compiled: whether taps on modules are off.
        cut: whether the weights lie in pieces that nobody tells of, so that nothing is measured of them.
        blocks: repeated parts by name. weights: every trained parameter once, in the order of the model.
        draft: what has been measured since the last step. scaler: the gradient scaler, once one has been seen.
        taps: those of every panel.
        shield: what sismo's own code runs in.
    """

    def __init__(self, model: nn.Module, optimizers: Sequence[Optimizer], shield: Shield) -> None:
        self.shield = shield
        self.model = model
        self.root = anatomy.unwrapped(model)
        self.compiled = anatomy.is_compiled(model)
        self.cut = anatomy.is_cut(model)
        self.optimizers = tuple(optimizers)
        self.blocks = anatomy.blocks(self.root)
        self.draft = Draft()
        self.scaler: Any = None
        self.taps: list[Hanging] = []
        self._held = self._holding()
        self.weights = _weights(self)

    def changed(self) -> bool:
        """Finds the weights again where the optimizers were given others since the last look, or some were frozen or thawed."""
        was, self._held = self._held, self._holding()
        if was == self._held:
            return False
        self.weights = _weights(self)
        return True

    def _holding(self) -> list[tuple[int, int]]:
        groups = [group["params"] for _, group in self.groups]
        return [(len(many), sum(map(_ASKS, many))) for many in groups]

    @property
    def sharded(self) -> bool:
        """Whether other ranks hold a part of the weights."""
        return any(sharded(weight.tensor) for weight in self.weights)

    @property
    def likeness(self) -> int:
        """A number that ranks with the same model share."""
        return zlib.crc32(repr([(weight.name, tuple(weight.tensor.shape)) for weight in self.weights]).encode())

    @property
    def block_names(self) -> list[str]:
        """The blocks that have trained weights, in the order of the model."""
        return list(dict.fromkeys(weight.block for weight in self.weights))

    @property
    def groups(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Every parameter group of every optimizer, numbered through."""
        every = (group for optimizer in self.optimizers for group in optimizer.param_groups)
        return [(str(number), group) for number, group in enumerate(every)]

    def of(self, optimizer: Optimizer | None) -> Iterable[Weight]:
        """The parameters of one optimizer; of all for None."""
        return [weight for weight in self.weights if optimizer is None or weight.optimizer is optimizer]


def scene(model: object, optimizers: Any, shield: Shield) -> Scene:
    """Checks what the user gave. Raises ``UsageError`` for a model without parameters or an optimizer that holds none of them."""
    if not isinstance(model, nn.Module):
        raise UsageError(f"Recorder needs a torch.nn.Module first, not {type(model).__name__}")
    if isinstance(optimizers, Mapping):
        optimizers = list(optimizers.values())
    many = list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]
    many = [getattr(one, "optimizer", one) for one in many]  # wrappers such as Accelerate's hold the real one
    for one in many:
        if not isinstance(one, Optimizer):
            raise UsageError(f"Recorder needs a torch optimizer second, not {type(one).__name__}")
    if not many:
        raise UsageError("Recorder needs a torch optimizer second, not an empty list")
    mine = {id(parameter) for parameter in model.parameters()}
    if not mine:
        raise UsageError("the model has no parameters: there is nothing to record")
    if any(map(is_lazy, model.parameters())):
        raise UsageError("the model has lazy parameters: call it once on a batch before the recorder is made, so that they have a shape")
    for one in many:
        held = [parameter for group in one.param_groups for parameter in group["params"]]
        if not any(id(parameter) in mine for parameter in held):
            raise UsageError("the optimizer holds no parameter of this model: was it made before the model was moved, wrapped or loaded?")
    return Scene(model, many, shield)


def _weights(scene: Scene) -> list[Weight]:
    if scene.cut:
        return []
    owner = {
        id(parameter): (optimizer, group, str(number))
        for number, (optimizer, group) in enumerate((o, g) for o in scene.optimizers for g in o.param_groups)
        for parameter in group["params"]
    }
    # Those that the modules hold: a weight that is worked out, as a spectral norm is, is another one after each look.
    embedding = {id(one) for module in scene.root.modules() if isinstance(module, nn.Embedding) for one in module.parameters()}
    found: list[Weight] = []
    # named_parameters gives a shared parameter once, under its first name.
    for raw, parameter in scene.root.named_parameters():
        if id(parameter) not in owner or not parameter.requires_grad or not (parameter.is_floating_point() or parameter.is_complex()):
            continue
        optimizer, group, number = owner[id(parameter)]
        name = anatomy.clean(raw)
        block = next((part for part in scene.blocks if name == part or name.startswith(part + ".")), None)
        found.append(
            Weight(name, parameter, optimizer, group, number, _member(block or name.rpartition(".")[0] or name), id(parameter) in embedding)
        )
    return found


def _member(block: str) -> str:
    """A block's name as a member of a channel: never a bare number, which names a parameter group."""
    return f"layer.{block}" if block.isdigit() else block
