"""Panel 4, activations: their size by layer, and how near they are to the limit of the dtype."""

from __future__ import annotations

import numpy as np

from sismo.dashboard.panel import Limits, Line, Panel, Plot
from sismo.postmortem import Text
from sismo.records.channels import number_of
from sismo.records.numeric import median
from sismo.records.types import Run


def _start(run: Run, limits: Limits) -> list[Line]:
    """What a start must not exceed: so many times the level that the largest layer has about step 100."""
    factor = limits.get("activation-at-start")
    levels: list[float] = []
    for series in run.family("act_mean_abs"):
        about = series.values[(series.steps >= 80) & (series.steps <= 300) & np.isfinite(series.values)]
        if about.size:
            levels.append(median(about))
    if factor is None or not levels or max(levels) <= 0:
        return []
    return [Line(Text("{factor:.0f}× the level about step 100", {"factor": factor}), factor * max(levels), "above", 1)]


def _near(run: Run, limits: Limits) -> list[Line]:
    near = limits.get("activation-near-limit")
    return [Line(Text("half of the fp16 limit"), near, "above")] if near else []


PANEL = Panel(
    "activations",
    number_of("activations"),
    Text("Activations"),
    Text("Are they of the same order at step 0 and later, in every layer?"),
    (
        Plot(Text("Mean absolute activation"), ("act_mean_abs",), _start),
        Plot(Text("Largest absolute activation"), ("act_max_abs",), _near, optional=True),
        Plot(Text("Non-finite activations"), ("act_nonfinite",), optional=True),
        Plot(Text("Share near the limit of the dtype"), ("act_near_limit",), bounds=(0.0, 1.0), log="never", optional=True),
    ),
)
