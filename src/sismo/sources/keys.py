"""What the key of a log means: ``train/box_loss`` is a term of the training loss, ``gnorm`` is the gradient norm.

``meaning`` looks at one key alone. Which of several training losses becomes ``loss/train`` is decided in ``naming``,
where all keys of a log are known.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from sismo.records.channels import FAMILIES
from sismo.sources.words import in_english, word_in_english

STEP_KEYS = (
    "step", "global_step", "trainer_global_step", "train_global_step", "current_steps", "current_step", "num_updates", "train_step",
    "iteration", "iter", "iters", "iterations", "n_iter", "num_iter", "it", "optimizer_step", "opt_step", "update", "updates", "steps",
    "trainer_step", "train_iteration", "s", "train_steps", "num_steps", "batch_step", "train_iter", "completed_step",
    "itn", "nupdates", "total_timesteps", "time_total_timesteps", "timesteps", "time_iterations",
)  # fmt: skip
"""Normalised names of a step counter, best first."""
BATCH_KEYS = ("batch", "batch_idx", "batch_index", "batch_id", "minibatch", "batches", "i")
EPOCH_KEYS = (
    "epoch",
    "ep",
    "epochs",
    "current_epoch",
    "train_epoch",
    "trainer_epoch",
    "num_epoch",
    "epoch_num",
    "epoch_idx",
    "fold_epoch",
)
TOTAL_KEYS = ("total_steps", "max_steps", "total_iters", "max_iters", "num_training_steps", "total_iterations")

_SURE_STEPS = frozenset({"global_step", "current_step", "current_steps", "num_updates", "trainer_step"})
"""Names that mean the step whatever they are nested in; ``time/step`` does not."""
_CONTAINERS = frozenset({"data", "metrics", "metric", "log", "logs", "scalars", "results", "values", "summary"})

_TRAIN = frozenset({"train", "training", "trn", "tr", "trl", "trainer"})
_VAL = frozenset({"val", "vali", "valid", "validation", "eval", "evaluation", "test", "testing", "dev", "tel", "heldout", "validate"})
_LOSS = frozenset({"loss", "losses", "cost", "trl", "tel"})
_WEAK = frozenset(
    {"nll", "mse", "mae", "rmse", "bce", "ce", "xent", "crossentropy", "logloss", "elbo", "error", "err", "objective", "criterion"}
)
# A key with one of these beside a loss word is about the loss, not the loss: its scale, its weight, its best value so far.
_ABOUT = frozenset({
    "scale", "scaler", "scaling", "weight", "weights", "coef", "coeff", "coefficient", "coeffs", "lambda", "mask", "fn", "func", "function",
    "type", "name", "best", "min", "lowest", "std", "var", "variance", "ratio", "count", "num", "patience", "thr", "threshold", "window",
    "time", "delta", "improvement", "clip", "tensorboard", "lr", "gap", "diff", "decay", "slope", "final", "id", "file",
    "acc", "accuracy", "limit", "target", "prev", "previous", "minimum", "start", "gamma", "beta", "alpha", "factor", "free", "spike",
    "mult", "multiplier", "decreased", "increased", "improved",
    "every", "interval", "freq", "bound", "epsilon", "eps", "smoothing", "norm", "grad", "token", "tokens",
})  # fmt: skip
_LOAD = frozenset({"reader", "data", "io", "memory", "compute"})
"""With these before it a cost is one in time: PaddlePaddle's ``reader_cost``."""
_SMOOTH = frozenset({"ema", "moving", "smoothed", "smooth", "running", "ave", "avr", "rolling"})
_PLAIN = frozenset({"step", "epoch", "batch", "iteration", "iter", "current", "global", "error", "err", "value", "at", "per",
    "overall", "is",
                    "sum", "main", "minibatch", "of", "the", "metrics", "metric", "log", "logs", "all", "avg", "average", "mean", "total",
                    "final", "model", "objective", "trainer", "set", "reduced", "running"})  # fmt: skip
# The usual names of the language-model loss; terms only when a total stands beside them.
_MAIN_NAMES = frozenset({"lm", "ce", "cross", "entropy", "xent", "crossentropy", "language", "modeling", "base", "task", "inner"})
_TERM_NAMES = frozenset({"kl", "kld", "kldiv", "recon", "reconstruction", "commitment", "perceptual"})
_KNOWN_TERMS = _TERM_NAMES | {"box", "cls", "dfl", "obj", "l1", "iou", "conf", "seg", "pose", "kobj", "aux", "mlm", "nll", "class", "giou",
                              "mask", "rpn", "bbox", "kpt", "rle", "sem", "nsp", "moe", "z", "ce", "bce", "dice", "focal"}  # fmt: skip
_LR_NOISE = frozenset({"lr", "learning", "learn", "rate", "train", "training", "pg", "group", "groups", "param", "params", "adam", "adamw",
    "sgd", "lion",
                       "muon", "adafactor", "rmsprop", "opt", "optim", "optimizer", "step", "epoch", "current", "scheduler", "lrs",
                       "log", "value",
                       "w", "x"})  # fmt: skip
_LR_ABOUT = frozenset({"multiplier", "scale", "min", "max", "initial", "factor", "decay", "peak", "schedule", "mult", "ratio",
    "init", "end",
                       "warmup", "steps", "base"})  # fmt: skip
PERPLEXITY = frozenset({"ppl", "perplexity"})
"""A loss as e to its power."""
_PERPLEXITY_BESIDE = PERPLEXITY | _TRAIN | _VAL | {"batch", "step", "epoch", "avg", "mean"}
# Families whose members a log may name directly, in sismo's own vocabulary.
_OWN = frozenset(FAMILIES) - {"loss", "lr", "epoch", "batch", "metric", "grad_norm", "loss_scale", "skipped", "nonfinite"}

SMOOTHED = 8
"""Rank of a moving average: taken only where nothing else is there."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPLIT = re.compile(r"[^a-z0-9]+")
_GROUP = re.compile(r"(?:pg|group|g)?\d+")
_GLUED = re.compile(r"(train|training|val|valid|test|eval|total|tr|avg|mean|trn)(loss|cost)")


class Meaning(NamedTuple):
    """What a key is about.

    Attributes:
        role: ``step``, ``batch``, ``epoch``, ``planned``, ``train``, ``val``, ``val_set``, ``term``, ``term_val``, ``bare_term`` and
            ``bare_term_val`` (kl, reconstruction without the word loss), ``weak`` (a loss by another name), ``lr``,
            ``channel`` (``member`` is the channel) or ``metric``.
        member: the term, evaluation set, group or channel.
        rank: order of preference within the role, 0 is best.
        suffix: ``step`` or ``epoch`` where the key carries Lightning's suffix.
    """

    role: str
    member: str = ""
    rank: int = 0
    suffix: str = ""


def tokens(key: str) -> list[str]:
    """The words of a key in lower case: ``train/CrossEntropyLoss`` gives train, cross, entropy, loss."""
    words = [word_in_english(word) for word in _SPLIT.split(in_english(_CAMEL.sub("_", key.strip()).lower())) if word]
    out: list[str] = []
    for word in " ".join(words).split():
        glued = _GLUED.fullmatch(word)
        out.extend(glued.groups() if glued else (word,))
    return out


@lru_cache(maxsize=8192)
def meaning(key: str) -> Meaning:
    """What one key means by its name alone."""
    if "/" in key and key.partition("/")[0] in _OWN:
        return Meaning("channel", key)
    if key.strip() in ("_step", "#"):
        # wandb counts its own calls; a step of the trainer beside it is the one that is meant. spaCy heads its steps with "#".
        return Meaning("step", rank=len(STEP_KEYS))
    words = tokens(_inside(key))
    name = "_".join(words)
    found = _axis(name) or _nested_step(key) or _optimizer(words, name)
    if found is not None:
        return found
    suffix = words[-1] if len(words) > 1 and words[-1] in ("step", "epoch") else ""
    held_out = any(word in _VAL for word in words)
    if not any(word in _LOSS for word in words):
        return _without_loss_word(words, held_out, suffix)
    # "loss_norm" or "weight of the loss" are about it; "mask" and "z" are terms only when a loss of that name is meant.
    about = [word for word in words if word in _ABOUT and word not in _LOSS and not (word == "function" and "value" in words)]
    rest = [word for word in words if word not in _TRAIN | _VAL | _LOSS]
    if (about and about != ["mask"]) or ("cost" in words and _LOAD.intersection(words)):
        return Meaning("metric", key)
    smooth = any(word in _SMOOTH for word in rest)
    plain = _PLAIN - {"value"} if "function" in rest else _PLAIN
    named = [word for word in rest if word not in plain and word not in _SMOOTH]
    main = all(word in _MAIN_NAMES for word in named)
    if main:
        rank = SMOOTHED if smooth else _rank(words, named)
        return Meaning("val" if held_out else "train", "_".join(named), rank, suffix)
    member = _member(words, named)
    if held_out:
        known = any(word in _KNOWN_TERMS for word in named)
        return Meaning("term_val" if known else "val_set", member, 0, suffix)
    return Meaning("term", member, 0, suffix)


def _inside(key: str) -> str:
    """The key without the containers that a nested row keeps its measurements in: ``data/metrics/loss`` is the loss."""
    while "/" in key and key.partition("/")[0].lower() in _CONTAINERS:
        key = key.partition("/")[2]
    return key


def _nested_step(key: str) -> Meaning | None:
    last = "_".join(tokens(key.rpartition("/")[2])) if "/" in key else ""
    return Meaning("step", rank=len(STEP_KEYS) + 1) if last in _SURE_STEPS else None


def is_loss(key: str) -> bool:
    """Whether a key names a loss: of training, of validation, or a term of either."""
    return meaning(key).role in ("train", "val", "val_set", "term", "term_val")


def _axis(name: str) -> Meaning | None:
    name = name.removeprefix("at_")
    if name in STEP_KEYS:
        return Meaning("step", rank=STEP_KEYS.index(name))
    if name in EPOCH_KEYS:
        return Meaning("epoch", rank=EPOCH_KEYS.index(name))
    if name in BATCH_KEYS:
        return Meaning("batch", rank=BATCH_KEYS.index(name))
    return Meaning("planned", rank=TOTAL_KEYS.index(name)) if name in TOTAL_KEYS else None


def _optimizer(words: list[str], name: str) -> Meaning | None:
    """Gradient norm, learning rate, loss scale and the counters of skipped steps."""
    has = frozenset(words)
    if has & {"lr", "lrs"} or "learning_rate" in name or "learn_rate" in name:
        if has & _LR_ABOUT or has & _LOSS or has & _VAL:
            return None
        left = [word for word in words if word not in _LR_NOISE and not _GROUP.fullmatch(word)]
        digits = re.search(r"(\d+)$", name)
        return Meaning("lr", "_".join(left) or (digits[1] if digits else "0"))
    if name in ("norm", "gnorm", "gradnorm", "total_norm", "grad", "l2_grad_norm") or (
        has & {"grad", "gradient", "gradients", "grads"} and has & {"norm", "norms"}
    ):
        return _gradient_norm(words)
    if has >= {"loss", "scale"} or has >= {"amp", "scale"} or has >= {"grad", "scale"} or has >= {"scaler", "scale"}:
        plain = len(has - {"train", "current", "optim"}) <= 3 and not has & {"lg", "log2"}  # the logarithm is no scale
        return Meaning("channel", "loss_scale") if plain else None
    if has >= {"skipped"} and has & {"iterations", "iters", "steps", "step"}:
        return Meaning("channel", "skipped")
    if has >= {"nan", "iterations"} or has >= {"nan", "iters"}:
        return Meaning("channel", "nonfinite")
    return None


def _gradient_norm(words: list[str]) -> Meaning:
    noise = {"grad", "gradient", "gradients", "grads", "norm", "norms", "gnorm", "gradnorm", "total", "global", "train",
        "training", "optim", "l2",
             "step", "epoch", "2", "0", "avg", "mean", "all", "before", "pre", "clip", "clipping", "unclipped", "2_norm"}  # fmt: skip
    if any(word in ("post", "after", "clipped") for word in words) and "pre" not in words:
        return Meaning("channel", "grad_norm/post")
    left = [word for word in words if word not in noise]
    if words[-1] == "clip" and not {"pre", "before", "post", "after", "unclipped"}.intersection(words):
        return Meaning("metric")  # the bound
    if any(word in ("max", "min", "std", "ratio", "threshold", "coef") for word in left):
        return Meaning("metric")
    return Meaning("channel", f"grad_norm_group/{'_'.join(left)}" if left else "grad_norm/pre")


def _without_loss_word(words: list[str], held_out: bool, suffix: str) -> Meaning:
    if any(word in _TERM_NAMES for word in words) and len(words) <= 3 and not any(word in _ABOUT for word in words):
        return Meaning("bare_term_val" if held_out else "bare_term", _member(words, words), 0, suffix)
    if len(words) == 1 and words[0] in ("val", "valid", "validation", "test", "eval", "train"):
        return Meaning("weak", "train" if words[0] == "train" else "val", 5)
    if any(word in _WEAK for word in words) and not any(word in _ABOUT for word in words):
        return Meaning("weak", "val" if held_out else "train", 0, suffix)
    if not PERPLEXITY.isdisjoint(words) and _PERPLEXITY_BESIDE.issuperset(words):
        return Meaning("weak", "val" if held_out else "train", 9, suffix)
    return Meaning("metric")


def _rank(words: list[str], named: list[str]) -> int:
    """Which of several main losses to prefer: a total, then one that says train, then a bare one, means, and the LM part last."""
    if named:
        return 5
    if "total" in words:
        return 0
    if any(word in ("mean", "avg", "average", "epoch") for word in words):
        return 3
    return 1 if any(word in _TRAIN | _VAL for word in words) else 2


def _member(words: list[str], named: list[str]) -> str:
    return "_".join(named) or "_".join(words)
