"""Whether what was learnt is lost again, at whatever pace."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import LOSS_TRAIN
from sismo.signals.levels import level, noise
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_SHARE = Threshold("gain-lost", 0.8, 0.8, "share", "chosen: a curriculum or another domain costs a part of what was learnt, not nearly all of it", "Share of the fall of the loss that is undone at the end.")  # fmt: skip
_PARTS = 20
"""The loss is judged by the medians of so many parts of the log; the start, the best and the end are each two of them or one."""
_ROWS = 100


def _lost(view: View) -> Observation:
    """The last tenth of the log lies over its best part by nearly all that had been gained since the first, and by 6 times the noise."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None:
        return unknown(LOSS_TRAIN)
    if len(loss) < _ROWS:
        return absent(LOSS_TRAIN)
    parts = np.array([level(part) for part in np.array_split(loss.values, _PARTS)])
    best = int(np.argmin(parts))
    gained, undone = float(parts[0] - parts[best]), float(parts[-2:].min() - parts[best])
    rough = noise(loss.values)
    if best >= _PARTS - 2 or gained <= 6 * rough or undone <= max(view.limit("gain-lost") * gained, 6 * rough):
        return absent(LOSS_TRAIN)
    start = int(loss.steps[best * len(loss) // _PARTS])
    return present(start, view.last_step, channel=LOSS_TRAIN, best=float(parts[best]), last=float(parts[-1]), share=undone / gained)


DETECTORS = (
    Detector("gain-lost", (LOSS_TRAIN,), _lost, "the loss is back at {last:.4g} from its best level of {best:.4g} about step {start}: {share:.0%} of what was learnt is lost", "what was learnt is kept", thresholds=(_SHARE,)),
)  # fmt: skip
