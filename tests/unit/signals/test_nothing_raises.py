"""No detector raises, whatever a panel holds: a division by a matrix that stays at 0 must not cost the verdict."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import event, run

from sismo.judge import judge
from sismo.signals.registry import detectors

FAMILIES = sorted(
    {channel for detector in detectors().values() for channel in detector.reads if "." not in channel and channel != "header"}
)
EVENTS = sorted(
    {channel.partition(".")[2] for detector in detectors().values() for channel in detector.reads if channel.startswith("events.")}
)
MEMBERS = {"batch": ("fingerprint", "label_share", "length", "masked_rows", "mode", "ngram_repeats", "nonfinite", "rarity", "repeats")}
SHAPES = {
    "zeros": lambda rows: np.zeros(rows),
    "ones": lambda rows: np.ones(rows),
    "below-zero": lambda rows: -np.ones(rows),
    "huge": lambda rows: np.full(rows, 1e300),
    "tiny": lambda rows: np.full(rows, 1e-300),
    "nan": lambda rows: np.full(rows, np.nan),
    "infinite": lambda rows: np.full(rows, np.inf),
    "zero-then-one": lambda rows: np.minimum(np.arange(rows), 1.0),
    "one-then-zero": lambda rows: 1.0 - np.minimum(np.arange(rows), 1.0),
    "alternating": lambda rows: np.arange(rows) % 2.0,
    "rising": lambda rows: np.arange(rows) * 1.0,
}


@pytest.mark.parametrize("rows", [1, 2, 3, 9, 40, 400])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_whose_every_panel_is_degenerate_is_judged(shape: str, rows: int) -> None:
    values = SHAPES[shape](rows)
    members = ((family, name) for family in FAMILIES for name in MEMBERS.get(family, ("a", "b.weight")))
    panels = {family if "/" in family else f"{family}/{name}": values for family, name in members}
    happened = [event(rows // 2, kind) for kind in EVENTS]
    for loss in (values, np.linspace(6.0, 2.0, rows)):
        for settings in ({}, {"vocab_size": 512, "total_steps": rows, "warmup_steps": 0, "clip": 0.0, "entropy": 0.0, "accumulation": 2}):
            judge(run(loss, more=panels, events=happened, **settings))  # type: ignore[arg-type]
