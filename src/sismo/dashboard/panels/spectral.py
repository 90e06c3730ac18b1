"""Panel 5, spectra: the largest singular value of each weight matrix."""

from __future__ import annotations

from sismo.dashboard.panel import Panel, Plot
from sismo.postmortem import Text

PANEL = Panel(
    "spectral",
    5,
    Text("Spectral norm"),
    Text("Does any weight matrix stretch what it is given more and more?"),
    (Plot(Text("Largest singular value"), ("spectral",)),),
)
