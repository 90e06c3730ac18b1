"""What happened at a step, as marks over the panels: events of the run, and the spikes that the evidence names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sismo.dashboard.alarms import owner_of
from sismo.dashboard.panel import Panel
from sismo.postmortem import PostMortem, Text
from sismo.records.types import Event, Run
from sismo.report.language import Language

_KINDS = {
    "spike": Text("spike"),
    "nonfinite": Text("non-finite"),
    "overflow": Text("overflow"),
    "skipped_step": Text("skipped step"),
    "checkpoint": Text("checkpoint"),
    "resume": Text("resume"),
    "guard": Text("guard action"),
    "crash": Text("crash"),
    "warning": Text("warning in the log"),
    "probe": Text("probe"),
}

_SHOWN = 400
"""Marks of a kind at most; where there are more, neighbours share one, which says how many it stands for."""
_DETAIL = 160
"""Letters of an event's own text."""


def names(language: Language) -> dict[str, str]:
    """What each kind of mark is called."""
    return {kind: language.say(text) for kind, text in _KINDS.items()}


def marks(document: PostMortem, run: Run, panels: Sequence[Panel], language: Language) -> list[dict[str, object]]:
    """All marks, by kind and step."""
    found = list(_spikes(document, panels, language))
    for kind in _KINDS:
        found += _thinned(kind, run.events_of(kind))
    return found


def _spikes(document: PostMortem, panels: Sequence[Panel], language: Language) -> Iterator[dict[str, object]]:
    seen: set[tuple[int, str]] = set()
    for cause in document.causes:
        for item in cause.evidence:
            owner = owner_of(item.channel, panels)
            if "spike" in item.signal and item.start is not None and owner is not None and (item.start, owner.id) not in seen:
                seen.add((item.start, owner.id))
                yield {"kind": "spike", "step": item.start, "panel": owner.id, "text": language.say(item.text)}


def _thinned(kind: str, events: Sequence[Event]) -> list[dict[str, object]]:
    if not events:
        return []
    steps = np.array([event.step for event in events], dtype=np.float64)
    width = max((float(steps.max()) - float(steps.min())) / _SHOWN, 1e-9) if len(events) > _SHOWN else 0.0
    bins = (steps - steps.min()) // width if width else np.arange(len(events))
    _, first, counts = np.unique(bins, return_index=True, return_counts=True)
    shown = [(events[int(at)], int(count)) for at, count in zip(first, counts, strict=True)]
    return [{"kind": kind, "step": event.step, "count": count, "text": _said(event)} for event, count in shown]


def _said(event: Event) -> str:
    text = ", ".join(f"{key} {value}" for key, value in event.data.items())
    return text if len(text) <= _DETAIL else text[: _DETAIL - 1] + "…"
