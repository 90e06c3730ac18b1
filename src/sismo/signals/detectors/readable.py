"""Whether there is enough of a training loss to judge a run by."""

from __future__ import annotations

from sismo.records.channels import LOSS_TRAIN
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_MIN_ROWS = Threshold(
    "min-rows", 20, 20, "row", "20 points are the least that a robust scale holds on", "Fewer rows of loss than this are not judged."
)


def _readable(view: View) -> Observation:
    rows = view.rows(LOSS_TRAIN)
    if rows == 0:
        return unknown(LOSS_TRAIN)
    return present(channel=LOSS_TRAIN, rows=rows) if rows >= view.limit("min-rows") else unknown("more rows of loss/train", rows=rows)


def _few(view: View) -> Observation:
    rows = view.rows(LOSS_TRAIN)
    least = int(view.limit("min-rows"))
    return present(channel=LOSS_TRAIN, rows=rows, least=least) if rows < least else absent(rows=rows, least=least)


DETECTORS = (
    Detector(
        id="loss-readable",
        reads=(LOSS_TRAIN,),
        look=_readable,
        present="{rows} {rows:row|rows} of training loss",
        absent="no training loss",
        how="log the training loss at every optimizer step",
        thresholds=(_MIN_ROWS,),
    ),
    Detector(
        id="few-rows",
        reads=(LOSS_TRAIN,),
        look=_few,
        present="only {rows} {rows:row|rows} of training loss; {least} are needed to judge",
        absent="{rows} {rows:row|rows} of training loss",
        thresholds=(_MIN_ROWS,),
    ),
)
