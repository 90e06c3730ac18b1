"""Panel 6, dead units: ``dead_units/LAYER``, the share of units that fired for no entry of the window.

Formula: a unit fires where the output of its activation function is over 0, which for ReLU, GELU, SiLU and their kin is where its input
was; before the second matrix of an MLP that calls a function, where it is not 0. Units lie on the last axis of (B, C) and (B, T, C) and
on axis 1 of (B, C, H, W), whichever the operation that made them has, as the graph tells; every other axis is an entry. The window is
the last 8 measured steps; one that is not finite is left out. Cost: one pass over the output; layers take turns. Source: the user's own
panel 6; SageMaker Debugger's dead ReLU.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, ClassVar

from torch import Tensor

from sismo.recorder import anatomy
from sismo.recorder.draft import Job
from sismo.recorder.local import local
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene
from sismo.recorder.taps import Taps
from sismo.records.types import Event

WINDOW = 8
"""Measured steps in a window: enough that a unit which fires now and then is not taken for dead."""
_FIRST = re.compile(r"^(Convolution|\w*BatchNorm|\w*GroupNorm)Backward")
_LAST = re.compile(r"^(Addmm|Mm|Bmm|Baddbmm|Linear|\w*LayerNorm)Backward")
_FAR = 12
"""Operations between what makes the units and their activation."""
_SILENT = 1e-6
"""Size up to which the output of a unit counts as 0 where its sign says nothing."""


class UnitsPanel(Panel):
    """Units that never fire."""

    name: ClassVar[str] = "units"
    of_modules: ClassVar[bool] = True
    at_once: ClassVar[bool] = False

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        found = () if scene.compiled else anatomy.units(scene.root)
        self._units = {units.name: units for units in found}
        self._axes: dict[str, int] = {}
        self._peaks: dict[str, Tensor] = {}
        self._count: dict[str, int] = {}
        self._taps = Taps(scene.shield, scene.taps)

    def jobs(self) -> Sequence[Job]:
        return [Job(self.name, name) for name in self._units]

    def arm(self, parts: Collection[str]) -> None:
        self._taps.clear()
        for part in parts:
            units = self._units[part]
            (self._taps.input if units.reads_input else self._taps.output)(units.module, partial(self._measure, part))

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        return ()

    def _measure(self, name: str, output: Tensor) -> None:
        units = self._units[name]
        with self.timed(name):
            if name not in self._axes:
                self._axes[name] = units.axis if units.reads_input else axis(output, units.axis)
            peak = peaks(local(output), self._axes[name], sizes=units.reads_input)
            known = self._peaks.get(name)
            self._peaks[name] = peak if known is None or known.shape != peak.shape else known.maximum(peak)
            self._count[name] = self._count.get(name, 0) + 1
            if self._count[name] >= WINDOW:
                peaks_ = self._peaks.pop(name)
                dead = peaks_ <= (_SILENT if units.reads_input else 0.0)
                self._count[name] = 0
                # A window with a NaN says nothing about life and death: times 0 it makes a share of NaN, which is left out.
                share = dead.float().mean() + (peaks_ * 0).sum()
                self.scene.draft.vector(share, lambda values: {f"dead_units/{name}": values[0]} if math.isfinite(values[0]) else {})


def axis(output: Tensor, otherwise: int) -> int:
    """The axis that units lie on: that of the operation which made them, wherever it was moved since; ``otherwise`` where none is found."""
    node: Any = output.grad_fn
    moves: list[Any] = []
    for _ in range(_FAR):
        name = "" if node is None else str(node.name())
        if _FIRST.match(name) or _LAST.match(name):
            break
        if name.startswith(("Permute", "Transpose")):
            moves.append(node)
        node = next((below for below, _ in getattr(node, "next_functions", ()) if below is not None), None)
    else:
        return otherwise
    found = 1 if _FIRST.match(name) else output.ndim - 1
    for move in reversed(moves):
        order = list(range(output.ndim))
        if hasattr(move, "_saved_dims"):
            order = [dim % output.ndim for dim in map(_signed, move._saved_dims)]
        else:
            one, other = _signed(move._saved_dim0) % output.ndim, _signed(move._saved_dim1) % output.ndim
            order[one], order[other] = other, one
        if len(order) != output.ndim:
            return otherwise
        found = order.index(found)
    return found


def _signed(dim: int) -> int:
    """Autograd keeps negative numbers of axes as if they had no sign."""
    return dim - (1 << 64) if dim >= 1 << 63 else dim


def peaks(output: Tensor, axis: int, *, sizes: bool) -> Tensor:
    """The largest output of each unit (the largest size, where ``sizes``)."""
    axis = axis if output.ndim > 2 else -1
    others = [other for other in range(output.ndim) if other != axis % output.ndim]
    return (output.abs() if sizes else output).amax(others) if others else output


PANEL = UnitsPanel
