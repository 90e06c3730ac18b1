"""Part 1, the symptoms: numbers only, each measured, or said to be missing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sismo.incident.batches import fingerprints, ids, kept
from sismo.incident.types import Gap, Symptom
from sismo.postmortem import Text
from sismo.records.channels import FAMILIES, GRAD_NORM_PRE, LOSS_SCALE, LOSS_TRAIN, LOSS_VAL, LR
from sismo.records.clipping import clip_of
from sismo.records.types import Run, Series
from sismo.signals.levels import before, finite, level, noise

_SMOOTHED = 20
"""Rows whose median is the level before: enough to be steady, few enough to follow a falling loss."""
_AFTER = 5
"""Rows whose median is the level after."""
HORIZON = {"step": 50, "epoch": 5}
"""How long after the onset a spike has to have recovered (stability tree, S2.Q2), by what steps count."""
_JUMP = 0.1
"""Share by which two rows of the learning rate have to differ for both to be told: a schedule moves by less."""
_BACK = 3.0
"""Deviations of the noise before within which the loss is back at its level."""


class Scene(NamedTuple):
    """A run and the step at which its failure began."""

    run: Run
    onset: int

    @property
    def end(self) -> int:
        """The step at which it should be over: the horizon, or ten rows where the log is sparser than that."""
        loss = self.run.get(LOSS_TRAIN)
        rows = 10 * loss.interval if loss is not None else 0
        return self.onset + int(max(HORIZON.get(self.run.header.step_unit, 50), rows))


def symptoms(run: Run, onset: int | None) -> list[Symptom]:
    """The numbers at an onset; without one those of the whole run."""
    if onset is None:
        return list(_overall(run))
    scene = Scene(run, onset)
    numbers = {"unit": run.header.step_unit, "step": onset}
    return [
        Symptom(Text("Onset"), Text("{unit} {step}", numbers)),
        *_loss(scene),
        *_validation(scene),
        *_norm(scene),
        *_rate(scene),
        *_precision(scene),
        *_batch(scene),
    ]


def _overall(run: Run) -> Iterator[Symptom]:
    yield Symptom(Text("Onset"), Text("none"))
    loss = run.get(LOSS_TRAIN)
    if loss is None or not len(loss):
        yield _missing(Text("Training loss"), LOSS_TRAIN)
        return
    numbers = {"first": float(loss.values[0]), "last": float(loss.values[-1]), "rows": len(loss)}
    yield Symptom(Text("Training loss"), Text("{first:.4g} to {last:.4g} over {rows} rows", numbers))


def _loss(scene: Scene) -> Iterator[Symptom]:
    loss = scene.run.get(LOSS_TRAIN)
    if loss is None or not len(loss):
        yield _missing(Text("Training loss"), LOSS_TRAIN)
        return
    clean = finite(loss)
    rows = before(clean, scene.onset, _SMOOTHED)
    smoothed = level(rows) if rows.size else None
    yield Symptom(
        Text("Smoothed loss before"),
        Text("{value:.4g} (median of {rows} {rows:row|rows})", {"value": smoothed, "rows": rows.size})
        if smoothed is not None
        else Text("none: it began with the first row"),
    )
    yield from _peak(scene, clean)
    lost = loss.steps[~np.isfinite(loss.values) & (loss.steps >= scene.onset)]
    if lost.size:
        numbers = {"step": int(lost[0]), "count": int(lost.size), "unit": scene.run.header.step_unit}
        yield Symptom(Text("First loss that is not finite"), Text("{unit} {step}; {count} {count:row|rows} in all", numbers))
    yield _after(scene, loss, smoothed, rows)


def _peak(scene: Scene, clean: Series) -> Iterator[Symptom]:
    inside = (clean.steps >= scene.onset) & (clean.steps <= scene.end)
    if not inside.any():
        yield Symptom(Text("Peak of the loss"), Text("no finite loss from there on"))
        return
    at = int(np.argmax(np.where(inside, clean.values, -np.inf)))
    numbers = {"value": float(clean.values[at]), "step": int(clean.steps[at]), "unit": scene.run.header.step_unit}
    yield Symptom(Text("Peak of the loss"), Text("{value:.4g} at {unit} {step}", numbers))


def _after(scene: Scene, loss: Series, smoothed: float | None, rows: np.ndarray) -> Symptom:
    name = Text("Loss {steps} {unit}{steps:|s} after", {"steps": scene.end - scene.onset, "unit": scene.run.header.step_unit})
    later = loss.values[loss.steps >= scene.end][:_AFTER]
    if not later.size:
        last = int(loss.steps[-1])
        what = Text("the loss is logged until {unit} {step} only", {"step": last, "unit": scene.run.header.step_unit})
        return Symptom(name, None, Gap(what, Text("let a re-run go further")))
    if not np.isfinite(later).any():
        return Symptom(name, Text("did not recover: not finite"))
    value = level(later[np.isfinite(later)])
    numbers = {"value": value, "before": smoothed}
    if smoothed is None:
        return Symptom(name, Text("{value:.4g}", numbers))
    bar = smoothed + _BACK * noise(rows)
    if value > bar:
        back = _back(loss, scene.end, bar)
        if back is None:
            return Symptom(name, Text("did not recover: {value:.4g}, {before:.4g} before", numbers))
        numbers |= {"back": back, "unit": scene.run.header.step_unit}
        return Symptom(name, Text("did not recover by then: {value:.4g}, {before:.4g} before; back from {unit} {back} on", numbers))
    rose = loss.values[(loss.steps >= scene.onset) & (loss.steps <= scene.end)] > bar
    return Symptom(name, Text("{value:.4g}: recovered" if rose.any() else "{value:.4g}", numbers))


def _back(loss: Series, after: int, bar: float) -> int | None:
    """The first step past one from which as many rows as the level after is made of are under a bar; None where it never is."""
    later = loss.steps > after
    under = (loss.values[later] <= bar).astype(np.int64)
    runs = np.convolve(under, np.ones(_AFTER, dtype=np.int64), "valid") if under.size >= _AFTER else np.zeros(0)
    found = np.flatnonzero(runs == _AFTER)
    return int(loss.steps[later][found[0]]) if found.size else None


def _validation(scene: Scene) -> Iterator[Symptom]:
    series = scene.run.get(LOSS_VAL)
    clean = finite(series) if series is not None else None
    if series is None or clean is None or not len(clean):
        return
    at = max(int(np.searchsorted(clean.steps, scene.onset, side="right")) - 1, 0)
    numbers = {
        "value": float(clean.values[at]),
        "step": int(clean.steps[at]),
        "unit": scene.run.header.step_unit,
        "last": float(series.values[-1]),
    }
    yield Symptom(Text("Validation loss"), Text("{value:.4g} at {unit} {step}, {last:.4g} at the end", numbers))


def _norm(scene: Scene) -> Iterator[Symptom]:
    name = Text("Gradient norm before clipping")
    series = scene.run.get(GRAD_NORM_PRE)
    if series is None or not len(series):
        yield _missing(name, GRAD_NORM_PRE)
        return
    usual = before(finite(series), scene.onset, _SMOOTHED)
    inside = series.values[(series.steps >= scene.onset) & (series.steps <= scene.end)]
    if not inside.size:
        yield _missing(name, GRAD_NORM_PRE)
        return
    good = inside[np.isfinite(inside)]
    lost = "" if good.size == inside.size else Text("; not finite in {count} {count:row|rows}", {"count": int(inside.size - good.size)})
    numbers = {"usual": level(usual) if usual.size else None, "peak": float(good.max()) if good.size else None, "lost": lost}
    if not good.size:
        yield Symptom(name, Text("{usual:.4g} before, then not finite", numbers))
    elif usual.size:
        yield Symptom(name, Text("{usual:.4g} before, {peak:.4g} at most from there on{lost}", numbers))
    else:
        yield Symptom(name, Text("{peak:.4g} at most{lost}", numbers))
    clip = clip_of(scene.run)
    if clip:
        yield Symptom(Text("Clipped at"), Text("{value:.4g}", {"value": clip}))


def _rate(scene: Scene) -> Iterator[Symptom]:
    name = Text("Learning rate")
    series = scene.run.get(LR) or next(scene.run.family("lr"), None)
    clean = finite(series) if series is not None else None
    at = int(np.searchsorted(clean.steps, scene.onset, side="right")) - 1 if clean is not None else -1
    if clean is None or not len(clean):
        yield _missing(name, LR)
        return
    value, peak = float(clean.values[max(at, 0)]), float(clean.values.max())
    numbers = {"value": value, "share": value / peak if peak > 0 else 0.0, "before": float(clean.values[max(at - 1, 0)])}
    jumped = not math.isclose(value, numbers["before"], rel_tol=_JUMP)
    if jumped:
        yield Symptom(name, Text("{value:.4g}, {before:.4g} in the row before, {share:.0%} of its peak", numbers))
    else:
        yield Symptom(name, Text("{value:.4g}, {share:.0%} of its peak", numbers))


def _precision(scene: Scene) -> Iterator[Symptom]:
    dtype = scene.run.header.dtype
    how = Text("print the configuration at the start of the log (dtype, bf16, fp16), or record with sismo.Recorder")
    scale = scene.run.get(LOSS_SCALE)
    said = Text("{dtype}", {"dtype": dtype}) if dtype else Text("not logged, but a loss scaler is at work: fp16") if scale else None
    yield Symptom(Text("Precision"), said, None if said else Gap(Text("the dtype"), how))
    if scale is not None and len(scale):
        usual, inside = before(scale, scene.onset, 1), scale.values[(scale.steps >= scene.onset) & (scale.steps <= scene.end)]
        if usual.size and inside.size:
            numbers = {"before": float(usual[-1]), "low": float(inside.min())}
            yield Symptom(Text("Loss scale"), Text("{before:.6g} before, {low:.6g} at least from there on", numbers))
    overflows = sum(event.step >= scene.onset for event in scene.run.events_of("overflow"))
    if overflows:
        yield Symptom(Text("Overflows from there on"), Text("{count}", {"count": overflows}))


def _batch(scene: Scene) -> Iterator[Symptom]:
    """What was recorded of the batch at the onset."""
    name = Text("Batch")
    named, prints = ids(scene.run, scene.onset, scene.onset), fingerprints(scene.run, scene.onset, scene.onset)
    if named:
        yield Symptom(name, Text("ids {ids}", {"ids": ", ".join(named[:8])}))
    elif prints:
        yield Symptom(name, Text("fingerprint {print}", {"print": prints[0]}))
    else:
        how = Text("hand sismo.Recorder the ids of the samples: rec.step(loss, ids=batch_ids)")
        yield Symptom(name, None, Gap(Text("the batch of that step"), how))
    yield from _tokens(scene)


def _tokens(scene: Scene) -> Iterator[Symptom]:
    name = Text("Odd tokens")
    found: dict[str, float] = {}
    for measure in ("rarity", "ngram_repeats", "repeats"):
        series = scene.run.get(f"batch/{measure}")
        value = series.at(scene.onset) if series is not None else None
        if value is not None and np.isfinite(value):
            found[measure] = value
            found[f"{measure}_usual"] = level(finite(series).values) if series is not None else 0.0
    if "rarity" not in found:
        there = kept(scene.run, scene.onset)
        how = Text("run sismo probe batch on it" if there else "record a run with sismo.Recorder and loop over rec.batches(loader)")
        yield Symptom(name, None, Gap(Text("the tokens of that batch"), how))
        return
    numbers = {"repeats": 1.0, "ngram_repeats": 0.0, "ngram_repeats_usual": 0.0, **found}
    yield Symptom(
        name,
        Text(
            "rarity {rarity:.3g} ({rarity_usual:.3g} usually), {ngram_repeats:.0%} repeated n-grams ({ngram_repeats_usual:.0%} usually), "
            "seen {repeats:.0f} {repeats:time|times} in 20 steps",
            numbers,
        ),
    )


def _missing(name: Text, channel: str) -> Symptom:
    family = FAMILIES[channel.partition("/")[0]]
    return Symptom(name, None, Gap(Text("{channel}", {"channel": channel}), Text(family.record)))
