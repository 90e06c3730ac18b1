"""Where a training loss stops being a number, and in what shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN
from sismo.records.types import Series
from sismo.signals.levels import failure
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View


def _guarded(look: Callable[[View, Series, np.ndarray], Observation]) -> Callable[[View], Observation]:
    """Runs a rule over the loss and the mask of its non-finite rows; unknown without a loss, absent when all rows are finite."""

    def run(view: View) -> Observation:
        loss = view.series(LOSS_TRAIN)
        if loss is None or not len(loss):
            return unknown(LOSS_TRAIN)
        bad = ~np.isfinite(loss.values)
        return look(view, loss, bad) if bool(bad.any()) else absent(LOSS_TRAIN)

    return run


def _lost_at(loss: Series) -> int:
    """Row at which the loss is lost; there is one, or the rule would not have been asked."""
    return failure(loss.values) or 0


def _any(view: View, loss: Series, bad: np.ndarray) -> Observation:
    index = int(np.argmax(bad))
    last = int(loss.steps[np.nonzero(bad)[0][-1]])
    return present(int(loss.steps[index]), last, channel=LOSS_TRAIN, count=int(bad.sum()), rows=len(loss), value=float(loss.values[index]))


def _forever(view: View, loss: Series, bad: np.ndarray) -> Observation:
    start = _lost_at(loss)
    return present(int(loss.steps[start]), int(loss.steps[-1]), channel=LOSS_TRAIN) if bool(bad[start:].all()) else absent(LOSS_TRAIN)


def _isolated(view: View, loss: Series, bad: np.ndarray) -> Observation:
    """Finite rows follow the non-finite ones, and the log does not end in a stretch of those: no update carried the NaN."""
    start = _lost_at(loss)
    if bool(bad[start:].all()):
        return absent(LOSS_TRAIN)
    return present(int(loss.steps[start]), channel=LOSS_TRAIN, count=int(bad.sum()), rows=len(loss))


def _from_first_row(view: View, loss: Series, bad: np.ndarray) -> Observation:
    return present(int(loss.steps[0]), channel=LOSS_TRAIN) if _lost_at(loss) == 0 else absent(LOSS_TRAIN)


def _at_first_step(view: View, loss: Series, bad: np.ndarray) -> Observation:
    """Non-finite from a row that is at the start of training, so that at most one update can be to blame, or those of one epoch."""
    found = present(int(loss.steps[0]), strength=0.8 if _of_epochs(view) else 1.0, channel=LOSS_TRAIN)
    return found if _lost_at(loss) == 0 and int(loss.steps[0]) <= 1 else absent(LOSS_TRAIN)


def _of_epochs(view: View) -> bool:
    return view.header.step_unit == "epoch"


def _before_first_row(view: View, loss: Series, bad: np.ndarray) -> Observation:
    """Non-finite from a first row that came late: what happened is not in the log."""
    return present(int(loss.steps[0]), channel=LOSS_TRAIN) if _lost_at(loss) == 0 and int(loss.steps[0]) > 1 else absent(LOSS_TRAIN)


def _too_early(view: View, loss: Series, bad: np.ndarray) -> Observation:
    """Lost for good with one finite row before it or none, and not at the very first step: what led up to it is not in the log."""
    rows = int(np.argmax(bad))
    first = rows == 0 and int(loss.steps[0]) <= 1 and not _of_epochs(view)
    early = rows <= 1 and bool(bad[rows:].all()) and not first
    return present(int(loss.steps[rows]), channel=LOSS_TRAIN, rows=rows) if early else absent(LOSS_TRAIN)


def _inf_first(view: View, loss: Series, bad: np.ndarray) -> Observation:
    index = _lost_at(loss)
    step = int(loss.steps[index])
    return present(step, channel=LOSS_TRAIN) if bool(np.isinf(loss.values[index])) else absent(LOSS_TRAIN)


def _at_last_row_only(view: View, loss: Series, bad: np.ndarray) -> Observation:
    """One single non-finite row, the last, off the logging interval: the short batch at the end of an epoch.

    A run that died of it says so at whatever step that was.
    """
    gap = int(loss.steps[-1] - loss.steps[-2]) if len(loss) > 1 else 0
    only = int(bad.sum()) == 1 and bool(bad[-1]) and gap < 0.5 * float(np.max(np.diff(loss.steps), initial=0))
    died = any(event.kind == "crash" and event.step >= int(loss.steps[-1]) for event in view.events)
    return present(int(loss.steps[-1]), channel=LOSS_TRAIN) if only and not died else absent(LOSS_TRAIN)


def _once_an_epoch(view: View, loss: Series, bad: np.ndarray) -> Observation:
    """Isolated non-finite rows at even distances, as the short last batch of every epoch makes them."""
    steps = loss.steps[bad]
    gaps = np.diff(steps)
    even = (
        gaps.size >= 2
        and float(gaps.min()) > 2 * loss.interval
        and float(gaps.max() - gaps.min()) <= 0.05 * float(gaps.mean()) + loss.interval
    )
    return present(int(steps[0]), int(steps[-1]), channel=LOSS_TRAIN, period=float(gaps.mean())) if even else absent(LOSS_TRAIN)


def _after_resume(view: View, loss: Series, bad: np.ndarray) -> Observation:
    """The first non-finite row is one of the first two after a resume."""
    index = _lost_at(loss)
    near = loss.steps[max(0, index - 1)]
    for event in view.events:
        if event.kind == "resume" and int(near) <= event.step <= int(loss.steps[index]) and index > 0:
            return present(int(loss.steps[index]), channel=LOSS_TRAIN, seam=event.step)
    return absent(LOSS_TRAIN)


def _after_late_start(view: View, loss: Series, bad: np.ndarray) -> Observation:
    """Lost for good within three rows of where a table starts late, under its own header: a new process began it, as a resume does.

    Lines of text that start late say nothing: people cut out those around the failure.
    """
    rows = _lost_at(loss)
    late = view.header.source == "csv" and any(note.code == "partial-log" for note in view.notes)
    found = present(int(loss.steps[rows]), channel=LOSS_TRAIN, first=int(loss.steps[0]), rows=rows)
    return found if late and 1 <= rows <= 3 and bool(bad[rows:].all()) else absent(LOSS_TRAIN)


def _norm_finite_before(view: View, loss: Series, bad: np.ndarray) -> Observation:
    norm = view.series(GRAD_NORM_PRE)
    if norm is None:
        return unknown(GRAD_NORM_PRE)
    step = int(loss.steps[_lost_at(loss)])
    earlier = norm.values[norm.steps < step][-20:]
    if not earlier.size:
        return unknown(GRAD_NORM_PRE)
    return present(step, channel=GRAD_NORM_PRE) if bool(np.isfinite(earlier).all()) else absent(GRAD_NORM_PRE)


def _norm_first(view: View, loss: Series, bad: np.ndarray) -> Observation:
    """The gradient norm is non-finite in one of the three rows before the loss is: what reaches the moments shows in the next update."""
    norm = view.series(GRAD_NORM_PRE)
    if norm is None:
        return unknown(GRAD_NORM_PRE)
    step = int(loss.steps[_lost_at(loss)])
    earlier = norm.steps < step
    recent, steps = norm.values[earlier][-3:], norm.steps[earlier][-3:]
    broken = np.nonzero(~np.isfinite(recent))[0]
    return present(int(steps[broken[0]]), channel=GRAD_NORM_PRE) if broken.size else absent(GRAD_NORM_PRE)


def _detector(name: str, look: Callable[[View, Series, np.ndarray], Observation], yes: str, no: str, *reads: str) -> Detector:
    return Detector(name, (LOSS_TRAIN, *reads), _guarded(look), yes, no, live=True)


DETECTORS = (
    _detector("loss-nonfinite", _any, "the training loss is {value} at step {start}; {count} of {rows} rows {count:is|are} not finite", "every logged training loss is finite"),
    _detector("loss-nonfinite-forever", _forever, "from step {start} to the end of the log no loss is finite", "the loss does not stay non-finite"),
    _detector("loss-nonfinite-isolated", _isolated, "finite losses follow the non-finite ones ({count} of {rows} rows): the weights survived", "no finite loss follows a non-finite one"),
    _detector("loss-nonfinite-from-first-row", _from_first_row, "the first logged loss, at step {start}, is already not finite", "the first logged loss is finite"),
    _detector("loss-nonfinite-at-first-step", _at_first_step, "the loss is not finite in the very first row", "the loss is finite in the first row"),
    _detector("loss-nonfinite-before-first-row", _before_first_row, "by the first logged row (step {start}) the loss was already lost", "the start of the failure is in the log"),
    _detector("loss-lost-too-early-to-tell", _too_early, "the loss is lost for good at step {start}, after {rows} finite {rows:row|rows} in this log", "no failure comes so soon that hardly a row stands before it"),
    _detector("loss-inf-first", _inf_first, "the first non-finite loss, at step {start}, is infinite rather than NaN", "the first non-finite loss is not infinite"),
    _detector("loss-nonfinite-last-row-only", _at_last_row_only, "one single row is not finite, the last (step {start}), and it is off the logging interval", "the non-finite rows are not just a last one off the interval"),
    _detector("loss-nonfinite-once-an-epoch", _once_an_epoch, "non-finite rows come back every {period:.4g} steps", "non-finite rows do not come at an even period"),
    _detector("loss-nonfinite-after-resume", _after_resume, "the first non-finite loss (step {start}) follows the resume at step {seam}", "the loss did not become non-finite at a resume"),
    _detector("loss-nonfinite-after-late-start", _after_late_start, "the table starts at step {first}, as that of a resumed run does, and the loss is lost {rows} {rows:row|rows} later", "no loss is lost just after a table starts late", "notes"),
    _detector("norm-finite-before-nonfinite-loss", _norm_finite_before, "the gradient norms before step {start} are finite", "a gradient norm before it is not finite", GRAD_NORM_PRE),
    _detector("norm-nonfinite-before-loss", _norm_first, "the gradient norm is not finite at step {start}, before the loss", "the gradient norm is not lost before the loss", GRAD_NORM_PRE),
)  # fmt: skip
