"""Whether what was learnt is lost again, at whatever pace."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import LOSS_TRAIN, LOSS_VAL
from sismo.signals.levels import level, part_ends, wander
from sismo.signals.trend import mann_kendall
from sismo.signals.types import Detector, Observation, State, Threshold, absent, present, unknown
from sismo.signals.view import View

_SHARE = Threshold("gain-lost", 0.8, 0.8, "share", "chosen: a curriculum or another domain costs a part of what was learnt, not nearly all of it", "Share of the fall of the loss that is undone at the end.")  # fmt: skip
_PARTS = 20
"""The loss is judged by the medians of so many parts of the log; the start, the best and the end are each two of them or one."""
_KEPT = 0.5
"""Share of what validation gained that it may lose and still have kept it."""
_NOTHING = 0.02
"""Share of it up to which nothing is lost."""
_LIFTED = 0.1
"""Share of what is lost over which the loss has left its best level."""
_STEADY = 3.0
"""Mann-Kendall z of a climb that is one: seven parts, each over the one before, just reach it."""
_ROWS = 100


def _lost(view: View) -> Observation:
    """The last tenth of the log lies over its best part by nearly all that had been gained since the first, and by 6 times the noise.

    Half of that is enough where it climbs from part to part without a break: a change of the data comes at once. Nothing is lost where the
    validation loss is at its best: then the training data gets harder.
    """
    loss = view.finite(LOSS_TRAIN)
    if loss is None:
        return unknown(LOSS_TRAIN)
    if len(loss) < _ROWS:
        return absent(LOSS_TRAIN)
    parts = view.parts(LOSS_TRAIN, _PARTS)
    if not np.isfinite(parts).all():  # finite rows whose sum is not
        return absent(LOSS_TRAIN)
    best = int(np.argmin(parts))
    gained, undone = float(parts[0] - parts[best]), float(parts[-2:].min() - parts[best])
    rough = max(view.noise(LOSS_TRAIN), wander(parts))
    share = view.limit("gain-lost") * (0.5 if mann_kendall(parts[best:]) >= _STEADY else 1.0)
    if best >= _PARTS - 2 or gained <= 6 * rough or undone <= max(share * gained, 6 * rough):
        return absent(LOSS_TRAIN)
    low = int(np.flatnonzero(parts <= parts[best] + _LIFTED * undone)[-1])  # the last part that is not over it yet
    start = int(loss.steps[part_ends(len(loss), _PARTS)[low]]) + 1
    known = _validation(view, start)
    if known is not None and known[2] - known[1] <= _NOTHING * (known[0] - known[1]):
        return absent(LOSS_TRAIN)
    return present(start, view.last_step, channel=LOSS_TRAIN, best=float(parts[best]), last=float(parts[-1]), share=undone / gained)


def _validation(view: View, since: int) -> tuple[float, float, float] | None:
    """The first validation loss, the best, and the level of the last ones from a step on; None with fewer than four, or none since."""
    val = view.finite(LOSS_VAL)
    if val is None or len(val) < 4 or val.steps[-1] < since:
        return None
    return float(val.values[0]), float(val.values.min()), level(val.values[val.steps >= since][-3:])


def _validation_keeps(view: View) -> Observation:
    """The training loss loses what was learnt, the validation loss under half of it: the data that is trained on got worse, not the model."""
    train = _lost(view)
    if train.state is not State.PRESENT or train.start is None:
        return train
    if (known := _validation(view, train.start)) is None:
        return unknown(LOSS_VAL)
    first, best, last = known
    keeps = first > best and last - best < _KEPT * (first - best)
    return present(train.start, train.end, channel=LOSS_VAL, best=best, last=last) if keeps else absent(LOSS_VAL)


DETECTORS = (
    Detector("gain-lost", (LOSS_TRAIN,), _lost, "from step {start} on the loss is back at {last:.4g} from its best level of {best:.4g}: {share:.0%} of what was learnt is lost", "what was learnt is kept", thresholds=(_SHARE,)),
    Detector("validation-keeps-gain", (LOSS_TRAIN, LOSS_VAL), _validation_keeps, "the validation loss goes from {best:.4g} to {last:.4g} only: it is the training data that got worse", "the training loss does not lose what the validation loss keeps"),
)  # fmt: skip
