"""The pictures of a post-mortem: the series around the onset that its cause rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sismo.incident.types import Picture
from sismo.postmortem import Text
from sismo.records.channels import LOSS_TRAIN
from sismo.records.types import Run, Series
from sismo.signals.types import Observation

_ROWS = 100
"""Rows of the loss on each side of the onset."""
_CURVES = 4
"""Curves on one pair of axes: more cannot be told apart."""
_PICTURES = 6
_ALWAYS = (("loss/train", "loss/val"), ("grad_norm/pre", "grad_norm/post"), ("lr",))


def pictures(run: Run, onset: int | None, seen: Sequence[Observation], panel_of: Callable[[str], Text | None]) -> list[Picture]:
    """Loss, gradient norm and learning rate, then the other channels that the evidence was seen in, all over the same steps."""
    low, high = span(run, onset, max((one.start for one in seen if one.start is not None), default=None))
    evidence = [one.channel for one in seen if one.channel in run.series]
    families = [*_ALWAYS, *dict.fromkeys((channel.partition("/")[0],) for channel in evidence if not _is_drawn(channel))]
    found: list[Picture] = []
    for wanted in families:
        curves = [_cut(series, low, high) for series in _members(run, wanted, evidence)]
        curves = [series for series in curves if len(series)]
        if curves:
            title = panel_of(curves[0].channel) or Text("{channel}", {"channel": curves[0].channel})
            found.append(Picture(title, curves[:_CURVES], (low, high), onset))
    return found[:_PICTURES]


def span(run: Run, onset: int | None, seen: int | None = None) -> tuple[int, int]:
    """First and last step that are drawn: ``_ROWS`` of the loss on both sides, or the whole run where there is no onset.

    What is wrong from the first row on may show late: then it goes to ``_ROWS`` past the step at which the last sign of it was ``seen``.
    """
    loss = run.get(LOSS_TRAIN)
    series = loss if loss is not None and len(loss) else max(run.series.values(), key=len, default=None)
    if series is None or not len(series):
        return (0, 1)
    if onset is None:
        return int(series.steps[0]), int(series.steps[-1])
    at = int(np.searchsorted(series.steps, onset))
    until = int(np.searchsorted(series.steps, seen)) if at == 0 and seen is not None else at
    low, high = int(series.steps[max(0, at - _ROWS)]), int(series.steps[min(len(series) - 1, until + _ROWS)])
    return min(low, onset), max(high, onset)


def _is_drawn(channel: str) -> bool:
    return any(channel == name or channel.partition("/")[0] == name for names in _ALWAYS for name in names)


def _members(run: Run, wanted: Sequence[str], evidence: Sequence[str]) -> list[Series]:
    """The series of a picture; those that the evidence names first."""
    found = [series for name in wanted for key, series in run.series.items() if key == name or key.partition("/")[0] == name]
    return sorted(found, key=lambda series: series.channel not in evidence)


def _cut(series: Series, low: int, high: int) -> Series:
    """The rows between two steps, 400 of them at most, at even distances."""
    inside = np.flatnonzero((series.steps >= low) & (series.steps <= high))
    if inside.size > 4 * _ROWS:
        inside = inside[np.unique(np.linspace(0, inside.size - 1, 4 * _ROWS).round().astype(np.int64))]
    return Series(series.channel, series.steps[inside], series.values[inside], series.source_key)
