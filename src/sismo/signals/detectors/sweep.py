"""Whether the run is a range test: its LR grows by one factor until the loss turns up, which is what it looks for."""

from __future__ import annotations

from sismo.records.channels import LOSS_TRAIN, LR
from sismo.signals.sweep import is_swept
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_GROWS = Threshold("range-test-growth", 1000, 1000, "×", "the finders of fastai (1e-7 to 10) and Lightning (1e-8 to 1) span 8 decades, a warmup from a tenth of its peak one", "Growth of an LR over the whole log from which on it is swept, where it is even in its logarithm.")  # fmt: skip


def _sweeps(view: View) -> Observation:
    lr = view.finite(LR)
    if lr is None or not len(lr):
        return unknown(LR)
    if not view.rows(LOSS_TRAIN):
        return unknown(LOSS_TRAIN)
    if not is_swept(view):
        return absent(LR)
    return present(int(lr.steps[0]), int(lr.steps[-1]), channel=LR, first=float(lr.values[0]), last=float(lr.values[-1]))


DETECTORS = (
    Detector("lr-is-swept", (LR, LOSS_TRAIN), _sweeps, "the LR grows by one factor from row to row, from {first:.2g} to {last:.2g}: a range test, which goes on until the loss turns up", "the LR is not swept over decades", thresholds=(_GROWS,)),
)  # fmt: skip
