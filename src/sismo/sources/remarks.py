"""What a reader of the report should know of the numbers before trusting them: rounding, placeholders, a missing start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from sismo.records.types import Note, Series
from sismo.sources.events import TOLD_BY_OVERFLOWS
from sismo.sources.keys import is_loss
from sismo.sources.numbers import decimals

MIN_ROWS = 5
"""Fewer values than this say nothing about how they are rounded."""
LATE_START_INTERVALS = 20
"""A first step this many logging intervals above zero means that the beginning is missing."""
FEW_DECIMALS = 2
EARLY_ROWS, EARLY_SHARE, EARLY_STRIDES = 20, 0.1, 3.0
"""Rows, share of the log and usual distances of the loss for which training goes on without a loss before that is remarkable."""
ZERO_SHARE = 0.05
"""Share of zero learning rates, while others are not zero, from which they are taken for rounding."""


def remarks(series: Mapping[str, Series], unit: str) -> Iterable[Note]:
    """The notes on one run's numbers."""
    loss = series.get("loss/train") or series.get("loss/val")
    if loss is not None:
        yield from _rounded(loss)
        yield from _late_start(loss, unit)
    yield from _ends_early(series)
    yield from _placeholders(series)
    yield from _nan_only_in_metrics(series)


def _rounded(loss: Series) -> Iterable[Note]:
    finite = loss.values[np.isfinite(loss.values)]
    if finite.size < MIN_ROWS or not finite.any():
        return
    # A sample is enough: one finer value among the first thousand settles it.
    places = decimals(finite[:1000].tolist())
    if places is not None and places <= FEW_DECIMALS:
        yield Note("rounded-values", "{key} is printed with {decimals} {decimals:decimal|decimals}: smaller changes cannot be seen",
                   {"key": loss.source_key or loss.channel, "decimals": places})  # fmt: skip


def _late_start(loss: Series, unit: str) -> Iterable[Note]:
    if not len(loss):
        return
    first = int(loss.steps[0])
    if first > 1 and first > LATE_START_INTERVALS * max(1.0, loss.interval) and len(loss) > 1:
        yield Note("partial-log", "the log starts at {unit} {first}: what came before is not in it", {"unit": unit, "first": first})


def _ends_early(series: Mapping[str, Series]) -> Iterable[Note]:
    """A loss that goes missing while its rows go on: a trainer that prints null for a NaN, most often."""
    loss = series.get("loss/train")
    if loss is None or not len(loss):
        return
    last = int(loss.steps[-1])
    strides = np.diff(loss.steps)
    stride = float(np.median(strides)) if strides.size else 1.0
    for name, one in series.items():
        if not name.startswith(("lr/", "grad_norm/")) or not len(one):
            continue
        after = int(np.count_nonzero(one.steps > last))
        end = int(one.steps[-1])
        # A loss that is logged more rarely than the rate is not due yet.
        if after >= EARLY_ROWS and after >= EARLY_SHARE * len(one) and end - last > EARLY_STRIDES * stride:
            yield Note("loss-ends-early", "the loss is logged until step {last}, the log goes on to step {end}", {"last": last, "end": end})
            return


def _placeholders(series: Mapping[str, Series]) -> Iterable[Note]:
    scale = series.get("loss_scale")
    if (
        scale is not None
        and scale.source_key != TOLD_BY_OVERFLOWS
        and len(scale) >= MIN_ROWS
        and bool(np.all(scale.values == scale.values[0]))
        and float(scale.values[0]) in (-1.0, 0.0, 1.0)
    ):
        yield Note("placeholder-values", "{key} is {value} on all rows: a placeholder, not a scale",
                   {"key": scale.source_key or "loss_scale", "value": float(scale.values[0])})  # fmt: skip
    rate = series.get("lr/0")
    if rate is None or len(rate) < MIN_ROWS:
        return
    zeros = np.count_nonzero(rate.values == 0)
    positive = rate.values[rate.values > 0]
    if zeros < ZERO_SHARE * len(rate) or not positive.size or zeros < MIN_ROWS:
        return
    smallest = float(positive.min())
    # Rounded rates stop at a power of ten: 0.00001 is the smallest that five decimals show.
    if np.isclose(np.log10(smallest), np.round(np.log10(smallest)), atol=1e-6):
        yield Note(
            "placeholder-values",
            "{key} is 0 on {count} {count:row|rows} because it is printed rounded",
            {"key": rate.source_key or "lr", "count": int(zeros)},
        )


def _nan_only_in_metrics(series: Mapping[str, Series]) -> Iterable[Note]:
    metrics = {name: one for name, one in series.items() if name.startswith("metric/") and not is_loss(name.removeprefix("metric/"))}
    bad = [one.source_key or name for name, one in metrics.items() if bool(np.isnan(one.values).any())]
    losses = [one for name, one in series.items() if name.startswith(("loss", "grad_norm")) and name != "loss_scale"]
    if bad and losses and not any(bool(np.isnan(one.values).any()) for one in losses):
        yield Note("metric-nan-only", "NaN occurs only in {keys}, in no loss", {"keys": ", ".join(bad[:4])})
