"""Rules over all members of a family of channels: every layer, every matrix, every group."""

from __future__ import annotations

from collections.abc import Callable

from sismo.records.types import Series
from sismo.signals.levels import finite
from sismo.signals.types import Observation, unknown
from sismo.signals.view import View


def members(family: str, rule: Callable[[View, list[Series]], Observation]) -> Callable[[View], Observation]:
    """Runs a rule over the finite rows of a family; unknown where it was not recorded."""

    def look(view: View) -> Observation:
        found = [series for series in (finite(raw) for raw in view.family(family)) if len(series)]
        return rule(view, found) if found else unknown(family)

    return look
