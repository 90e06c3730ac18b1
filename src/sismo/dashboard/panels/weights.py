"""Panel 3, weights and updates, where they were recorded."""

from __future__ import annotations

from sismo.dashboard.panel import Limits, Line, Panel, Plot
from sismo.postmortem import Text
from sismo.records.channels import number_of
from sismo.records.types import Run


def _update(run: Run, limits: Limits) -> list[Line]:
    high = limits.get("update-ratio-high")
    return [Line(Text("an update too large for its weights"), high, "above")] if high else []


def _rms(run: Run, limits: Limits) -> list[Line]:
    rms = limits.get("adam-rms")
    return [Line(Text("above it Adam lags behind the gradient"), rms, "above")] if rms else []


def _zeros(run: Run, limits: Limits) -> list[Line]:
    share = limits.get("zero-gradient-share")
    return [Line(Text("above it gradients underflow"), share, "above")] if share else []


PANEL = Panel(
    "weights",
    number_of("weights"),
    Text("Weights and updates"),
    Text("Do the weights stay in scale, and are the steps small against them?"),
    (
        Plot(Text("Update over weights"), ("update_ratio",), _update, optional=True),
        Plot(Text("Weight norm"), ("weight_norm",), optional=True),
        Plot(Text("RMS of Adam"), ("adam_rms",), _rms, optional=True),
        Plot(Text("Share of gradient entries that are zero"), ("grad_zero_share",), _zeros, bounds=(0.0, 1.0), log="never", optional=True),
    ),
    optional=True,
)
