"""New values of settings: what a run had, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from sismo.incident.types import NewValue
from sismo.postmortem import Text
from sismo.records.channels import LR
from sismo.records.clipping import clip_of
from sismo.records.types import Run
from sismo.tree.remedy import SETTINGS, Change, Rule

Value = float | str | bool


def proposed(change: Change, run: Run) -> NewValue:
    """A change with the values that this run had and should have."""
    setting = SETTINGS[change.setting]
    old = had(change.setting, run)
    return NewValue(
        setting=change.setting,
        title=Text(setting.title),
        old=old,
        new=follows(change.rule, change.values, old, run.header.total_steps),
        said=_rule(change),
        why=Text(change.why),
        keys=setting.keys,
        rule=change.rule.value,
        operands=change.values,
    )


def follows(rule: str, operands: tuple[Value, ...] | list[Value], old: Value | None, planned: int | None) -> Value | None:
    """The new value; None where it cannot be told without the old one, or where the old one will do."""
    first = operands[0]
    if rule == Rule.SET:
        return None if old == first else first
    if rule == Rule.SHARE:
        share, least = float(first), float(operands[1])
        wanted = int(max(least, round(share * planned))) if planned else int(least)
        return None if old == wanted else wanted
    present = float(old) if isinstance(old, (int, float)) and not isinstance(old, bool) else None
    if rule == Rule.TIMES:
        return None if present is None else _round(present * float(first))
    if rule == Rule.RAISE:
        return first if present is None or present < float(first) else None
    return next((value for value in operands if not present or float(value) < present), None)


def had(name: str, run: Run) -> Value | None:
    """What the run had for a setting: as it was logged, else as it was configured. None where neither says."""
    header = run.header
    known: dict[str, Value | None] = {
        "clip": clip_of(run),
        "warmup": header.warmup_steps,
        "precision": header.dtype,
        "accumulation": header.accumulation,
        "lr": _peak(run),
    }
    if known.get(name) is not None:
        return known[name]
    configured = dict(_flat(header.config))
    found = [configured[key] for key in SETTINGS[name].keys if key in configured]
    return found[0] if found and isinstance(found[0], (int, float, str, bool)) else None


def _peak(run: Run) -> float | None:
    series = run.get(LR) or next(run.family("lr"), None)
    values = series.values[np.isfinite(series.values)] if series is not None else np.zeros(0)
    return float(values.max()) if values.size else None


def _flat(config: Mapping[str, object]) -> list[tuple[str, object]]:
    """Keys and values at every depth; a key that comes twice keeps the outermost."""
    inner: list[tuple[str, object]] = []
    for value in config.values():
        if isinstance(value, Mapping):
            inner += _flat(cast("Mapping[str, object]", value))
    return [*inner, *((str(key).lower(), value) for key, value in config.items() if not isinstance(value, Mapping))]


def _rule(change: Change) -> Text:
    first = change.values[0]
    if change.rule is Rule.TIMES:
        return Text("times {factor:g}", {"factor": first})
    if change.rule is Rule.RAISE:
        return Text("at least {value:g}", {"value": first})
    if change.rule is Rule.SHARE:
        return Text("{share:.0%} of the run, at least {least:g} steps", {"share": first, "least": change.values[1]})
    if change.rule is Rule.LOWER:
        return Text("{value:g}, or {next:g} if it is there already", {"value": first, "next": change.values[1]})
    return Text("{value}", {"value": str(first).lower() if isinstance(first, bool) else first})


def _round(value: float) -> float:
    """To 12 digits: 3e-4 × 0.5 is 1.5e-4, not 1.4999999999999999e-4."""
    return float(f"{value:.12g}")
