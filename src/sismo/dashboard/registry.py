"""The panels, found by being there."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from sismo.dashboard import panels as package
from sismo.dashboard.panel import Panel
from sismo.postmortem import Text


@cache
def panels() -> tuple[Panel, ...]:
    """All panels in their order: those that every run has by their number, then the ones that only a recorded run fills."""
    found = [importlib.import_module(f"{package.__name__}.{module.name}").PANEL for module in pkgutil.iter_modules(package.__path__)]
    return tuple(sorted(found, key=lambda panel: (panel.optional, panel.number)))


def panel_of(channel: str) -> Text | None:
    """What the panel that draws a channel is called; None where none does."""
    found = next((panel for panel in panels() if panel.owns(channel)), None)
    return Text("Panel {number}, {title}", {"number": found.number, "title": found.title}) if found else None
