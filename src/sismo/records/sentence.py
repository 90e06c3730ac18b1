"""Sentences that are filled with numbers: a template in ``str.format``'s notation, with a plural of its own.

``{rows} {rows:row|rows}`` is ``1 row`` and ``2 rows``: a format with a bar is two words, and the value chooses. A word chooses by its
gender, as Spanish has it: ``{unit:el|la} {unit}`` is ``el paso`` and ``la época``.
"""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence
from typing import Any

_NOTHING = "?"
"""What stands for a number that is not there."""


class _Forgiving(string.Formatter):
    """``str.format`` that never fails: a report with one odd number in it is worth more than a traceback."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return kwargs.get(str(key))

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        try:
            return super().get_field(field_name, args, kwargs)
        except (AttributeError, IndexError, KeyError, TypeError):
            return None, field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        if "|" in format_spec:
            one, _, more = format_spec.partition("|")
            if isinstance(value, str) and value.isalpha():
                return more if value.endswith("a") else one
            return one if str(value) in ("1", "1.0") else more
        if value is None:
            return _NOTHING
        if isinstance(value, float) and not math.isfinite(value):
            return "NaN" if math.isnan(value) else ("Inf" if value > 0 else "-Inf")
        try:
            return str(format(value, format_spec))
        except (TypeError, ValueError):
            return str(value)


_FORMATTER = _Forgiving()


def fill(template: str, numbers: Mapping[str, object]) -> str:
    """The template with its numbers. Whatever they are, it is a sentence: a missing one is a question mark."""
    return _FORMATTER.vformat(template, (), numbers) if template else ""
