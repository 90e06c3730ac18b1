"""Panel 6, dead units and heads: units that never fire, and attention heads that look at a single key."""

from __future__ import annotations

from sismo.dashboard.panel import Limits, Line, Panel, Plot
from sismo.postmortem import Text
from sismo.records.channels import number_of
from sismo.records.types import Run


def _units(run: Run, limits: Limits) -> list[Line]:
    share = limits.get("dead-units-share")
    return [Line(Text("too many dead units"), share, "above")] if share else []


def _heads(run: Run, limits: Limits) -> list[Line]:
    entropy = limits.get("dead-head-entropy")
    return [Line(Text("below it a head looks at one key"), entropy, "below")] if entropy else []


def _logits(run: Run, limits: Limits) -> list[Line]:
    logit = limits.get("head-max-logit")
    return [Line(Text("too large for a logit"), logit, "above")] if logit else []


PANEL = Panel(
    "dead",
    number_of("units"),
    Text("Dead units and heads"),
    Text("Does everything still take part?"),
    (
        Plot(Text("Share of dead units"), ("dead_units",), _units, bounds=(0.0, 1.0), log="never"),
        Plot(Text("Attention entropy"), ("head_entropy",), _heads, bounds=(0.0, 1.0), worst="low", log="never"),
        Plot(Text("Largest attention logit"), ("head_max_logit",), _logits, optional=True),
    ),
)
