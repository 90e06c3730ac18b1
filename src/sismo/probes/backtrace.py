"""Follows the first non-finite gradient back through the graph, by hooks on its nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor

from sismo.probes.origins import Check, Kind
from sismo.probes.tensors import Operand, describe, finite, tensors
from sismo.probes.trace import Fault

Node = Any
"""``torch.autograd.graph.Node``, which older releases of torch do not type."""


class Backtrace:
    """Knows which module made which node of the graph, and watches the gradients go through.

    Modules claim the nodes between their inputs and their outputs as they return, inner ones first; the rest is the loss function's.
    """

    def __init__(self) -> None:
        self.trail: list[Check] = []
        self.fault: Fault | None = None
        self._owner: dict[Node, str] = {}
        self._frames: list[str] = []

    def entered(self, name: str, inputs: Any) -> None:
        """A module is called: what its inputs came from is of the module that calls it."""
        self.claim(tensors(inputs), self._frames[-1] if self._frames else "")
        self._frames.append(name)

    def left(self, name: str, inputs: Any, output: Any) -> None:
        """A module returns."""
        while self._frames and self._frames.pop() != name:
            pass
        self.claim(tensors(output), name)

    def claim(self, values: Iterable[Tensor], name: str) -> None:
        """The nodes that lead to some tensors and belong to nobody yet."""
        pending = [value.grad_fn for value in values if value.grad_fn is not None]
        while pending:
            node = pending.pop()
            if node in self._owner or _leaf(node):
                continue
            self._owner[node] = name
            pending += [earlier for earlier, _ in node.next_functions if earlier is not None]

    def watch(self) -> list[Any]:
        """Hooks on every node; to be removed after the backward pass."""
        return [node.register_hook(self._hook(node, name)) for node, name in self._owner.items()]

    def _hook(self, node: Node, module: str) -> Callable[..., None]:
        op = _operation(node)

        def hook(leaving: tuple[Tensor | None, ...], coming: tuple[Tensor | None, ...]) -> None:
            came = [value for value in coming if value is not None]
            left = [value for value in leaving if value is not None]
            if self.fault is None:
                self.trail += [Check("backward", module, op, describe(value)) for value in left[:1]]
                if not all(finite(value) for value in came):
                    # Each part was finite, or an earlier node would have been named: it is their sum that is not.
                    self.fault = self._blame(module, "sum of gradients", came, came)
                elif not all(finite(value) for value in left):
                    self.fault = self._blame(module, op, came, left)

        return hook

    def _blame(self, module: str, op: str, came: list[Tensor], left: list[Tensor]) -> Fault:
        operands: list[Operand] = [describe(value, "the gradient") for value in came]
        result = next(value for value in left if not finite(value))
        return Fault(Kind.BACKWARD, "backward", module, op, 0, tuple(operands), describe(result, "result"))


def _leaf(node: Node) -> bool:
    return node.name().endswith("AccumulateGrad")


def _operation(node: Node) -> str:
    """``LogSoftmaxBackward0`` as ``log_softmax``: the operation whose backward pass it is."""
    name = re.sub(r"Backward\d*$", "", node.name().rpartition("::")[2]).removeprefix("Native")
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return "scaled_dot_product_attention" if name.startswith("scaled_dot_product") else name.removeprefix("safe_")
