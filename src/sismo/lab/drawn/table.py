"""The rows of a run in order of step, as loggers write them."""

from __future__ import annotations

from collections.abc import Iterator

from sismo.records.types import Run


def rows(run: Run) -> Iterator[tuple[int, dict[str, float]]]:
    """``(step, {channel: value})``, one for each step at which anything was logged."""
    merged: dict[int, dict[str, float]] = {}
    for channel, series in run.series.items():
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
            merged.setdefault(step, {})[channel] = value
    yield from sorted(merged.items())
