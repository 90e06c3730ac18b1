"""Whether any gradient reaches the blocks of a model: exactly 0 is not small, it is what a dead layer or a product of zeros passes on."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE
from sismo.records.types import Series
from sismo.signals.levels import finite
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_FAMILY, _WEIGHTS, _TARGETS = "grad_norm_group", "weight_norm", "target/level"
_ROWS = 20
_RECORD = "record the run with sismo.Recorder"
_LOOKS = 3
"""Looks that tell what lasts: what is multiplied by a gate that starts at 0 has no gradient in the first step only."""


def _members(view: View) -> list[Series] | Observation:
    """The norms of each block. An objective of rewards has no gradient where no reward differs, and half precision rounds small ones to 0."""
    found = [series for series in map(finite, view.family(_FAMILY)) if len(series) >= _LOOKS]
    if len(found) < 2:
        return unknown("grad_norm_group of two blocks")
    return absent(_FAMILY) if view.objective == "rl" or view.scale() is not None else found


def _silent(series: Series) -> bool:
    return not np.any(series.values)


def _stops(view: View) -> Observation:
    """From the first look to the last no gradient at all in half of the blocks or more, the first among them, and one in the last."""
    found = _members(view)
    if isinstance(found, Observation):
        return found
    silent = [series for series in found if _silent(series)]
    stops = 2 * len(silent) >= len(found) and _silent(found[0]) and bool((found[-1].values > 0).all())
    return present(int(silent[-1].steps[0]), channel=silent[-1].channel, count=len(silent), total=len(found), group=silent[-1].channel) if stops else absent(_FAMILY)  # fmt: skip


def _nowhere(view: View) -> Observation:
    norm = view.finite(GRAD_NORM_PRE)
    if (
        norm is not None
        and len(norm) >= _ROWS
        and view.rows(_TARGETS)
        and view.objective != "rl"
        and view.scale() is None
        and _silent(norm)
    ):
        return present(int(norm.steps[0]), channel=GRAD_NORM_PRE, total=len(norm))
    found = _members(view)
    if isinstance(found, Observation):
        return found
    looks = min(len(series) for series in found)
    return present(int(found[0].steps[0]), channel=_FAMILY, total=looks) if all(map(_silent, found)) else absent(_FAMILY)


def _never(view: View) -> Observation:
    """A block whose weights were measured, and whose gradient never was at the looks at all others: backward does not come by."""
    reached = {series.channel.partition("/")[2]: len(series) for series in view.family(_FAMILY)}
    weighed = [series.channel.partition("/")[2] for series in view.family(_WEIGHTS) if len(series)]
    looks = max(reached.values(), default=0)
    if not weighed or looks < _LOOKS:
        return unknown(_FAMILY if looks < _LOOKS else _WEIGHTS)
    # Numbers are groups, which are not told of one by one where there is a single one.
    never = [name for name in weighed if name not in reached and not name.isdigit()]
    return present(0, channel=f"{_WEIGHTS}/{never[0]}", group=never[0], count=len(never), looks=looks) if never else absent(_FAMILY)


DETECTORS = (
    Detector("gradient-stops-on-the-way", (_FAMILY,), _stops, "the gradient is exactly 0 at every look in {count} of {total} blocks, up to {group}, and not above: what lies between passes nothing on", "some gradient reaches the first block, or half of the others", _RECORD),
    Detector("gradient-is-nowhere", (_FAMILY,), _nowhere, "the gradient is exactly 0 at all {total} looks at it, in every block", "some block gets a gradient", _RECORD),
    Detector("gradient-never-arrives", (_FAMILY, _WEIGHTS), _never, "{group} has weights that an optimizer holds, and no gradient at any of {looks} looks ({count} such {count:block|blocks})", "every block with weights gets a gradient", _RECORD),
)  # fmt: skip
