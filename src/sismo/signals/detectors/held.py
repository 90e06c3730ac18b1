"""Which parameters are trained at all, as the recorder found them when it began."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from sismo.records.channels import LOSS_TRAIN
from sismo.signals.kind import fine_tuned
from sismo.signals.levels import end_level, level
from sismo.signals.types import Detector, Observation, State, absent, present, unknown
from sismo.signals.view import View

_RECORD = "record the run with sismo.Recorder"
_STEPS = 20
_LEFT = 0.97
"""Share of its start under which a loss has learnt something."""


def _listed(name: str) -> Callable[[View], Observation]:
    """Present where the manifest's list of that name holds parameters."""

    def look(view: View) -> Observation:
        listed = view.fact(name)
        if not isinstance(listed, list):
            return unknown("the list of parameters in manifest.json")
        names = [str(each) for each in cast("list[object]", listed)]
        return present(0, count=len(names), first=names[0]) if names else absent()

    return look


def _never_stepped(view: View) -> Observation:
    """Every update writes the LR of its groups: a group that trains weights and has no LR in 20 steps of the others was never updated."""
    groups = view.fact("groups")
    if not isinstance(groups, list):
        return unknown("the parameter groups in manifest.json")
    each = cast("list[Mapping[str, object]]", groups)
    rated = {number: view.rows(f"lr/{number}") for number, group in enumerate(each) if group.get("entries") and group.get("lr") is not None}
    if max(rated.values(), default=0) < _STEPS:
        return unknown("lr")
    idle = [number for number, rows in rated.items() if not rows]
    count = sum(cast("int", each[number]["entries"]) for number in idle)
    return present(0, group=idle[0], count=count) if idle else absent("lr")


def _stuck(view: View) -> Observation:
    """Some weights are frozen, of a model of which most is trained, and the loss does not leave its start: an adapter is another matter."""
    frozen, loss = _listed("frozen")(view), view.finite(LOSS_TRAIN)
    if frozen.state is not State.PRESENT or fine_tuned(view):
        return frozen if frozen.state is State.UNKNOWN else absent()
    if loss is None or len(loss) < _STEPS:
        return unknown("more rows of loss/train", rows=len(loss) if loss is not None else 0)
    return frozen if end_level(loss) > _LEFT * level(loss.values[:5]) else absent()


def _full_precision(view: View) -> Observation:
    """Whether the weights themselves are fp32, whatever the model computes in."""
    dtype = view.fact("weights_dtype") or ("fp32" if view.header.dtype == "fp32" else None)
    if dtype is None:
        return unknown("the dtype of the weights")
    return present(0, dtype=dtype) if dtype == "fp32" else absent(dtype=dtype)


DETECTORS = (
    Detector("weights-unheld", ("header",), _listed("unheld"), "no optimizer that the recorder was given holds {first} ({count} {count:parameter that asks|parameters that ask} for a gradient)", "the optimizers hold every parameter that asks for a gradient", _RECORD),
    Detector("weights-frozen", ("header",), _listed("frozen"), "{first} does not ask for a gradient ({count} such {count:parameter|parameters})", "every parameter asks for a gradient", _RECORD),
    Detector("group-never-stepped", ("header", "lr"), _never_stepped, "the optimizer that holds group {group} ({count} weights) takes no step while another does", "every optimizer takes steps", _RECORD),
    Detector("stuck-with-frozen-weights", ("header", LOSS_TRAIN), _stuck, "{first} does not ask for a gradient ({count} such {count:parameter|parameters}), and the loss does not leave its start", "no frozen part holds the loss at its start", _RECORD),
    Detector("weights-fp32", ("header.dtype",), _full_precision, "the weights are {dtype}", "the weights are {dtype}, not fp32", _RECORD),
)  # fmt: skip
