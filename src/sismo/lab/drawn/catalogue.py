"""All faults, healthy families and formats, found in their folders by being there."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType
from typing import Any

from sismo.lab.drawn import faults as fault_modules
from sismo.lab.drawn import formats as format_modules
from sismo.lab.drawn import healthy as healthy_modules
from sismo.lab.drawn.types import LogFormat, Recipe


@cache
def faults() -> dict[str, Recipe]:
    """Every fault by id."""
    return {recipe.id: recipe for recipe in _each(fault_modules, "RECIPE")}


@cache
def families() -> dict[str, Recipe]:
    """Every healthy family by id."""
    return {recipe.id: recipe for recipe in _each(healthy_modules, "RECIPE")}


@cache
def formats() -> dict[str, LogFormat]:
    """Every format that a run can be written in, by id."""
    return {form.id: form for form in _each(format_modules, "FORMAT")}


def _each(package: ModuleType, offered: str) -> list[Any]:
    names = sorted(item.name for item in pkgutil.iter_modules(package.__path__))
    return [getattr(importlib.import_module(f"{package.__name__}.{name}"), offered) for name in names]
