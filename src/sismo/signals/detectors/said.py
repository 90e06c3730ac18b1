"""What the log says in words: warnings that a reader recognised, and remarks on the log itself."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from sismo.records.channels import LOSS_TRAIN
from sismo.records.types import Event
from sismo.signals.types import Detector, Observation, absent, present
from sismo.signals.view import View

_NONFINITE = re.compile(r"\bnans?\b|\binf(?:s|inity|inite)?\b|\bnon-?finite\b", re.IGNORECASE)


def _warned(*tags: str) -> Callable[[View], Observation]:
    def look(view: View) -> Observation:
        hits = [event for event in view.events if event.kind == "warning" and event.data.get("tag") in tags]
        if not hits:
            return absent()
        return present(hits[0].step, hits[-1].step, count=len(hits), line=_quoted(hits[0]))

    return look


def _fatal(*tags: str) -> Callable[[View], Observation]:
    """A warning that no run outlives: ten finite losses after the last one belong to another attempt, or the words were only quoted."""

    def look(view: View) -> Observation:
        found = _warned(*tags)(view)
        loss = view.finite(LOSS_TRAIN)
        outlived = found.end is not None and loss is not None and int(np.count_nonzero(loss.steps > found.end)) >= 10
        return absent() if outlived else found

    return look


def _noted(code: str) -> Callable[[View], Observation]:
    def look(view: View) -> Observation:
        hits = [note for note in view.notes if note.code == code]
        return present(remark=hits[0]) if hits else absent()

    return look


def _crashed(view: View) -> Observation:
    hits = [event for event in view.events if event.kind == "crash"]
    if not hits:
        return absent()
    return present(hits[-1].step, line=_quoted(hits[-1]))


def _crashed_of_nonfinite(view: View) -> Observation:
    """The error that ended the log names NaN or infinity: a distribution, a sampler or a conversion that was given one refuses it."""
    hits = [event for event in view.events if event.kind == "crash" and _NONFINITE.search(str(event.data.get("line", "")))]
    return present(hits[-1].step, line=_quoted(hits[-1])) if hits else absent()


def _quoted(event: Event) -> str:
    """The line, behind its number in the log where that is known, as grep -n has it."""
    line = " ".join(str(event.data.get("line", "")).split())[:100]
    return f"{event.data['place']}: {line}" if "place" in event.data else line


def _says(name: str, what: str, *tags: str) -> Detector:
    return Detector(
        name, ("events.warning",), _warned(*tags), "the log warns, {count} {count:time|times}: “{line}”", f"no warning of {what}"
    )


def _remark(code: str, otherwise: str) -> Detector:
    return Detector(f"note-{code}", ("notes",), _noted(code), "{remark}", otherwise)


DETECTORS = (
    _says("warned-of-tokenization", "a tokenization mismatch", "tokenization-mismatch"),
    _says("warned-of-invalid-value", "an invalid value", "invalid-value"),
    _says("warned-of-division-by-zero", "a division by zero", "divide-by-zero"),
    Detector(
        "warned-of-labels",
        ("events.warning",),
        _fatal("device-assert", "label-out-of-range"),
        "the log warns, {count} {count:time|times}: “{line}”",
        "no warning of a label outside the classes that ends the run",
    ),
    _says("warned-of-nonfinite-overlap", "a non-finite IoU", "nonfinite-iou"),
    _says("warned-of-scheduler-order", "a scheduler stepped before the optimizer", "scheduler-order"),
    _says("warned-of-nonfinite-loss", "a loss that is not finite", "nonfinite-loss", "anomaly"),
    _says("warned-of-ctc", "a target too long for its input", "ctc-length"),
    _says("warned-of-overlap", "overlapped communication", "overlap-comm"),
    _says("warned-of-missing-labels", "rows without labels", "no-labels"),
    _says("warned-of-batch-of-one", "a batch of one in batch norm", "batch-of-one"),
    Detector(
        "crashed-of-nonfinite",
        ("events.crash",),
        _crashed_of_nonfinite,
        "the error that ends the log tells of a value that is not finite: “{line}”",
        "the log does not end in an error about NaN or infinity",
    ),
    Detector("log-ends-in-a-crash", ("events.crash",), _crashed, "the log ends in a crash: “{line}”", "the log does not end in a crash"),
    _remark("several-runs", "one run in this file"),
    _remark("two-writers", "one writer"),
    _remark("placeholder-values", "no placeholder values"),
    _remark("metric-nan-only", "no metric is NaN"),
    _remark("rounded-values", "values are not coarsely rounded"),
    _remark("smoothed-loss", "the loss is not smoothed"),
    _remark("loss-ends-early", "the loss is logged to the end"),
)
