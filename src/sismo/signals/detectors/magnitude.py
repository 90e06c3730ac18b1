"""Whether the optimizer's steps leave anything of the weights that a run began with.

Embeddings are left out: they may begin at any size, and what is looked up grows with what is learnt of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from sismo.records.channels import LR
from sismo.records.types import Series
from sismo.signals.begun import USUAL_LEAST, embeddings
from sismo.signals.levels import finite, level
from sismo.signals.sweep import is_swept
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_UPDATES, _NORMS, _SPECTRA, _RATES = "update_ratio", "weight_norm", "spectral", "lr"
_RECORD = "record the run with sismo.Recorder"
_REPLACED = Threshold("update-replaces-weights", 1.0, 1.0, "1", "measured: 1.6 to 15 in the first step at 100 and more times the usual LR, under 0.25 in healthy runs", "Update-to-weight ratio at which one step replaces the weights.")  # fmt: skip
_RATE = Threshold("rate-over-weights", 2.0, 2.0, "×", "measured: 2.2 to 20 at 100 times the usual LR and more, 1.6 at an LR that trains with a warmup, under 0.5 in healthy runs", "Peak LR of an optimizer of the Adam family over the size of the weights at the start.")  # fmt: skip
_BLOWN_UP = Threshold("weights-blown-up", 10, 10, "×", "measured: 10 to 20,000× at 100 and more times the usual LR, up to 6.6× in healthy runs", "Growth of weight norms and spectral norms that hardly any training needs.")  # fmt: skip
_SIGNED = ("adam", "adamw", "nadam", "radam", "rmsprop", "lion", "adamax")
"""Optimizers that move each weight by about the LR, however small its gradient is."""
_KEPT = 2.0
"""Growth of a norm under which the weights are still what they were: the blow-up began after the last look at such."""
_MOVES = 1e-5
"""Update-to-weight ratio that shows in a norm of single precision, be it ever so much across the weights."""


def _seen(view: View, family: str, rows: int = 1) -> list[Series]:
    """The members of a family that were looked at so often, without embeddings."""
    names = {name.rpartition(".")[0] for name in embeddings(view)}
    found = [series for series in map(finite, view.family(family)) if len(series) >= rows]
    return [series for series in found if _module(series.channel, family) not in names]


def _module(channel: str, family: str) -> str:
    member = channel.partition("/")[2]
    return member.rpartition(".")[0] if family == _SPECTRA else member


def _usual_start(view: View) -> Observation | None:
    """Nothing where half of the matrices start with a usual size, else what is to be answered.

    Nor in a range test, which is to make its updates as large as weights.
    """
    if is_swept(view):
        return absent(LR)
    first = [float(series.values[0]) for series in _seen(view, _SPECTRA) if int(series.steps[0]) <= 1]
    if not first:
        return unknown(_SPECTRA)
    return None if level(np.array(first)) >= USUAL_LEAST else absent(_SPECTRA)


def _replaced(view: View) -> Observation:
    """At some look the updates of half of the groups are as large as their weights, which had a usual size."""
    found = _seen(view, _UPDATES)
    if not found:
        return unknown(_UPDATES)
    if (answer := _usual_start(view)) is not None:
        return answer
    rows = min(len(series) for series in found)
    usual = np.median([series.values[:rows] for series in found], axis=0)
    past = np.flatnonzero(usual >= view.limit("update-replaces-weights"))
    if not past.size:
        return absent(_UPDATES, ratio=float(usual.max()))
    return present(int(found[0].steps[past[0]]), channel=found[0].channel, ratio=float(usual.max()))


def _rate_over(view: View) -> Observation:
    """The largest group's peak LR, with an optimizer that moves each weight by it, is twice the size of a weight at the start or more.

    So a rate that is warmed up, too, is held against the weights, whenever they were looked at.
    """
    groups, names = view.fact("groups"), view.fact("optimizers")
    if not isinstance(groups, list) or not isinstance(names, list):
        return unknown("the optimizer in manifest.json")
    if not all(str(name).lower() in _SIGNED for name in cast("list[object]", names)):
        return absent()
    if (answer := _usual_start(view)) is not None:
        return answer
    each = cast("list[Mapping[str, object]]", groups)
    counts = [(int(one), number) for number, group in enumerate(each) if isinstance(one := group.get("entries"), int)]
    entries, number = max(counts, default=(0, 0))
    norm, lr = view.finite(f"{_NORMS}/{number}"), view.finite(f"{_RATES}/{number}")
    if not entries or norm is None or lr is None or not len(norm) or not len(lr):
        return unknown(f"{_NORMS}/{number}")
    embedded = each[number].get("embedded")
    if 2 * (embedded if isinstance(embedded, int) else 0) >= entries or not norm.values[0] > 0:
        return absent(_NORMS)
    size, peak = float(norm.values[0]) / entries**0.5, float(lr.values.max())
    past = np.flatnonzero(lr.values >= view.limit("rate-over-weights") * size)
    return present(int(lr.steps[past[0]]), channel=lr.channel, lr=peak, size=size, ratio=peak / size) if past.size else absent(_NORMS)


def _blown_up(view: View) -> Observation:
    """The norms of half of the groups, and the spectral norms of half of the matrices, have grown that far by the last quarter."""
    if (answer := _usual_start(view)) is not None:
        return answer
    norms, spectra = _growing(view, _NORMS), _growing(view, _SPECTRA)
    if not norms or not spectra:
        return unknown(_SPECTRA if norms else _NORMS)
    growth = min(_median_growth(norms), _median_growth(spectra))
    if growth < view.limit("weights-blown-up"):
        return absent(_NORMS, growth=growth)
    half = sorted(norms, key=_growth)[len(norms) // 2]
    kept = np.flatnonzero(half.values < _KEPT * float(half.values[0]))
    return present(int(half.steps[kept[-1]]), channel=half.channel, growth=_median_growth(norms), matrices=_median_growth(spectra))


def _come_back(view: View) -> Observation:
    """Each step changes the weights, and the next one finds them as they were: every norm is the same to the last bit at three looks or more.

    What is normalised after each step keeps its norm as well, but for its last digits.
    """
    norms = {_module(series.channel, _NORMS): series for series in _seen(view, _NORMS, 3)}
    updates = {_module(series.channel, _UPDATES): series for series in _seen(view, _UPDATES, 3)}
    both = [name for name in norms if name in updates]
    if len(both) < 2:
        return unknown(_NORMS)
    back = all(bool((norms[name].values == norms[name].values[0]).all()) and bool((updates[name].values > _MOVES).all()) for name in both)
    first = norms[both[0]]
    ratio = level(np.array([level(updates[name].values) for name in both]))
    return present(int(first.steps[0]), int(first.steps[-1]), channel=first.channel, count=len(first), ratio=ratio) if back else absent(_NORMS)  # fmt: skip


def _growing(view: View, family: str) -> list[Series]:
    return [series for series in _seen(view, family, 2) if float(series.values[0]) > 0]


def _growth(series: Series) -> float:
    return level(series.values[-max(1, len(series) // 4) :]) / float(series.values[0])


def _median_growth(found: list[Series]) -> float:
    return level(np.array([_growth(series) for series in found]))


DETECTORS = (
    Detector("weights-replaced", (_UPDATES, _SPECTRA), _replaced, "the step at {start} changes half of the groups by as much as their weights, or more (up to {ratio:.2g}×): nothing of what they were is left", "no step replaces the weights", _RECORD, (_REPLACED,)),
    Detector("rate-over-weights", (_NORMS, _RATES, "header"), _rate_over, "the LR gets to {lr:.3g}, which moves each weight by {ratio:.2g}× the size that it began with ({size:.2g}) in one step", "the LR is small against the weights", _RECORD, (_RATE,)),
    Detector("weights-blown-up", (_NORMS, _SPECTRA), _blown_up, "from step {start} on the weights grow to over ten times what they were (norms {growth:.2g}×, spectral norms {matrices:.2g}×)", "the weights keep their order of size", _RECORD, (_BLOWN_UP,)),
    Detector("weights-come-back", (_NORMS, _UPDATES), _come_back, "steps change the weights by {ratio:.2g} of their size, and at all {count} looks the next one finds them as they were, to the last bit", "the weights keep what steps change", _RECORD),
)  # fmt: skip
