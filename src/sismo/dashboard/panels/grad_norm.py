"""Panel 3, the gradient norm: before and after clipping, and by group."""

from __future__ import annotations

from sismo.dashboard.panel import Limits, Line, Panel, Plot
from sismo.postmortem import Text
from sismo.records.channels import number_of
from sismo.records.types import Run


def _limits(run: Run, limits: Limits) -> list[Line]:
    clip = run.header.clip
    lines = [Line(Text("clipped at {clip:.4g}", {"clip": clip}), clip)] if clip and clip > 0 else []
    if high := limits.get("first-norm-high"):
        lines.append(Line(Text("too high for a first step"), high, "above", until=1))
    return lines


PANEL = Panel(
    "grad-norm",
    number_of("gradients"),
    Text("Gradient norm"),
    Text("Is it steady, or does it spike before the loss does?"),
    (
        Plot(Text("Norm before and after clipping"), ("grad_norm/pre", "grad_norm/post", "grad_norm"), _limits),
        Plot(Text("Norm by group"), ("grad_norm_group",), optional=True),
    ),
)
