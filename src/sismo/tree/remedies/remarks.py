"""What the log itself does needs no remedy in the run."""

from __future__ import annotations

from sismo.tree.remedy import Kind, Remedy, Restart


def _none(cause: str, expect: str, lesson: str) -> Remedy:
    return Remedy(cause=cause, kind=Kind.NOTHING, expect=expect, lesson=lesson, restart=Restart.NOT, within=0)


_JUDGED = "The next log can be judged without this remark."

REMEDIES = (
    _none("too-few-points", _JUDGED, "Twenty rows are the least that can be judged."),
    _none("several-runs", _JUDGED, "One file for each run."),
    _none("two-writers", _JUDGED, "One file for each process."),
    _none("resumed", "The loss goes on over the seam at its level of before.", "Test a resume before it is needed."),
    _none("placeholder-values", _JUDGED, "Leave out what was not measured, rather than writing a constant."),
    _none("metric-nan-only", "The losses are finite.", "A metric of an empty class is NaN by definition."),
    _none("scaled-grad-norm", _JUDGED, "Log the norm after unscaling and before clipping."),
    _none("ends-in-a-crash", _JUDGED, "Keep standard error in the log: the line that stopped a run is the first thing to read."),
    _none("smoothed-loss", _JUDGED, "Log the raw loss; smoothing can be done when it is drawn."),
    _none("rounded-values", _JUDGED, "Log six digits."),
    _none(
        "train-loss-artefact-after-resume",
        "The rows of the log agree with each other.",
        "A summary after a resume may average over steps that it did not see.",
    ),
    _none(
        "lr-range-test",
        "With the rate that it found the loss falls without a turn.",
        "A range test ends in a divergence on purpose: read the rate off it and start afresh.",
    ),
    _none("by-design", "The objective's own measure improves.", "Judge a run by what it optimises: a loss may rise by design."),
)
