"""The noise from batch to batch, where it stops: from then on one batch comes again and again."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import LOSS_TRAIN, LOSS_VAL
from sismo.signals.levels import level
from sismo.signals.rolling import TINY, Floats, medians
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_BLOCK, _BEFORE, _AFTER = 20, 3, 2
"""Rows whose noise is taken together; blocks with noise, and blocks without, that it takes to say that it stopped."""
_SAMPLE = 64
"""Blocks of a long log that say whether its noise was ever larger than at the end."""
_STOPS = 10.0
"""Noise before over noise after. Eight times the batch makes 2.8 of it; the same batch again made 75 and more in every model measured."""
_BATCHES = 0.01
"""Noise before, as ``_relative`` has it: a batch's own is 3 % of the level, which makes 9 % there. The steps of an optimizer make 0.1 %."""
_FALLS = 0.7
"""Share of its level before that the training loss has to fall under: scores that fade to one guess for everything have no noise either."""
_RISE = 1.05
"""Last validation loss over the last one before the noise stopped, from which on it rises meanwhile."""


def _stops(view: View) -> Observation:
    """The relative noise falls to a tenth between two blocks and never comes back, while the loss falls and the validation loss rises.

    Where the validation loss falls on, the run went over to all of its data at once, as a second stage of training may.
    """
    loss, val = view.finite(LOSS_TRAIN), view.finite(LOSS_VAL)
    if loss is None or val is None:
        return unknown(LOSS_TRAIN if loss is None else LOSS_VAL)
    count = len(loss) // _BLOCK
    if count < _BEFORE + _AFTER or view.objective is not None:
        return absent(LOSS_TRAIN)
    rows = loss.values[len(loss) - count * _BLOCK :].reshape(count, _BLOCK)
    sample = rows[:: max(1, count // _SAMPLE)]
    if float(_relative(sample).max()) < _STOPS * float(_relative(rows[-_AFTER:]).max()):  # the noise goes on: a long log is not read whole
        return absent(LOSS_TRAIN)
    relative = _relative(rows)
    later = np.maximum.accumulate(relative[::-1])[::-1]  # the loudest block from here to the end
    earlier = np.array([relative[at - _BEFORE : at].min() for at in range(_BEFORE, count - _AFTER)])
    calmer = later[_BEFORE + 1 : count - _AFTER + 1]  # the block between may hold both
    ratios = np.where(calmer > 0.0, earlier / np.maximum(calmer, TINY), 0.0)
    ratios = np.where(earlier >= _BATCHES, ratios, 0.0)
    if not ratios.size or not float(ratios.max()) >= _STOPS:
        return absent(LOSS_TRAIN)
    block = int(np.flatnonzero(ratios >= 0.5 * ratios.max())[-1]) + _BEFORE
    step = int(loss.steps[len(loss) - (count - block) * _BLOCK])
    falls = level(rows[-_AFTER:].ravel()) < _FALLS * level(rows[block - 1])
    before, after = val.values[val.steps <= step], val.values[val.steps > step]
    if not before.size or not after.size:
        return unknown(LOSS_VAL)
    if not (falls and float(after[-1]) > _RISE * float(before[-1]) > 0.0):
        return absent(LOSS_TRAIN)
    return present(step, channel=LOSS_TRAIN, before=float(earlier[block - _BEFORE]), after=float(calmer[block - _BEFORE]))


def _relative(rows: Floats) -> Floats:
    """The noise of each block over its level: from third differences, which a smooth fall does not show in."""
    return medians(np.abs(np.diff(rows, 3, axis=1))) / np.maximum(np.abs(medians(rows)), TINY)


DETECTORS = (
    Detector("noise-stops", (LOSS_TRAIN, LOSS_VAL), _stops, "from step {start} on the training loss has no noise from batch to batch ({after:.2g} of its level, {before:.2g} before) while the validation loss rises: one batch comes again and again", "the noise from batch to batch does not stop while the validation loss rises"),
)  # fmt: skip
