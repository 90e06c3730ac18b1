"""Finds the plug-ins of a folder: every module in it that has the wanted name takes part."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path


@cache
def plugins(package: str, attribute: str) -> tuple[object, ...]:
    """The ``attribute`` of every module in a package, in order of module name."""
    root = importlib.import_module(package)
    folder = [str(Path(entry)) for entry in root.__path__]
    found: list[object] = []
    for info in pkgutil.iter_modules(folder):
        module = importlib.import_module(f"{package}.{info.name}")
        if hasattr(module, attribute):
            found.append(getattr(module, attribute))
    return tuple(found)
