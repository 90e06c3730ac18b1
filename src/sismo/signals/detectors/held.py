"""Which parameters are trained at all, as the recorder found them when it began."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_RECORD = "record the run with sismo.Recorder"


def _listed(name: str) -> Callable[[View], Observation]:
    """Present where the manifest's list of that name holds parameters."""

    def look(view: View) -> Observation:
        listed = view.fact(name)
        if not isinstance(listed, list):
            return unknown("the list of parameters in manifest.json")
        names = [str(each) for each in cast("list[object]", listed)]
        return present(0, count=len(names), first=names[0]) if names else absent()

    return look


def _full_precision(view: View) -> Observation:
    """Whether the weights themselves are fp32, whatever the model computes in."""
    dtype = view.fact("weights_dtype") or ("fp32" if view.header.dtype == "fp32" else None)
    if dtype is None:
        return unknown("the dtype of the weights")
    return present(0, dtype=dtype) if dtype == "fp32" else absent(dtype=dtype)


DETECTORS = (
    Detector("weights-unheld", ("header",), _listed("unheld"), "no optimizer that the recorder was given holds {first} ({count} {count:parameter that asks|parameters that ask} for a gradient)", "the optimizers hold every parameter that asks for a gradient", _RECORD),
    Detector("weights-frozen", ("header",), _listed("frozen"), "{first} does not ask for a gradient ({count} such {count:parameter|parameters})", "every parameter asks for a gradient", _RECORD),
    Detector("weights-fp32", ("header.dtype",), _full_precision, "the weights are {dtype}", "the weights are {dtype}, not fp32", _RECORD),
)  # fmt: skip
