"""Panel 9, the loss per class or domain: one that parts from the others."""

from __future__ import annotations

from sismo.dashboard.panel import Panel, Plot
from sismo.postmortem import Text
from sismo.records.channels import number_of

PANEL = Panel(
    "classes",
    number_of("classes"),
    Text("Loss per class"),
    Text("Does one class or domain part from the others?"),
    (Plot(Text("Loss per class"), ("loss_class",)),),
)
