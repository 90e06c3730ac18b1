"""Rows of JSON objects: shared by every format whose rows are dictionaries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sismo.sources.keys import meaning
from sismo.sources.numbers import value_of
from sismo.sources.rows import RowBuilder, flatten

_SPLIT_KEYS = frozenset({"mode", "split", "phase", "stage", "subset", "partition", "set", "type", "kind", "event"})
_VAL_WORDS = {"val": "val", "valid": "val", "validation": "val", "eval": "eval", "evaluation": "eval", "test": "test",
    "dev": "val", "validate": "val",
              "evaluate": "eval"}  # fmt: skip
_CONFIG_WORDS = frozenset({"config", "args", "hparams", "hyperparameters", "params", "settings"})

_FLOAT = {float}


def add_record(builder: RowBuilder, record: Mapping[str, object]) -> bool:
    """Adds one object as a row; returns whether it had a number. ``{"mode": "val"}`` puts ``val/`` before its keys."""
    flat = flatten(record) if any(isinstance(value, dict) for value in record.values()) else record
    prefix = _prefix(flat)
    row: dict[str, float] = {}
    for key, value in flat.items():
        if type(value) is float:
            row[key] = value
        elif value is not None and (cell := value_of(value)) is not None:
            row[key] = cell
    if prefix:
        # Counters stay what they are, except one within the epoch: that of the evaluation counts its own batches.
        within = any(meaning(key).role == "epoch" for key in row)
        row = {key if _is_axis(key, within) else f"{prefix}/{key}": value for key, value in row.items()}
    if not row:
        return False
    builder.add(row)
    return True


def add_alike(builder: RowBuilder, records: Sequence[Mapping[str, object]]) -> bool:
    """Adds objects of the same keys key by key, as ``add_record`` does one by one; False, and nothing is added, where it might differ."""
    flat = [flatten(record) for record in records] if any(type(value) is dict for value in records[0].values()) else records
    keys = flat[0].keys()
    if any(record.keys() != keys for record in flat) or not _SPLIT_KEYS.isdisjoint(keys):
        return False
    count = len(records)
    everywhere = False
    found: list[tuple[str, NDArray[np.int64], NDArray[np.float64]]] = []
    rows = np.arange(builder.n_rows, builder.n_rows + count)
    for key in keys:
        column = [record[key] for record in flat]
        kinds = set(map(type, column))
        if kinds == _FLOAT:
            found.append((key, rows, np.array(column, dtype=np.float64)))
            everywhere = True
        elif dict in kinds:
            return False
        else:
            cells = [value_of(value) for value in column]
            there = np.array([cell is not None for cell in cells])
            found.append((key, rows[there], np.array([cell for cell in cells if cell is not None], dtype=np.float64)))
            everywhere |= bool(there.all())
    if not everywhere:  # a row may have no number at all
        return False
    builder.n_rows += count
    for key, places, values in found:
        builder.extend(key, places, values)
    return True


def add_points(builder: RowBuilder, points: Iterable[tuple[str, float, float]]) -> None:
    """Adds single measurements, each ``key, step, value`` on its own, as one row a step; of two for one step the later stays."""
    rows: dict[float, dict[str, float]] = {}
    for key, step, value in points:
        rows.setdefault(step, {})[key] = value
    for step in sorted(rows):
        builder.add({"step": step} | rows[step])


def _prefix(flat: Mapping[str, object]) -> str:
    if _SPLIT_KEYS.isdisjoint(flat):
        return ""
    for key in (key for key in flat if key in _SPLIT_KEYS):
        value = flat.get(key)
        if isinstance(value, str):
            return _VAL_WORDS.get(value.lower(), "")
    return ""


def _is_axis(key: str, within: bool) -> bool:
    role = meaning(key).role
    return role == "epoch" or (role == "step" and not (within and key in ("iter", "iteration", "step_in_epoch")))


def is_config(record: Mapping[str, object]) -> bool:
    """Whether an object without measurements is the configuration of the run rather than a row."""
    keys = {str(key).lower() for key in record}
    return bool(keys & _CONFIG_WORDS) or len(keys & {"learning_rate", "batch_size", "seed", "optimizer", "model", "max_steps",
    "warmup_steps", "fp16", "bf16",
                                                    "vocab_size", "gradient_accumulation_steps"}) >= 3  # fmt: skip


def salvage(text: str) -> list[object]:
    """The complete rows of the first list of objects in a JSON text that breaks off, decoded one after another."""
    decoder = json.JSONDecoder()
    rows: list[object] = []
    start = text.find("[")
    at = text.find("{", start + 1) if start >= 0 else -1
    while at >= 0:
        try:
            row, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        rows.append(row)
        at = text.find("{", end)
        if text[end : at if at >= 0 else end].strip(" \r\n\t,"):
            break
    return rows
