"""What a log's configuration says of the run: precision, schedule, clipping and the like, under whatever name the trainer uses."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sismo.records.types import Header
from sismo.sources.numbers import value_of

_NAMES: dict[str, tuple[str, ...]] = {
    "warmup_steps": (
        "warmup_steps",
        "warmup_iters",
        "num_warmup_steps",
        "lr_warmup_iters",
        "t_warmup",
        "warmup_iterations",
        "warmup_updates",
        "lr_warmup_steps",
        "warmup_num_steps",
        "warmup_step",
    ),
    "total_steps": (
        "max_steps",
        "total_steps",
        "train_iters",
        "max_iter",
        "max_iters",
        "num_iterations",
        "max_update",
        "total_num_steps",
        "iterations",
        "num_training_steps",
        "total_training_steps",
        "lr_decay_iters",
        "max_train_steps",
    ),
    "checkpoint_every": ("save_steps", "save_interval", "checkpoint_period", "save_interval_updates", "ckpt_interval", "checkpoint_every"),
    "vocab_size": ("vocab_size", "padded_vocab_size", "n_vocab"),
    "accumulation": (
        "gradient_accumulation_steps",
        "accumulate_grad_batches",
        "grad_accum_steps",
        "update_freq",
        "accum_steps",
        "gradient_accumulation",
        "grad_accumulation_steps",
    ),
    "clip": ("max_grad_norm", "clip_grad", "gradient_clip_val", "clip_norm", "grad_clip", "gradient_clipping", "clip_value", "max_norm"),
    "schedule": ("lr_scheduler_type", "lr_decay_style", "lr_scheduler", "scheduler", "schedule", "lr_scheduler_name"),
}
_DTYPES = (("bf16", re.compile(r"bf16|bfloat16")), ("fp16", re.compile(r"fp16|float16|half|\b16(?:-mixed|-true)?$|mixed_float16")),
           ("fp32", re.compile(r"fp32|float32|full|\b32(?:-true)?$")))  # fmt: skip
_DTYPE_KEYS = ("params_dtype", "precision", "torch_dtype", "dtype", "mixed_precision", "compute_dtype", "param_dtype", "autocast_precision")
KNOWN_KEYS = (
    frozenset(key for keys in _NAMES.values() for key in keys)
    | frozenset(_DTYPE_KEYS)
    | frozenset(("fp16", "bf16", "amp", "seed", "fp16_enabled", "bf16_enabled", "logging_steps", "batch_size", "lr_scheduler_type"))
)
"""Names that say something of a run wherever they stand; others count only inside a dump that is recognised as one."""
MAX_CONFIG = 2000
LATEST_ROW = 100
"""Settings are printed before the first rows; looking for them in every later line would cost more than reading the rows."""
_TRUE = frozenset({"true", "1", "yes", "on"})


def read_header(
    source: str, name: str, config: Mapping[str, object], *, total: int | None = None, unit: str = "step", objective: str | None = None
) -> Header:
    """The header of a run.

    Arguments:
        config: key to value as the log had them. total: planned steps that the rows state, which win over the configuration's.
        unit, objective: see ``Header``.
    """
    flat = {_plain(key): value for key, value in config.items()}
    warmup = _whole(_first(flat, "warmup_steps"))
    return Header(
        source=source,
        name=name,
        dtype=_dtype(flat),
        total_steps=total if total is not None else _positive(_whole(_first(flat, "total_steps"))),
        warmup_steps=warmup if warmup is not None and warmup >= 0 else None,
        checkpoint_every=_positive(_whole(_first(flat, "checkpoint_every"))),
        vocab_size=_positive(_whole(_first(flat, "vocab_size"))),
        accumulation=_positive(_whole(_first(flat, "accumulation"))),
        clip=_clip(_first(flat, "clip")),
        schedule=_word(_first(flat, "schedule")),
        step_unit=unit,
        objective=objective,
        status=_word(flat.get("status")),
        config=dict(config),
    )


def _plain(key: str) -> str:
    return key.strip().strip("-'\"").rsplit("/", 1)[-1].rsplit(".", 1)[-1].lower().replace("-", "_").replace(" ", "_")


def _first(flat: Mapping[str, object], name: str) -> object:
    return next((flat[key] for key in _NAMES[name] if flat.get(key) is not None), None)


def _whole(value: object) -> int | None:
    number = value_of(value)
    return int(number) if number is not None and abs(number) < 2.0**53 and number == int(number) else None


def _positive(value: int | None) -> int | None:
    return value if value is not None and value > 0 else None


def _clip(value: object) -> float | None:
    number = value_of(value)
    return number if number is not None and 0 < number < float("inf") else None


def _word(value: object) -> str | None:
    if not isinstance(value, str) or not value or value.lower() in ("none", "null") or len(value) > 64:
        return None
    return value.rsplit(".", 1)[-1].lower()


def _dtype(flat: Mapping[str, object]) -> str | None:
    for kind in ("bf16", "fp16"):
        if _on(flat, kind):
            return kind
    for key in _DTYPE_KEYS:
        value = flat.get(key)
        if value is None:
            continue
        text = str(value).lower()
        for kind, pattern in _DTYPES:
            if pattern.search(text):
                return kind
    if any(str(flat.get(kind)).lower() == "false" for kind in ("fp16", "bf16")) and _all_off(flat):
        return "fp32"
    return None


def _on(flat: Mapping[str, object], kind: str) -> bool:
    keys = (kind, f"{kind}_enabled", f"{kind}_mode", f"use_{kind}", f"{kind}_full_eval")[:4]
    if any(str(flat.get(key)).lower() in _TRUE for key in keys):
        return True
    return kind == "fp16" and str(flat.get("amp")).lower() in _TRUE and "bf16" not in flat


def _all_off(flat: Mapping[str, object]) -> bool:
    return all(str(flat.get(kind, "false")).lower() in ("false", "none") for kind in ("fp16", "bf16", "tf32"))
