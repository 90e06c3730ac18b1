"""What is learnt by heart: the training loss from one moment on, or the few batches that are all a run ever sees."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import LOSS_TRAIN, LOSS_VAL
from sismo.records.numeric import distinct
from sismo.records.types import Series
from sismo.signals.few import sees_few_batches
from sismo.signals.levels import level, noise
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_PARTS = 60
"""The loss is judged by the medians of so many parts of the log."""
_SPAN = 5
"""Parts that it was nearly level for before, and that it falls by half within."""
_NEARLY = 0.99
"""Share of the batches that are known and different where none is served again."""
_EVALUATIONS = 4
"""Evaluations from which a rise of the validation loss shows."""
_DOUBT = 0.6
"""How sure it is that a loader stands still which never gave anything else."""
_CLEAR = 5
"""Times the noise of the parts before it that the fall has to be."""
_LEVEL, _FALL, _RISE = 0.1, 0.5, 1.1
"""Fall in as many parts before that still counts as level; share of the level that is left after; rise of the validation loss meanwhile."""


def _by_heart(view: View) -> Observation:
    """Nearly level, then half or less within a twelfth of the log, while the validation loss rises: data that was seen is seen again.

    At the end of an epoch all of the data begins again, and a fall there says nothing of the loader; nor does one in a run whose recorded
    batches are all different.
    """
    loss, val = view.finite(LOSS_TRAIN), view.finite(LOSS_VAL)
    if loss is None or val is None:
        return unknown(LOSS_TRAIN if loss is None else LOSS_VAL)
    if len(loss) < 2 * _PARTS or float(loss.values.min()) < 0 or view.objective is not None:
        return absent(LOSS_TRAIN)
    prints = view.series("batch/fingerprint")
    if prints is not None and len(prints) >= _NEARLY * len(loss) and distinct(prints.values).size >= _NEARLY * len(prints):
        return absent(LOSS_TRAIN)
    rows = np.array_split(np.arange(len(loss)), _PARTS)
    parts = np.array([level(loss.values[part]) for part in rows])
    for at in range(2 * _SPAN, _PARTS - _SPAN):
        earlier, usual = level(parts[at - 2 * _SPAN : at - _SPAN]), level(parts[at - _SPAN : at])
        clear = usual - parts[at + _SPAN] > _CLEAR * noise(parts[:at])
        if clear and usual > (1 - _LEVEL) * earlier and parts[at + _SPAN] < _FALL * usual:
            at += int(np.argmax(parts[at:] < (1 - _LEVEL) * usual))
            before, start, end = (int(loss.steps[rows[min(_PARTS - 1, part)][0]]) for part in (at - 1, at, at + 2 * _SPAN))
            again = _validation_rises(val, start, end) and not _epoch_ends(view, before, start)
            found = present(start, strength=0.75, channel=LOSS_TRAIN, before=usual, after=float(parts[min(_PARTS - 1, at + _SPAN)]))
            return found if again else absent(LOSS_TRAIN)
    return absent(LOSS_TRAIN)


def _validation_rises(val: Series, start: int, end: int) -> bool:
    earlier, later = val.values[val.steps <= start], val.values[(val.steps > start) & (val.steps <= end)]
    return bool(earlier.size and later.size) and float(later[-1]) > _RISE * float(earlier[-1]) > 0


def _epoch_ends(view: View, start: int, end: int) -> bool:
    """Whether an epoch ends between two steps, as far as the log has the epoch."""
    epoch = view.finite("epoch")
    if epoch is None or len(epoch) < 2:
        return False
    first, last = (float(np.interp(step, epoch.steps, epoch.values)) for step in (start, end))
    return int(last) > int(first)


def _few_by_heart(view: View) -> Observation:
    """The same few batches all along, while the validation loss ends over its lowest point: the loader stands still.

    Or they are all of a small data set, a graph for example, that is learnt by heart.
    """
    if view.series("batch/fingerprint") is None:
        return unknown("batch/fingerprint")
    val, loss = view.finite(LOSS_VAL), view.finite(LOSS_TRAIN)
    if not sees_few_batches(view):
        return absent("batch/fingerprint")
    if val is None or loss is None or len(val) < _EVALUATIONS or len(loss) < 2 * _PARTS:
        return unknown(LOSS_VAL)
    lowest, last = float(val.values.min()), level(val.values[-3:])
    start, end = level(loss.values[: len(loss) // 10]), level(loss.values[-len(loss) // 10 :])
    if last > _RISE * lowest > 0 and end < _FALL * min(start, lowest):
        return present(int(loss.steps[0]), strength=_DOUBT, channel=LOSS_VAL, before=lowest, after=last)
    return absent(LOSS_VAL)


DETECTORS = (
    Detector("learns-by-heart-at-once", (LOSS_TRAIN, LOSS_VAL), _by_heart, "from step {start} on the training loss falls from {before:.4g} to {after:.4g} within a twelfth of the log while the validation loss rises: the same data comes again", "the training loss does not fall at once while the validation loss rises"),
    Detector("few-batches-by-heart", ("batch", LOSS_VAL), _few_by_heart, "the run sees the same few batches all along, and the validation loss rises from {before:.4g} to {after:.4g}", "no few batches are learnt by heart", "record the run with sismo.Recorder"),
)  # fmt: skip
