"""The names that a measurement can have: the only metric vocabulary in sismo.

A channel is written ``family`` or ``family/member``: ``loss/train``, ``lr/0``, ``act_mean_abs/blocks.3.mlp``.
Sources and the recorder emit these names and nothing else; the key that the log used is kept beside the numbers.
"""

from __future__ import annotations

from typing import NamedTuple


class Family(NamedTuple):
    """What one kind of measurement is.

    Attributes:
        name: first part of the channel name.
        unit: unit of the values, ``1`` for a plain number.
        scope: what a member names: ``run`` (fixed members), ``group``, ``layer``, ``param``, ``head``, ``class``, ``term``, ``rank`` or
            ``name``.
        better: the direction that is good: ``lower``, ``higher`` or ``none``.
        about: one sentence.
        record: how a user gets it into the log or the recorder, as an instruction.
    """

    name: str
    unit: str
    scope: str
    better: str
    about: str
    record: str = ""


_FAMILIES = (
    Family("loss", "nat", "run", "lower", "Training loss (train) and validation loss (val).",
           "log the training loss at every optimizer step, and the validation loss at every evaluation"),
    Family("loss_val", "nat", "name", "lower", "Validation loss of one named evaluation set.",
           "log one validation loss per evaluation set"),
    Family("loss_term", "nat", "term", "lower", "One term of a training loss that is a sum.",
           "log every term of the loss beside their sum"),
    Family("loss_term_val", "nat", "term", "lower", "One term of a validation loss that is a sum.",
           "log every term of the validation loss"),
    Family("loss_class", "nat", "class", "lower", "Training loss of one class or domain.",
           "log the loss per class or per domain"),
    Family("loss_rank", "nat", "rank", "lower", "Training loss as one rank saw it.",
           "log the loss on every rank before it is averaged"),
    Family("lr", "1", "group", "none", "Learning rate of one parameter group.",
           "log scheduler.get_last_lr() at every step"),
    Family("grad_norm", "1", "run", "none", "Global L2 norm of the gradient before (pre) and after (post) clipping.",
           "log the value that clip_grad_norm_ returns (the norm before clipping) at every step"),
    Family("grad_norm_group", "1", "group", "none", "L2 norm of the gradient of one parameter group or block, before clipping.",
           "log the gradient norm per parameter group"),
    Family("grad_carried", "1", "run", "none", "Norm of the gradient that a step's first backward pass finds: 0 when cleared.",
           "record with sismo.Recorder"),
    Family("loss_scale", "1", "run", "none", "The factor of dynamic loss scaling.",
           "log scaler.get_scale() at every step"),
    Family("skipped", "step", "run", "none", "Optimizer steps that were skipped since the last row.",
           "log the steps that the scaler skipped"),
    Family("nonfinite", "step", "run", "none", "Steps with a non-finite loss since the last row.",
           "log the number of non-finite steps"),
    Family("weight_norm", "1", "group", "none", "L2 norm of the weights of one parameter group.",
           "log the weight norm per parameter group every 10 steps"),
    Family("weight_nonfinite", "count", "group", "none", "Non-finite weights of one block before an update whose gradient is lost.",
           "record with sismo.Recorder"),
    Family("update_ratio", "1", "group", "none", "L2 norm of the update over that of the weights, per parameter group.",
           "log the update-to-weight ratio per parameter group"),
    Family("adam_rms", "1", "group", "none", "Adam's RMS_t = sqrt(mean(g^2 / v)).", "record with sismo.Recorder"),
    Family("act_mean_abs", "1", "layer", "none", "Mean absolute activation of one layer.", "record with sismo.Recorder"),
    Family("act_max_abs", "1", "layer", "none", "Largest absolute activation of one layer.", "record with sismo.Recorder"),
    Family("act_nonfinite", "count", "layer", "none", "Non-finite activations of one layer.", "record with sismo.Recorder"),
    Family("act_near_limit", "share", "layer", "none", "Share of activations near the dtype's limit.", "record with sismo.Recorder"),
    Family("spectral", "1", "param", "none", "Largest singular value of one weight matrix.", "record with sismo.Recorder"),
    Family("dead_units", "share", "layer", "lower", "Share of units that never fired in the window.", "record with sismo.Recorder"),
    Family("head_entropy", "share", "head", "none", "Attention entropy over log(visible keys).", "record with sismo.Recorder"),
    Family("head_max_logit", "1", "head", "none", "Largest attention logit of one head.", "record with sismo.Recorder"),
    Family("grad_zero_share", "share", "run", "none", "Share of gradient entries that are exactly zero.", "record with sismo.Recorder"),
    Family("batch", "1", "name", "none", "A measurement of the input batch: length, rarity, repeats, non-finite inputs, share of labels.",
           "record with sismo.Recorder"),
    Family("target", "1", "name", "none", "A measurement of the targets: spread, level, likeness to the inputs, number of classes.",
           "record with sismo.Recorder"),
    Family("epoch", "epoch", "run", "none", "Epoch, as a fraction where the log has it.", "log the epoch at every step"),
    Family("metric", "1", "name", "none", "Anything else that the log had numbers for.", ""),
)  # fmt: skip

FAMILIES: dict[str, Family] = {family.name: family for family in _FAMILIES}

PANELS: dict[str, tuple[int, tuple[str, ...]]] = {
    "loss": (1, ("loss", "loss_val", "loss_term", "loss_class", "loss_rank")),
    "graph": (1, ()),
    "rates": (2, ("lr",)),
    "gradients": (3, ("grad_norm", "grad_norm_group", "grad_carried")),
    "weights": (3, ("weight_norm", "update_ratio", "adam_rms", "grad_zero_share")),
    "lost": (3, ("weight_nonfinite",)),
    "activations": (4, ("act_mean_abs", "act_max_abs", "act_nonfinite", "act_near_limit")),
    "spectral": (5, ("spectral",)),
    "units": (6, ("dead_units",)),
    "attention": (6, ("head_entropy", "head_max_logit")),
    "scaling": (7, ("loss_scale", "skipped")),
    "batch": (8, ("batch",)),
    "targets": (8, ("target",)),
}
"""The recorder's panels: the number that the user knows each by, in a sentence as on the page, and the families that it measures."""

_APART: dict[str, tuple[int, tuple[str, ...]]] = {"classes": (9, ("loss_class",))}
"""What the recorder measures with another panel, and the page draws by itself."""

_PANEL_OF = {family: f"panel {number}, {name}" for name, (number, families) in {**PANELS, **_APART}.items() for family in families}

LOSS_TRAIN = "loss/train"
LOSS_VAL = "loss/val"
GRAD_NORM_PRE = "grad_norm/pre"
GRAD_NORM_POST = "grad_norm/post"
GRAD_CARRIED = "grad_carried"
LOSS_SCALE = "loss_scale"
LR = "lr/0"


def family_of(channel: str) -> Family:
    """The family of a channel name. Raises KeyError when the name is not in the vocabulary."""
    return FAMILIES[channel.partition("/")[0]]


def number_of(panel: str) -> int:
    """The number of a panel by its name (``activations``). Raises KeyError for a name that is none."""
    return {**PANELS, **_APART}[panel][0]


def panel_of(channel: str) -> str:
    """The recorder's panel that measures a channel (``panel 4, activations``); empty for a channel that only logs have."""
    return _PANEL_OF.get(channel.partition("/")[0], "")


def is_channel(name: str) -> bool:
    """Whether a name is in the vocabulary (its family exists; members are free)."""
    return name.partition("/")[0] in FAMILIES
