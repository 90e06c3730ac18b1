"""What a loss asks each position of a sequence for: the next token, or something else.

The gradient of a cross-entropy with respect to the logits of a position is negative at the class that is asked for, and sums to nothing
over all of them. So the targets can be read off without knowing how the loss function makes them, whatever the batch calls them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sismo.errors import UsageError
from sismo.probes import step
from sismo.probes.init import initialised
from sismo.probes.sequences import Call, calls_as_made, time_axis
from sismo.probes.step import LossFn
from sismo.probes.untouched import untouched

_SURE = 0.9
"""Share of the positions at which the target is the next token, from which that is what the loss asks for."""
_PLACES = 4
"""Positions that must tell: those at which the next token is another one than this, so that padding does not count."""
_AHEAD = 4
"""Places ahead that a loss is known to ask for: the next one, or the next few of models that predict several tokens."""
_REST = 0.05
"""What a gradient of a cross-entropy may sum to, as a share of its size: a z-loss or a penalty beside it is small."""


def asks_for_next(
    model: nn.Module, batch: Any, loss_fn: LossFn, name: str | None = None, axis: int = 1, until: int | None = None
) -> bool | None:
    """Whether the loss asks each position for what stands at the next one in its own input; None where that cannot be told.

    The model is asked with fresh weights where it can initialise itself, as one that has learnt its task gives no gradient. It is left as
    it was (see ``untouched``). ``name`` is the path of the sequence among the arguments, the first one by default. With ``until`` only the
    positions before that one are looked at.
    """
    with untouched(model, None, loss_fn):
        initialised(model)
        model.eval()
        try:
            call, gradient, output = _graded(model, batch, loss_fn, name, axis)
        except UsageError:
            return None
    sequence = call.sequence
    if sequence.is_floating_point():
        return _numbers(sequence, output, gradient, call, until)
    return _tokens(sequence, gradient, call, until)


def _graded(model: nn.Module, batch: Any, loss_fn: LossFn, name: str | None, axis: int) -> tuple[Call, Tensor, Tensor]:
    """The first call of the model, the gradient of the loss at its output, and that. Raises ``UsageError`` where there is none."""
    seen: list[tuple[Call, Tensor]] = []

    def look(_: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any], output: Any) -> None:
        if not seen:
            calls = calls_as_made(arguments, options, axis)
            call = next((made for made in calls if made.name == name), calls[0])
            chosen = call.chosen(output)
            chosen.retain_grad()
            seen.append((call, chosen))

    handle = model.register_forward_hook(look, with_kwargs=True)
    try:
        with torch.enable_grad():
            step.backward(step.loss_of(model, batch, loss_fn))
    except RuntimeError as error:
        raise UsageError(step.one_line(error)) from error
    finally:
        handle.remove()
    if not seen or seen[0][1].grad is None or not bool(seen[0][1].grad.isfinite().all()):
        raise UsageError("the loss has no gradient at the model's output")
    call, chosen = seen[0]
    return call, seen[0][1].grad, chosen


def _tokens(tokens: Tensor, gradient: Tensor, call: Call, until: int | None) -> bool | None:
    """Whether the classes that are asked for are the tokens one place on."""
    asked = _by_class(gradient, tokens, call)
    if asked is None:
        return None
    tokens = tokens.movedim(call.axis, 1)
    if until is not None:
        asked = asked.clone()
        asked[:, until:] = 0.0
    carries = asked.amin(-1) < 0
    odd = asked.sum(-1).abs() > _REST * asked.abs().sum(-1)
    if not bool(carries.any()) or float(odd[carries].float().mean()) > 0.5:
        return None  # no cross-entropy over classes: what is asked for cannot be read off
    if int(tokens.max()) >= asked.shape[-1]:
        return False
    target, shares = asked.argmin(-1), list[float]()
    for ahead in range(1, min(_AHEAD, tokens.shape[1] - 1) + 1):
        here, later = tokens[:, :-ahead], tokens[:, ahead:]
        tell = carries[:, :-ahead] & (later != here)
        if int(tell.sum()) >= _PLACES:
            shares.append(float((target[:, :-ahead] == later)[tell].float().mean()))
    return max(shares) > _SURE if shares else None


def _by_class(gradient: Tensor, tokens: Tensor, call: Call) -> Tensor | None:
    """The gradient as (batch, time, class); None where these cannot be told apart."""
    if tokens.ndim != 2:
        return None
    if gradient.ndim == 2 and gradient.shape[0] == tokens.numel():
        return gradient.reshape(*tokens.shape, -1).movedim(call.axis, 1)
    batch, length = tokens.movedim(call.axis, 1).shape
    gradient = gradient.movedim(1, 0) if call.axis == 0 and gradient.ndim == 3 else gradient
    if gradient.ndim != 3 or gradient.shape[0] != batch:
        return None
    at = time_axis(gradient[0], length, 0)
    return None if at is None else gradient.movedim(at + 1, 1)


def _numbers(sequence: Tensor, output: Tensor, gradient: Tensor, call: Call, until: int | None) -> bool | None:
    """Whether each output is drawn to what stands at the next place, as a squared or an absolute error does."""
    if output.shape != sequence.shape:
        return None
    length = sequence.shape[call.axis] if until is None else until + 1
    before, after = (part.narrow(call.axis, start, length - 1) for part, start in ((output, 0), (sequence, 1)))
    drawn = gradient.narrow(call.axis, 0, length - 1)
    tell = (drawn != 0) & (before != after)
    if int(tell.sum()) < _PLACES:
        return None
    return bool((drawn.sign() == (before - after).sign())[tell].float().mean() > _SURE)
