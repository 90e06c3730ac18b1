"""Generators of random numbers that a function or a module holds itself, beside those that every library shares."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

Restore = Callable[[], object]
_DEEP = 3
"""How far in a function is looked for one: in what it calls, and what that calls."""


def held(functions: Iterable[Any], model: nn.Module) -> list[Restore]:
    """For every generator that is found, what puts it back to where it is now."""
    seen: set[int] = set()
    found = [one for function in functions for one in _reached(function, _DEEP, seen)]
    found += [value for module in model.modules() for value in vars(module).values()]
    return [restore for value in {id(one): one for one in found}.values() if (restore := _restore(value)) is not None]


def _restore(value: Any) -> Restore | None:
    if isinstance(value, torch.Generator):
        return functools.partial(value.set_state, value.get_state())
    if isinstance(value, np.random.Generator):
        bits, state = value.bit_generator, value.bit_generator.state
        return lambda: setattr(bits, "state", state)
    if isinstance(value, np.random.RandomState):
        return functools.partial(value.set_state, value.get_state())
    if type(value) is random.Random:
        return functools.partial(value.setstate, value.getstate())
    return None


def _reached(function: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    """What a function can get at by name: its closure, its defaults, the globals that it names, and the object that it is of."""
    if id(function) in seen or depth < 0:
        return
    seen.add(id(function))
    if isinstance(function, functools.partial):
        values = [function.func, *function.args, *function.keywords.values()]
    else:
        owner = getattr(function, "__self__", None)
        plain = getattr(function, "__func__", function)
        code = getattr(plain, "__code__", None)
        values = [] if code is None else [plain.__globals__[name] for name in code.co_names if name in plain.__globals__]
        values += [*(getattr(plain, "__defaults__", None) or ()), *(getattr(plain, "__kwdefaults__", None) or {}).values()]
        values += [cell.cell_contents for cell in getattr(plain, "__closure__", None) or () if _full(cell)]
        values.append(owner)
        holder = owner if owner is not None else function if code is None else None
        values += list(getattr(holder, "__dict__", {}).values()) if not isinstance(holder, (type, nn.Module)) else []
    for value in values:
        yield value
        if callable(value) and not isinstance(value, (type, nn.Module)):
            yield from _reached(value, depth - 1, seen)


def _full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
