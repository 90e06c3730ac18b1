"""One step as the probes take it: precision, loss, gradients. The user's own code runs in here, and its failures become one line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sismo.errors import SismoError, UsageError
from sismo.probes.tensors import tensors

LossFn = Callable[[nn.Module, Any], Any]
"""``loss_fn(model, batch)`` calls the model and returns the loss, a tensor of one element."""


def loss_of(model: nn.Module, batch: Any, loss_fn: LossFn, autocast: torch.dtype | None = None) -> Tensor:
    """The loss of a batch, under autocast where a dtype is given. Raises ``UsageError`` when the user's code fails."""
    kind = next((parameter.device.type for parameter in model.parameters()), "cpu")
    try:
        # What torch.compile made is run as it was written: hooks and dispatch modes do not reach into compiled code.
        with torch.compiler.set_stance("force_eager"), torch.autocast(kind, autocast) if autocast else nullcontext():
            loss = loss_fn(model, batch)
    except SismoError:
        raise
    except Exception as error:
        raise UsageError(f"the loss function failed on this batch: {one_line(error)}") from error
    loss = getattr(loss, "loss", loss)  # a model of transformers returns its loss in a field
    found = next(tensors(loss), None)
    if found is None or found.numel() != 1:
        shape = "no tensor" if found is None else f"a tensor of shape {tuple(found.shape)}"
        raise UsageError(f"the loss function must return a loss, a tensor of one element; it returned {shape}")
    return found.reshape(())


def backward(loss: Tensor, scale: float = 1.0) -> None:
    """The gradients of a loss times a loss scale. Raises ``UsageError`` where it has none."""
    if not loss.requires_grad:
        raise UsageError("the loss does not depend on any trained parameter: it has no gradient")
    try:
        loss.backward(torch.full_like(loss, scale))
    except RuntimeError as error:
        raise UsageError(f"the backward pass failed: {one_line(error)}") from error


def update(optimizer: Optimizer, again: Callable[[], Tensor]) -> None:
    """One step of an optimizer, with the gradients that are there. One that works out the loss by itself, as LBFGS does, gets ``again``.

    Raises ``UsageError`` when it fails.
    """

    def closure() -> Tensor:
        with torch.enable_grad():
            optimizer.zero_grad()
            loss = again()
            backward(loss)
        return loss

    asked = inspect.signature(optimizer.step).parameters.get("closure")
    try:
        if asked is not None and asked.default is inspect.Parameter.empty:
            cast("Any", optimizer).step(closure)
        else:
            optimizer.step()
    except SismoError:
        raise
    except Exception as error:
        raise UsageError(f"the step of {type(optimizer).__name__} failed: {one_line(error)}") from error


def unscale(model: nn.Module, scale: float) -> None:
    """Divides the gradients by the loss scale."""
    if scale != 1.0:
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(scale)


def grad_norm(model: nn.Module) -> float:
    """The norm of all gradients of a model together, in double precision; 0 where there are none."""
    return norm_of(model.parameters())


def norm_of(parameters: Iterable[Tensor]) -> float:
    """The norm of the gradients of some parameters together, in double precision; 0 where there are none."""
    gradients = [parameter.grad.detach() for parameter in parameters if parameter.grad is not None]
    squares = [(gradient.coalesce().values() if gradient.is_sparse else gradient).double().square().sum().cpu() for gradient in gradients]
    return float(torch.stack(squares).sum().sqrt()) if squares else 0.0


def one_line(error: BaseException) -> str:
    """The kind of an exception and its first line."""
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}"
