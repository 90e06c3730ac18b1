"""What the lab is made of: settings, the parts of a training loop, and the faults that change exactly one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import Optimizer

IGNORE = -100
"""The label of a place that carries no loss; what torch's cross-entropy leaves out."""


class Batch(NamedTuple):
    """Rows of a data set.

    Attributes:
        inputs: tokens (rows, length), pictures (rows, channels, height, width) or numbers (rows, columns).
        targets: classes, (rows, length) or (rows,); ``IGNORE`` where there is nothing to predict.
        kinds: which class of the per-class panel each target belongs to, shaped like ``targets``; -1 for none.
    """

    inputs: Tensor
    targets: Tensor
    kinds: Tensor

    def rows(self, chosen: Tensor) -> Batch:
        """The rows with these numbers."""
        return Batch(self.inputs[chosen], self.targets[chosen], self.kinds[chosen])


class Data(NamedTuple):
    """A training set, a held-out set, and what is known about both.

    Attributes:
        kinds: names of the classes of the per-class panel. entropy: nats per target that no model can go under on held-out data.
    """

    train: Batch
    val: Batch
    kinds: tuple[str, ...] = ()
    entropy: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the configuration says. It goes into the manifest; what the code does stands in the parts of ``Setup``.

    Attributes:
        seed: of weights, data and dropout. total_steps: optimizer steps. batch: rows of a micro-batch. accumulation: micro-batches a step.
        lr: the peak. lr_min: where the cosine ends. warmup: steps from 0 to the peak. betas, weight_decay: of AdamW. clip: gradient norm.
        dropout: share of activations. dtype: ``fp32``, ``fp16`` or ``bf16`` (autocast). loss_scaling: whether a scaler is at work in fp16.
        rows: rows to train on. layout: ``rows`` (an example each) or ``chunks`` (fixed pieces of one long text).
        norm: ``pre`` or ``post``. init: ``gpt2``, ``xavier`` or ``torch``.
        eval_every, save_every: steps between evaluations and checkpoints.
    """

    seed: int = 0
    total_steps: int = 2000
    batch: int = 16
    accumulation: int = 1
    lr: float = 3e-3
    lr_min: float = 3e-4
    warmup: int = 100
    schedule: str = "cosine"
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.1
    clip: float = 1.0
    dropout: float = 0.0
    dtype: str = "fp32"
    loss_scaling: bool = True
    rows: int = 4000
    layout: str = "rows"
    norm: str = "pre"
    init: str = "gpt2"
    eval_every: int = 50
    save_every: int = 200


@dataclass(slots=True)
class Loop:
    """A run under way: what the parts of a setup work on.

    Attributes:
        held: free for a part that has to remember something between steps.
    """

    setup: Setup
    data: Data
    model: nn.Module
    optimizer: Optimizer
    scaler: GradScaler
    held: dict[str, Any]

    @property
    def settings(self) -> Settings:
        """What the configuration says."""
        return self.setup.settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A training loop as values: ``train`` runs it, and a fault is another value in one of the fields.

    Attributes:
        settings: what the configuration says.
        data: makes both data sets. model: builds it, weights and all. optimizer: of a model. scaler: of the gradients.
        batch: the rows of a micro-batch by its number, counted through from 0. rate: the LR of a step.
        loss: (logits, targets) to a scalar. zero: forgets old gradients. backward: from the loss of a micro-batch to gradients; returns
        what the loop logs of it. clip: after the last micro-batch. apply: the optimizer's step.
        before: what happens to the run at the beginning of a step; here machines fail. evaluate: the validation loss.
        resume_at: the step at which the process dies and comes back from its last checkpoint. restore: puts the checkpoint back into
        a fresh loop; returns the number of the next step.
    """

    settings: Settings
    data: Callable[[Settings], Data]
    model: Callable[[Settings], nn.Module]
    optimizer: Callable[[Settings, nn.Module], Optimizer]
    scaler: Callable[[Settings], GradScaler]
    batch: Callable[[Settings, Data, int], Batch]
    rate: Callable[[Settings, int], float]
    loss: Callable[[Tensor, Tensor], Tensor]
    zero: Callable[[Loop], None]
    backward: Callable[[Loop, Tensor], Tensor]
    clip: Callable[[Loop], None]
    apply: Callable[[Loop], None]
    before: Callable[[Loop, int], None]
    evaluate: Callable[[Loop], Tensor]
    restore: Callable[[Loop, Mapping[str, Any]], int]
    resume_at: int | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """Something to learn.

    Attributes:
        id: kebab-case. title: a few words. setup: the healthy setup, at its own settings.
    """

    id: str
    title: str
    setup: Setup


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A run that goes wrong, and the truth about it.

    Attributes:
        id: kebab-case, names the failure. title: the failure in a sentence.
        truth: ids of the causes that count as right, the main one first.
        change: ``change(setup, step)`` gives the setup with exactly one field changed, so that the fault begins at a step.
        onset: where it begins, as a share of the run; 0 is the first step.
        tasks: ids of the tasks that it shows on. panel: id of the dashboard panel that tells it. sign: what is to be seen there.
        probe: the kind of the probe that shows what nothing recorded does; a reason has to have it in it, as its name does in any language.
        hidden: whether a run at these settings hides it, so that "unknown" is right.
    """

    id: str
    title: str
    truth: tuple[str, ...]
    change: Callable[[Setup, int], Setup]
    onset: float = 0.0
    tasks: tuple[str, ...] = ("mini-gpt",)
    panel: str
    sign: str
    probe: str = ""
    hidden: Callable[[Settings], bool] = lambda settings: False

    def step(self, settings: Settings) -> int:
        """The step at which it begins."""
        return round(self.onset * settings.total_steps)

    def corrupt(self, setup: Setup) -> Setup:
        """The setup with the fault in it."""
        return self.change(setup, self.step(setup.settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Healthy:
    """A run that goes well, however it looks.

    Attributes:
        id: kebab-case. title: what is odd about it, in a sentence. change: the setup that makes it; it may change several fields.
        allows: ids of notes that are right about it.
    """

    id: str
    title: str
    change: Callable[[Setup], Setup]
    tasks: tuple[str, ...] = ("mini-gpt",)
    allows: tuple[str, ...] = ()
