"""Panel 1, the loss: training and validation, and the terms of a loss that is a sum."""

from __future__ import annotations

import math

from sismo.dashboard.panel import Limits, Line, Panel, Plot
from sismo.postmortem import Text
from sismo.records.channels import number_of
from sismo.records.types import Run


def _guess(run: Run, limits: Limits) -> list[Line]:
    vocabulary = run.header.vocab_size
    return [Line(Text("a guess, ln V"), math.log(vocabulary))] if vocabulary and vocabulary > 1 else []


PANEL = Panel(
    "loss",
    number_of("loss"),
    Text("Loss"),
    Text("Does it fall, and does validation follow?"),
    (
        Plot(Text("Loss"), ("loss/train", "loss/val", "loss_val"), _guess),
        Plot(Text("Terms of the loss"), ("loss_term", "loss_term_val"), optional=True),
        Plot(Text("Loss by rank"), ("loss_rank",), optional=True),
    ),
)
