"""Panel 5, spectra: the largest singular value of each weight matrix."""

from __future__ import annotations

from sismo.dashboard.panel import Panel, Plot
from sismo.postmortem import Text
from sismo.records.channels import number_of

PANEL = Panel(
    "spectral",
    number_of("spectral"),
    Text("Spectral norm"),
    Text("Does any weight matrix stretch what it is given more and more?"),
    (Plot(Text("Largest singular value"), ("spectral",)),),
)
