"""All faults and healthy families, found in their folders by being there."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from sismo.lab import faults as fault_modules
from sismo.lab import healthy as healthy_modules
from sismo.lab.types import Recipe


@cache
def faults() -> dict[str, Recipe]:
    """Every fault by id."""
    return _gather(fault_modules)


@cache
def families() -> dict[str, Recipe]:
    """Every healthy family by id."""
    return _gather(healthy_modules)


def _gather(package: ModuleType) -> dict[str, Recipe]:
    found: dict[str, Recipe] = {}
    for module in sorted(item.name for item in pkgutil.iter_modules(package.__path__)):
        recipe: Recipe = importlib.import_module(f"{package.__name__}.{module}").RECIPE
        found[recipe.id] = recipe
    return found
