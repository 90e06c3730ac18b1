"""Where a run can be taken up again: the last checkpoint that healthy steps followed before a fault."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sismo.records.types import Run

HEALTHY = {"step": 20, "epoch": 1}
"""How long it has to be calm after a checkpoint, by what steps count: in 20 steps Adam's first moment (beta 0.9)
forgets 88 % of what was before them."""

_TROUBLE = ("nonfinite", "overflow", "skipped_step")


class Checkpoint(NamedTuple):
    """A checkpoint: the step that it was written after, and its path, empty where only the step is known."""

    step: int
    path: str


def last_healthy(run: Run, onset: int, calm: int) -> Checkpoint | None:
    """The last one that so many steps without trouble followed before the onset; None where there is none.

    Checkpoints whose file is known and gone are passed over. A log that only says how often one is written gives the step.
    """
    known = [_found(run, event.step, event.data.get("path")) for event in run.events_of("checkpoint")]
    candidates = [one for one in known if one is not None]
    every = run.header.checkpoint_every
    if not known and every:
        candidates = [Checkpoint(step, "") for step in range(every, onset + 1, every)]
    trouble = [event.step for kind in _TROUBLE for event in run.events_of(kind)]
    fit = [one for one in candidates if one.step + calm <= onset and not any(one.step < step <= one.step + calm for step in trouble)]
    return max(fit, key=lambda one: one.step, default=None)


def _found(run: Run, step: int, path: object) -> Checkpoint | None:
    """The checkpoint of an event; None when its file is gone. A run folder may have been moved together with its checkpoints."""
    if not isinstance(path, str) or not path:
        return Checkpoint(step, "")
    beside = Path(run.path) / "checkpoints" / Path(path).name
    for place in (beside, Path(path)):
        if place.exists():
            return Checkpoint(step, str(place))
    return None
