"""What is done about a cause: the smallest change, how one sees that it worked, and what to learn. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple


class Kind(StrEnum):
    """What a remedy asks for: values that can be set, a change of code, a look at something first, or nothing."""

    RECIPE = "recipe"
    CODE = "code"
    PROBE = "probe"
    NOTHING = "nothing"


class Restart(StrEnum):
    """From where the run goes on: the last healthy checkpoint before the fault, the beginning, its newest state, or not at all.

    ``take``: it does not go on; the last checkpoint up to that step is the result.
    """

    BEFORE = "before"
    AFRESH = "afresh"
    NEWEST = "newest"
    NOT = "not"
    TAKE = "take"


class Rule(StrEnum):
    """How a new value follows from the present one.

    ``times``: present × value. ``set``: the value. ``lower``: the first of the values that is under the present one.
    ``raise``: the value where the present one is smaller. ``share``: this share of the planned steps, but not fewer than the second value.
    """

    TIMES = "times"
    SET = "set"
    LOWER = "lower"
    RAISE = "raise"
    SHARE = "share"


class Setting(NamedTuple):
    """A setting of a run. ``keys`` are the names that configuration files have for it; ``unit`` is what its values count."""

    title: str
    keys: tuple[str, ...]
    unit: str = ""


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        "lr": Setting("peak learning rate", ("lr", "learning_rate", "base_lr", "peak_lr", "max_lr", "lr0")),
        "clip": Setting(
            "gradient clip (norm)",
            ("max_grad_norm", "grad_clip", "clip_grad", "clip_grad_norm", "grad_norm_clip", "gradient_clip_val", "gradient_clipping",
             "clip_norm"),
        ),
        "warmup": Setting("warmup", ("warmup_steps", "warmup_iters", "num_warmup_steps", "lr_warmup_iters", "warmup_num_steps"), "step"),
        "warmup-share": Setting("warmup, as a share of the run", ("warmup_ratio", "warmup_fraction", "lr_warmup_fraction")),
        "weight-decay": Setting("weight decay", ("weight_decay", "wd")),
        "precision": Setting("precision", ("dtype", "torch_dtype", "precision", "mixed_precision", "amp_dtype", "bf16", "fp16")),
        "init-scale": Setting("first loss scale", ("init_scale", "initial_scale", "initial_loss_scale")),
        "accumulation": Setting(
            "accumulated micro-batches",
            ("gradient_accumulation_steps", "grad_accum", "accumulate_grad_batches", "accumulation_steps", "grad_accum_steps"),
        ),
        "drop-last": Setting("drop the last, smaller batch", ("drop_last", "dataloader_drop_last")),
        "log-every": Setting("steps between rows of the log", ("logging_steps", "log_interval", "log_every", "log_every_n_steps")),
        "nan-filter": Setting("filter of NaN losses in the log", ("logging_nan_inf_filter",)),
        "overlap-comm": Setting("reduction overlapped with the backward pass", ("overlap_comm",)),
    }
)  # fmt: skip
"""Setting id to what it is. Keys are those of Hugging Face, Lightning, DeepSpeed, Megatron, nanoGPT, MMEngine and Ultralytics."""


class Change(NamedTuple):
    """One setting that gets a new value. ``setting`` is an id of ``SETTINGS``; ``why`` gives the reason."""

    setting: str
    rule: Rule
    values: tuple[float | str | bool, ...]
    why: str


class Remedy(NamedTuple):
    """What is done about one cause.

    Attributes:
        cause: its id. kind: what it asks for. restart: from where the run goes on. skip: whether the batches of the fault are left out.
        changes: settings with new values. code: lines of code, where the change is one. probe: the kind of ``sismo probe`` that settles it.
        expect: what is seen when it worked. within: steps past the fault in which that is seen; 0 where nothing has to be trained.
        lesson: what keeps it from happening again.
    """

    cause: str
    kind: Kind
    expect: str
    lesson: str
    within: int = 50
    restart: Restart = Restart.BEFORE
    skip: bool = False
    changes: tuple[Change, ...] = ()
    code: str = ""
    probe: str = ""
