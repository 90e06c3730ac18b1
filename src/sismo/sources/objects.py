"""Rows of JSON objects: shared by every format whose rows are dictionaries."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from sismo.sources.keys import meaning
from sismo.sources.numbers import value_of
from sismo.sources.rows import MAX_DEPTH, RowBuilder, flatten

SPLIT_KEYS = frozenset({"mode", "split", "phase", "stage", "subset", "partition", "set", "type", "kind", "event"})
"""Keys whose words say whether a row is of training or of validation."""
_VAL_WORDS = {"val": "val", "valid": "val", "validation": "val", "eval": "eval", "evaluation": "eval", "test": "test",
    "dev": "val", "validate": "val",
              "evaluate": "eval"}  # fmt: skip
SETTINGS_WITHIN = 3
"""Rows within which an object may be the configuration of the run."""
_CONFIG_WORDS = frozenset({"config", "args", "hparams", "hyperparameters", "params", "settings"})

_PLAIN = frozenset({int, float})
Truths = NDArray[np.bool_]


def add_record(builder: RowBuilder, record: Mapping[str, object]) -> bool:
    """Adds one object as a row; returns whether it had a number. ``{"mode": "val"}`` puts ``val/`` before its keys."""
    flat = flatten(record) if any(isinstance(value, dict) for value in record.values()) else record
    prefix = prefix_of(flat)
    row: dict[str, float] = {}
    for key, value in flat.items():
        if type(value) is float:
            row[key] = value
        elif value is not None and (cell := value_of(value)) is not None:
            row[key] = cell
    if row:
        builder.add({side(key, prefix, row): value for key, value in row.items()} if prefix else row)
    return bool(row)


def add_together(builder: RowBuilder, records: Sequence[Mapping[str, object]]) -> bool:
    """Adds objects key by key, as ``add_record`` does one by one; False, and nothing is added, where it might not give the same."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, record in enumerate(records):
        groups.setdefault((*record, prefix_of(record)), []).append(place)
    found: list[tuple[str, NDArray[np.int64], NDArray[np.float64]]] = []
    for (*_, prefix), places in groups.items():
        columns = _columns([records[place] for place in places])
        numbers = None if columns is None else _numbers(columns, len(places), str(prefix))
        if numbers is None:
            return False
        index = builder.n_rows + np.array(places)
        found += [(key, index if there.all() else index[there], values) for key, (there, values) in numbers.items()]
    builder.n_rows += len(records)
    for key, rows, values in found:
        builder.extend(rows, {key: values})
    return True


def _columns(records: Sequence[Mapping[str, object]], prefix: str = "", depth: int = MAX_DEPTH) -> dict[str, list[object]] | None:
    """The values of each key, with nested objects as ``flatten`` has them; None where the objects differ in their keys."""
    columns: dict[str, list[object]] = {}
    for key in records[0]:
        column = [record[key] for record in records]
        kinds = set(map(type, column))
        if kinds == {dict} and depth:
            inside = cast("list[dict[str, object]]", column)
            keys = inside[0].keys()
            if any(one.keys() != keys for one in inside) or (below := _columns(inside, f"{prefix}{key}/", depth - 1)) is None:
                return None
            columns.update(below)
        elif dict in kinds:
            return None
        else:
            columns[f"{prefix}{key}"] = column
    return columns


def _numbers(columns: Mapping[str, list[object]], count: int, prefix: str) -> dict[str, tuple[Truths, NDArray[np.float64]]] | None:
    """Whether each object has a number under a key, and the numbers; None where an object may have none at all."""
    found: dict[str, tuple[Truths, NDArray[np.float64]]] = {}
    for key, column in columns.items():
        if _PLAIN.issuperset(map(type, column)):
            with contextlib.suppress(OverflowError):  # a whole number that no float holds
                found[key] = (np.ones(count, dtype=np.bool_), np.array(column, dtype=np.float64))
                continue
        cells = [value_of(value) for value in column]
        there = np.array([cell is not None for cell in cells])
        if there.any():
            found[key] = (there, np.array([cell for cell in cells if cell is not None], dtype=np.float64))
    everywhere = [key for key, (there, _) in found.items() if there.all()]
    if not everywhere or (prefix and len(everywhere) < len(found)):
        return None
    return {side(key, prefix, found): numbers for key, numbers in found.items()}


def side(key: str, prefix: str, row: Collection[str]) -> str:
    """A key with ``val/`` before it. Counters stay what they are, but for one within the epoch: an evaluation counts batches of its own."""
    if not prefix:
        return key
    within = any(meaning(other).role == "epoch" for other in row)
    return key if _is_axis(key, within) else f"{prefix}/{key}"


def add_points(builder: RowBuilder, points: Iterable[tuple[str, float, float]]) -> None:
    """Adds single measurements, each ``key, step, value`` on its own, as one row a step; of two for one step the later stays."""
    rows: dict[float, dict[str, float]] = {}
    for key, step, value in points:
        rows.setdefault(step, {})[key] = value
    for step in sorted(rows):
        builder.add({"step": step} | rows[step])


def prefix_of(flat: Mapping[str, object]) -> str:
    """What comes before the keys of a row: ``val`` where a word of it says that it is of validation, nothing for training."""
    if SPLIT_KEYS.isdisjoint(flat):
        return ""
    for key in (key for key in flat if key in SPLIT_KEYS):
        value = flat.get(key)
        if isinstance(value, str):
            return split_word(value)
    return ""


def split_word(word: str) -> str:
    """The side that a word puts a row on: ``val``, ``eval`` or ``test``; empty for training and for any other word."""
    return _VAL_WORDS.get(word.strip().lower(), "")


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
