"""Panel 2, the learning rate of every parameter group: ``lr/GROUP``.

Formula: ``group["lr"]`` when the optimizer takes its step, before any scheduler moves it on. Groups of several optimizers are numbered
through. Cost: nothing. Source: the user's own panel 2; fault "missing warmup" is read off its first value.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from torch import Tensor
from torch.optim import Optimizer

from sismo.recorder.draft import Job
from sismo.recorder.panel import Panel
from sismo.records.types import Event


class RatesPanel(Panel):
    """Learning rates as the optimizers used them."""

    name: ClassVar[str] = "rates"

    def jobs(self) -> Sequence[Job]:
        return ()

    def arm(self, parts: Collection[str]) -> None:
        pass

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        return ()

    def on_before_update(self, optimizer: Optimizer) -> None:
        """The rates that the step is taken with."""
        mine = {id(group) for group in optimizer.param_groups}
        for number, group in self.scene.groups:
            if id(group) in mine and group.get("lr") is not None:  # Adafactor may work it out by itself
                rate = group["lr"]
                # A rate in a tensor is changed in place later on.
                self.scene.draft.add(f"lr/{number}", rate.clone() if isinstance(rate, Tensor) else rate)

    def on_skipped(self, optimizer: Optimizer) -> None:
        """A skipped step has rates as well."""
        self.on_before_update(optimizer)


PANEL = RatesPanel
