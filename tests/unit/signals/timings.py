"""Prints how long each kernel takes on a million rows. No test: run ``python tests/unit/signals/timings.py``."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from sismo.records.types import Series
from sismo.signals import nonfinite, scale, schedule, trend
from sismo.signals.rolling import trailing_moments
from sismo.signals.spikes import SpikeRule, SpikeTracker

_ROWS = 1_000_000


def _time(name: str, work: Callable[[], object], repeats: int = 3) -> None:
    best = float("inf")
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    print(f"{name:40s} {best:7.3f} s")  # noqa: T201


def _main() -> None:
    random, steps = np.random.default_rng(0), np.arange(_ROWS)
    curves = {
        "gaussian decay": 2.0 + 5.0 * np.exp(-steps / 1e5) + 0.05 * random.standard_normal(_ROWS),
        "constant": np.full(_ROWS, 2.0),
        "student t(3)": 2.0 + 0.05 * random.standard_t(3, _ROWS),
        "a step up every 60 rows": steps // 60 + 0.01 * random.standard_normal(_ROWS),
        "every other row NaN": np.where(steps % 2 == 0, np.nan, 2.0),
    }

    def track(values: np.ndarray[tuple[int], np.dtype[np.float64]], *, confirm: bool) -> int:
        tracker = SpikeTracker(SpikeRule(confirm=confirm))
        tracker.extend(steps, values)
        return len(tracker.spikes)

    for name, values in curves.items():
        _time(f"spikes, {name}", lambda values=values: track(values, confirm=True))
    _time("spikes to the letter, gaussian decay", lambda: track(curves["gaussian decay"], confirm=False))
    decay = Series("loss/train", steps, curves["gaussian decay"])
    rate = Series("lr/0", steps, 1e-3 * np.minimum(1.0, steps / 1e4) * 0.5 * (1.0 + np.cos(np.pi * steps / _ROWS)))
    _time("trailing moments", lambda: trailing_moments(decay.values, 100))
    _time("non-finite spans, none", lambda: nonfinite.spans(steps, decay.values))
    _time("non-finite spans, every other row", lambda: nonfinite.spans(steps, curves["every other row NaN"]))
    _time("recent trend", lambda: trend.recent_trend(decay))
    _time("whole trend", lambda: trend.whole_trend(decay))
    _time("minimum", lambda: trend.minimum(decay))
    _time("schedule, warmup and cosine", lambda: schedule.describe(rate))
    _time("loss scale, constant", lambda: scale.describe(Series("loss_scale", steps, np.full(_ROWS, 65536.0))))


if __name__ == "__main__":
    _main()
