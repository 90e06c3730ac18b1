"""Criteria, caught in what the functions of ``torch.nn.functional`` call: scores and targets are side by side nowhere else."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.jit import _builtins

from sismo.recorder.catching import Catcher
from sismo.recorder.events import Moment

_OF_NN = ("cross_entropy_loss", "nll_loss_nd", "binary_cross_entropy", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
_CRITERIA = (*((torch._C._nn, name) for name in _OF_NN), (torch, "binary_cross_entropy_with_logits"), (torch, "kl_div"))  # pyright: ignore[reportAttributeAccessIssue]
"""What the criteria in ``torch.nn.functional`` call: scores first, targets second."""


def hang(catcher: Catcher) -> None:
    """Tells of every call of a criterion whose scores are learnt from."""
    for holder, name in _CRITERIA:
        catcher.catch(holder, name, functools.partial(_stand_in, catcher, name))


def _stand_in(catcher: Catcher, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def note(scores: Any, target: Any, *arguments: Any, **options: Any) -> None:
        if isinstance(scores, Tensor) and isinstance(target, Tensor) and scores.requires_grad:
            catcher.run(Moment.CRITERION, name, scores.detach(), target.detach())

    def criterion(*arguments: Any, **options: Any) -> Any:
        if torch.is_grad_enabled():
            catcher.look(note, arguments, options)
        return original(*arguments, **options)

    # Who makes a script of a model takes it for what it stands in for.
    table = _builtins._get_builtin_table()
    if (operation := table.get(id(original))) is not None:
        table[id(criterion)] = operation
        # Another recorder may have wrapped it, so that it outlives this one.
        weakref.finalize(criterion, table.pop, id(criterion), None)
    return criterion
