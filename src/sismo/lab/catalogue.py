"""All tasks, faults and healthy kinds, found in their folders by being there."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType
from typing import Any

from sismo.lab import faults as fault_modules
from sismo.lab import healthy as healthy_modules
from sismo.lab import tasks as task_modules
from sismo.lab.types import Fault, Healthy, Task


@cache
def tasks() -> dict[str, Task]:
    """Every task by id."""
    return {task.id: task for task in _each(task_modules, "TASK")}


@cache
def faults() -> dict[str, Fault]:
    """Every fault by id."""
    return {fault.id: fault for fault in _each(fault_modules, "FAULT")}


@cache
def kinds() -> dict[str, Healthy]:
    """Every healthy kind by id."""
    return {kind.id: kind for kind in _each(healthy_modules, "HEALTHY")}


def _each(package: ModuleType, offered: str) -> list[Any]:
    names = sorted(item.name for item in pkgutil.iter_modules(package.__path__))
    return [getattr(importlib.import_module(f"{package.__name__}.{name}"), offered) for name in names]
