"""Panel 2, the learning rate: where it starts, how it warms up, where it jumps."""

from __future__ import annotations

import numpy as np

from sismo.dashboard.panel import Limits, Line, Panel, Plot
from sismo.postmortem import Text
from sismo.records.channels import LR, number_of
from sismo.records.types import Run


def _start(run: Run, limits: Limits) -> list[Line]:
    series = run.get(LR)
    share = limits.get("lr-start-share")
    values = series.values[np.isfinite(series.values)] if series is not None else np.zeros(0)
    if series is None or share is None or not values.size or float(values.max()) <= 0:
        return []
    return [Line(Text("a start above this is no warmup"), share * float(values.max()), "above", int(series.steps[0]))]


PANEL = Panel(
    "learning-rate",
    number_of("rates"),
    Text("Learning rate"),
    Text("Does it start low, and follow its schedule?"),
    (Plot(Text("Learning rate"), ("lr",), _start, log="never"),),
)
