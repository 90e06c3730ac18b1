"""``replay``: the suspect step once more, as it was and changed in one thing at a time."""

from __future__ import annotations

from itertools import islice

import numpy as np

from sismo.errors import UsageError
from sismo.probes import checkpoints
from sismo.probes.case import Case
from sismo.probes.outcomes import Usual
from sismo.probes.replay import replay
from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN
from sismo.records.probing import ProbeReport
from sismo.records.types import Run

_OTHERS = 3
_ROWS = 100
"""Rows before the step that say what is usual: the stability tree's moving mean."""


def run(case: Case) -> ProbeReport:
    """Replays from the run's checkpoint; its other batches and the checkpoint before that one are the comparison."""
    built, kept = case.built, case.batches()
    if built.optimizer is None:
        raise UsageError("a replay needs the optimizer: build() has to return it as the third")
    case.load()
    paths = [path for at, path in kept if at < case.step][-_OTHERS:]
    earlier = next(islice(case.earlier(), 1, None), None) if case.run is not None and case.given_checkpoint is None else None
    return replay(
        built.model,
        case.batch,
        built.loss_fn,
        built.optimizer,
        others=[checkpoints.batch(path) for path in paths],
        earlier=earlier,
        usual=_usual(case.run, case.step) if case.run is not None else None,
        autocast=case.autocast,
        loss_scale=case.loss_scale,
        clip=case.clip,
    ).report()


def _usual(run: Run, step: int) -> Usual | None:
    """What the run logged before the step; None where that is nothing."""

    def before(channel: str) -> list[float]:
        series = run.get(channel)
        return series.values[np.asarray(series.steps) < step][-_ROWS:].tolist() if series is not None else []

    losses = before(LOSS_TRAIN)
    return Usual.of(losses, before(GRAD_NORM_PRE)) if losses else None
