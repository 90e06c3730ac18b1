"""What a worker does: fetches some units, reads them and judges each run."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, cast

from sismo.errors import SismoError, SourceError, UnrecognisedLog
from sismo.judge import judge
from sismo.records.types import Run
from sismo.scan.finding import Unit
from sismo.scan.listing import filesystem, is_remote
from sismo.scan.types import Row, Scalar
from sismo.sources import load

_HEADER = ("dtype", "total_steps", "warmup_steps", "checkpoint_every", "vocab_size", "accumulation", "clip", "schedule", "objective")
_LONGEST = 200
"""Characters of a setting that are kept."""


class Bundle(NamedTuple):
    """Some units for one worker, so that sending does not cost more than reading."""

    units: Sequence[Unit]


def read(bundle: Bundle) -> list[tuple[Unit, list[Row]]]:
    """The rows of each unit; one that cannot be read is a row that says why."""
    return [(unit, rows_of(unit)) for unit in bundle.units]


def rows_of(unit: Unit) -> list[Row]:
    """A row for each run of a unit."""
    try:
        with _at_hand(unit) as path:
            beside = _settings(os.path.join(os.path.dirname(path), unit.settings[0])) if unit.settings else {}
            return [_row(unit, run, beside) for run in load(path)]
    except SismoError as error:
        # A subclass is a log that could not be read; this very class is no log. An empty file is a run that died before its first line.
        stray = type(error) is UnrecognisedLog and not unit.given and any(file.size for _, file in unit.files)
        return [_failed(unit, _reason(error), stray)]
    except OSError as error:
        return [_failed(unit, error.strerror or str(error))]
    except Exception as error:  # a bug of ours over one file must not cost the other thousands; its row names it as what it is
        return [_failed(unit, f"bug in sismo, please report: {type(error).__name__}: {error}")]


def lost(unit: Unit, reason: str) -> list[Row]:
    """The row of a unit whose worker died."""
    return [_failed(unit, reason)]


@contextmanager
def _at_hand(unit: Unit) -> Iterator[str]:
    """The unit on this machine: where it lies, or a copy for as long as it is read."""
    if not is_remote(unit.place):
        yield unit.place
        return
    system, path = filesystem(unit.place)
    with tempfile.TemporaryDirectory(prefix="sismo-scan-") as folder:
        copy = os.path.join(folder, unit.place.rstrip("/").rpartition("/")[2])
        for name, _ in unit.files:
            target = os.path.join(copy, name) if name else copy
            os.makedirs(os.path.dirname(target), exist_ok=True)
            system.get_file(f"{path}/{name}" if name else path, target)
        if unit.settings:
            name = unit.settings[0]
            system.get_file(f"{path.rpartition('/')[0]}/{name}", os.path.join(folder, name))
        yield copy


def _row(unit: Unit, run: Run, beside: Mapping[str, Scalar]) -> Row:
    diagnosis = judge(run)
    first = diagnosis.first
    loss = run.get("loss/train")
    header = run.header
    return Row(
        path=unit.place,
        name=header.name,
        source=header.source,
        healthy=diagnosis.healthy,
        severity=max((finding.severity for finding in diagnosis.findings), key=lambda one: one.rank).value if first else "none",
        cause=first.cause.id if first else "",
        confidence=first.confidence if first else None,
        step=first.step if first else None,
        step_unit=header.step_unit,
        rows=0 if loss is None else len(loss),
        time=unit.time,
        status=header.status or "",
        config={**beside, **_config(run)},
    )


def _failed(unit: Unit, reason: str, unrecognised: bool = False) -> Row:
    return Row(unit.place, time=unit.time, error=reason, unrecognised=unrecognised)


def _reason(error: SismoError) -> str:
    """What is wrong, without the place of a copy in front of it."""
    text = str(error)
    return text.removeprefix(f"{error.path}: ") if isinstance(error, SourceError) else text


def _config(run: Run) -> dict[str, Scalar]:
    header = run.header._asdict()
    known = {name: header[name] for name in _HEADER if header[name] is not None}
    return known | dict(_flat(run.header.config, ""))


def _settings(path: str) -> dict[str, Scalar]:
    """What a file of settings says; nothing where it is no JSON object, as it is only a help."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return dict(_flat(cast("dict[str, object]", found), "")) if isinstance(found, dict) else {}


def _flat(settings: Mapping[str, object], prefix: str) -> Iterator[tuple[str, Scalar]]:
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")  # pyright: ignore[reportUnknownArgumentType] - what a log holds
        elif isinstance(value, str):
            yield name, value[:_LONGEST]
        elif isinstance(value, bool | int | float):
            yield name, value
