"""Panel 7, the loss scale of mixed precision, and the steps that it skipped."""

from __future__ import annotations

from sismo.dashboard.panel import Limits, Line, Panel, Plot
from sismo.postmortem import Text
from sismo.records.channels import number_of
from sismo.records.types import Run


def _floor(run: Run, limits: Limits) -> list[Line]:
    floor = limits.get("loss-scale-floor")
    return [Line(Text("below it the scale has collapsed"), floor, "below")] if floor else []


PANEL = Panel(
    "loss-scale",
    number_of("scaling"),
    Text("Loss scale"),
    Text("Does the scaler find a scale, and keep it?"),
    (
        Plot(Text("Loss scale"), ("loss_scale",), _floor),
        Plot(Text("Skipped and non-finite steps"), ("skipped", "nonfinite"), log="never", optional=True),
    ),
)
