"""Panel 7, the loss per class or domain: one that parts from the others."""

from __future__ import annotations

from sismo.dashboard.panel import Panel, Plot
from sismo.postmortem import Text

PANEL = Panel(
    "classes",
    7,
    Text("Loss per class"),
    Text("Does one class or domain part from the others?"),
    (Plot(Text("Loss per class"), ("loss_class",)),),
)
