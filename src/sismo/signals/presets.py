"""Thresholds as a whole: the two presets, and what a user puts in their place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from sismo.errors import UsageError
from sismo.signals import registry

NAMES = ("robust", "literal")


class Preset(NamedTuple):
    """A value for each threshold. ``name`` is that of the preset that it started from."""

    name: str
    values: Mapping[str, float]


def preset(name: str = "robust", overrides: Mapping[str, float] | None = None) -> Preset:
    """Every threshold of every detector: the preset's value, or what ``overrides`` has. Raises UsageError for an unknown name."""
    if name not in NAMES:
        raise UsageError(f"no preset is called {name!r}; there are {' and '.join(NAMES)}")
    known = registry.thresholds()
    values = {key: threshold.literal if name == "literal" else threshold.robust for key, threshold in known.items()}
    for key, value in (overrides or {}).items():
        _check(key)
        values[key] = float(value)
    return Preset(name, MappingProxyType(values))


def read_overrides(path: str | Path) -> Mapping[str, float]:
    """Thresholds from a TOML file of ``name = number`` lines, in a ``[thresholds]`` table or at the top.

    Raises UsageError for a file that cannot be read, an unknown threshold (with the names that are near), and a value that is no number.
    """
    import tomllib  # 6 ms that a run without such a file need not pay

    try:
        with Path(path).open("rb") as file:
            document = tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    table: Any = document.get("thresholds", document)
    if not isinstance(table, dict):
        raise UsageError(f"{path}: 'thresholds' must be a table of numbers")
    values: dict[str, float] = {}
    for key, value in table.items():  # pyright: ignore[reportUnknownVariableType]
        _check(str(key), f"{path}: ")  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise UsageError(f"{path}: threshold {key!r} must be a number, finite and not below 0, not {value!r}")
        values[str(key)] = float(value)  # pyright: ignore[reportUnknownArgumentType]
    return values


def _check(name: str, where: str = "") -> None:
    known = registry.thresholds()
    if name not in known:
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UsageError(f"{where}no threshold is called {name!r}{hint}")
