"""The suspect step once more, as it was and changed in one thing at a time (S3.Q3 and beyond)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from sismo.errors import UsageError
from sismo.probes import outcomes as names
from sismo.probes import step
from sismo.probes.checkpoints import Checkpoint, put_into
from sismo.probes.outcomes import Outcome, Replay, Usual
from sismo.probes.precision import HALF, precision
from sismo.probes.step import LossFn
from sismo.probes.tensors import mapped
from sismo.probes.untouched import Loan, untouched

_TIGHT = 0.5
"""The bound on the gradient norm that the stability tree restarts with."""
_SEVERAL = 10
"""Steps in which a rate that is too high shows: Adam's first moment (beta 0.9) has then forgotten two thirds of what was before."""
_NOISE = 1e-4
"""Relative gap between two runs of one step that the order of sums explains on an accelerator; on the CPU they are equal bit for bit."""


def replay(
    model: nn.Module,
    batch: Any,
    loss_fn: LossFn,
    optimizer: Optimizer,
    *,
    others: Sequence[Any] = (),
    earlier: Checkpoint | None = None,
    usual: Usual | None = None,
    initial: bool = False,
    recorded: float | None = None,
    autocast: torch.dtype | None = None,
    loss_scale: float = 1.0,
    clip: float | None = None,
) -> Replay:
    """Takes one step from the present state many times, each time changed in one thing, and says what makes it bad.

    Model, optimizer and random numbers are left as they were, bit for bit (see ``untouched``).

    Arguments:
        others: batches that are not suspected; without one, data and state cannot be told apart.
        earlier: a checkpoint from before the trouble; without one, state and structure cannot be told apart.
        usual: loss and gradient norm before the trouble. Without it they are taken from the other batches, on the earlier state if there is
            one. initial: the present state is the one that training began with, so that there is none before it.
        recorded: the loss that this very step had in the run, where the present state is the very one that it was taken from.
        autocast, loss_scale, clip: as in the loop.

    Raises ``UsageError`` when ``loss_fn`` fails on the step as it was, or returns no loss. A changed step that fails is one that could not
    be run.
    """
    with untouched(model, optimizer, loss_fn) as loan:
        stage = _Stage(loan, model, loss_fn, optimizer, autocast, loss_scale, clip)
        return replace(stage.play(batch, others, earlier, usual), initial=initial, recorded=recorded)


class _Stage:
    def __init__(
        self, loan: Loan, model: nn.Module, loss_fn: LossFn, optimizer: Optimizer, autocast: torch.dtype | None, scale: float,
        clip: float | None,
    ) -> None:  # fmt: skip
        self._loan, self._model, self._loss_fn, self._optimizer = loan, model, loss_fn, optimizer
        self._autocast, self._scale, self._clip = autocast, scale, clip
        self._saw_half = any(parameter.dtype in HALF for parameter in model.parameters())
        self._finite = all(bool(parameter.detach().isfinite().all()) for parameter in model.parameters())

    def play(self, batch: Any, others: Sequence[Any], earlier: Checkpoint | None, usual: Usual | None) -> Replay:
        done = [self._step(names.AS_IT_WAS, batch), self._step(names.AGAIN, batch)]
        half = self._saw_half
        done.append(self._try(names.FP32, batch, dtype=torch.float32))
        done.append(self._try(names.BF16, batch, dtype=torch.bfloat16))
        calm = [self._try(names.OTHER_BATCH, other, earlier=earlier) for other in others]
        usual = usual or Usual.of([outcome.loss for outcome in calm], [outcome.norm for outcome in calm])
        if others:
            done.append(_middle([self._try(names.OTHER_BATCH, other) for other in others], usual))
        if earlier is not None:
            done.append(self._try(names.EARLIER, batch, earlier=earlier))
        done.append(self._try(names.LOWER_LR, batch, rate=0.1))
        done.append(self._try(names.NO_CLIP, batch, clip=None))
        if not (self._clip and self._clip <= _TIGHT):  # else it is as tight already
            done.append(self._try(names.CLIP, batch, clip=_TIGHT))
        done.append(self._try(names.FRESH, batch, fresh=True))
        done.append(self._try(names.EVALUATION, batch, training=False))
        if len(others) > 1 and not done[0].bad(usual):
            done.append(self._try(names.SEVERAL, [batch, *others[1:]], others[0], several=True))
            done.append(self._try(names.SEVERAL_SLOWER, [batch, *others[1:]], others[0], several=True, rate=0.1))
        return Replay({outcome.name: outcome for outcome in done}, usual, self._repeat(done[0], done[1]), half, finite=self._finite)

    def _try(self, name: str, *given: Any, several: bool = False, **changed: Any) -> Outcome:
        """A step that is changed in one thing. A kernel that this machine does not have, as of some layers in bf16, says nothing of it."""
        try:
            return self._several(name, *given, **changed) if several else self._step(name, *given, **changed)
        except (UsageError, RuntimeError):
            return Outcome(name, math.nan, math.nan, ran=False)

    def _step(
        self,
        name: str,
        batch: Any,
        *,
        dtype: torch.dtype | None = None,
        earlier: Checkpoint | None = None,
        rate: float = 1.0,
        clip: float | None = math.nan,
        fresh: bool = False,
        training: bool = True,
    ) -> Outcome:
        self._set(earlier, rate)
        if fresh:
            self._optimizer.state.clear()
        if not training:
            self._model.eval()
        widened = dtype is torch.float32 and _widen(self._model)
        if widened:
            batch = mapped(batch, lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)
        scale = self._scale if dtype is None else 1.0
        with precision(dtype, self._half):
            loss = self._loss(batch, dtype)
            if not loss.requires_grad:
                raise UsageError("the loss does not depend on any trained parameter: it has no gradient")
            step.backward(loss, scale)
            step.unscale(self._model, scale)
            norm = step.grad_norm(self._model)
            bound = self._clip if clip is not None and math.isnan(clip) else clip
            if bound is not None:
                nn.utils.clip_grad_norm_(self._model.parameters(), bound)
            # A scaler leaves a step out whose gradients overflowed. Half-precision moments do not fit to widened weights.
            if widened or (scale != 1.0 and not math.isfinite(norm)):
                return Outcome(name, float(loss.detach()), norm)
            step.update(self._optimizer, lambda: self._loss(batch, dtype))
            return Outcome(name, float(loss.detach()), norm, float(self._loss(batch, dtype).detach()), updated=True)

    def _several(self, name: str, batches: Sequence[Any], held_out: Any, rate: float = 1.0) -> Outcome:
        """Ten steps in a row: a rate that is too high may take some to do harm. The losses are those of a batch that is not trained on."""
        self._set(None, rate)
        before, norm = float(self._loss(held_out, None).detach()), math.nan
        for number in range(_SEVERAL):
            self._optimizer.zero_grad()
            batch = batches[number % len(batches)]
            step.backward(self._loss(batch, None), self._scale)
            step.unscale(self._model, self._scale)
            norm = step.grad_norm(self._model) if number == 0 else norm
            if self._clip is not None:
                nn.utils.clip_grad_norm_(self._model.parameters(), self._clip)
            step.update(self._optimizer, lambda batch=batch: self._loss(batch, None))
        return Outcome(name, before, norm, float(self._loss(held_out, None).detach()), updated=True)

    def _set(self, earlier: Checkpoint | None, rate: float) -> None:
        """The state to start from. An earlier one is tried with the present learning rate."""
        self._loan.rewind()
        rates = [group.get("lr") for group in self._optimizer.param_groups]
        if earlier is not None:
            put_into(earlier, self._model, self._optimizer)
        for group, own in zip(self._optimizer.param_groups, rates, strict=True):
            if own is not None:
                group["lr"] = own * rate
            elif rate != 1.0:
                raise UsageError("the optimizer chooses its learning rate by itself")

    def _loss(self, batch: Any, dtype: torch.dtype | None) -> torch.Tensor:
        wanted = self._autocast if dtype is None else (None if dtype is torch.float32 else dtype)
        return step.loss_of(self._model, batch, self._loss_fn, wanted)

    def _half(self) -> None:
        self._saw_half = True

    def _repeat(self, one: Outcome, other: Outcome) -> bool:
        on_cpu = all(parameter.device.type == "cpu" for parameter in self._model.parameters())
        pairs = zip(one[1:4], other[1:4], strict=True)
        return all(a == b or (a != a and b != b) or (not on_cpu and math.isclose(a, b, rel_tol=_NOISE)) for a, b in pairs)


def _widen(model: nn.Module) -> bool:
    """Makes weights that are kept in half precision single; False where none are."""
    half = any(parameter.dtype in HALF for parameter in model.parameters())
    if half:
        model.float()
    return half


def _middle(tried: Sequence[Outcome], usual: Usual) -> Outcome:
    """One outcome that stands for most of them."""
    bad = sorted([outcome for outcome in tried if outcome.ran] or tried, key=lambda outcome: outcome.bad(usual))
    return bad[len(bad) // 2]
