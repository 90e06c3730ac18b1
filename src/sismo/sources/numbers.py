"""Numbers as logs write them: ``1,234.5``, ``3.2E-04``, ``12%``, ``5ms``, ``-nan(ind)``, ``tensor(2.3, device='cuda:0')``.

``None`` means that there is no number, which is never the same as NaN.
"""

from __future__ import annotations

import re

_NAN = float("nan")
_INF = float("inf")

# What C, C++, JavaScript, Fortran and MSVC print where Python prints nan and inf.
_NAMED = {
    "nan": _NAN, "+nan": _NAN, "-nan": _NAN, "1.#qnan": _NAN, "1.#snan": _NAN, "1.#ind": _NAN,
    "-1.#ind": _NAN, "-1.#qnan": _NAN, "-1.#snan": _NAN,
    "inf": _INF, "+inf": _INF, "-inf": -_INF, "infinity": _INF, "+infinity": _INF, "-infinity": -_INF,
    "1.#inf": _INF, "-1.#inf": -_INF, "∞": _INF, "+∞": _INF, "-∞": -_INF,
}  # fmt: skip

NUMBER = (
    r"[-+]?(?:1\.#(?:QNAN|SNAN|IND|INF)\d*|∞|\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?"
    r"|(?:[nN][aA][nN]|[iI]nf(?:inity)?|INF|INFINITY)\b(?:\(\w+\))?)"
)
"""A number inside a line, as a regular expression without groups; thousands commas are inside, units are not."""

_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_WITH_UNIT = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(?:%|°|[a-zA-Zµ/]{1,10})")
_WRAPPED = re.compile(r"(?:tensor|np\.float\d+|numpy\.float\d+|array|float)\(\s*([^,()\[\]\s]+)[^()]*\)")
_PAYLOAD = re.compile(r"[-+]?nan\(\w{0,16}\)")
_INSIDE = re.compile(
    rf"(?<![\w.])(?:torch\.)?(?:[tT]ensor|(?:np|numpy)\.float\d+|array|Array)"
    rf"\(\s*\[?\s*({NUMBER})\s*\]?\s*(?:,[^()]*(?:\([^()]*\)[^()]*)*)?\)"
)


def number(text: str) -> float | None:
    """The number that a cell or a word stands for, or None where it is not one."""
    try:
        value = float(text)
    except ValueError:
        return _unusual(text.strip())
    # float() takes 1_000, which no log writes for a number; it is an identifier then.
    return None if "_" in text else value


def unwrapped(line: str) -> str:
    """The line with ``tensor(2.3, device='cuda:0', grad_fn=<…>)`` and its kin written as the number alone."""
    return _INSIDE.sub(r"\1", line) if "(" in line and ("ensor(" in line or "float" in line or "rray(" in line) else line


def _unusual(text: str) -> float | None:
    if not text or len(text) > 64:
        return None
    lower = text.lower()
    named = _NAMED.get(lower.rstrip("0") if "#" in lower else lower)
    if named is not None:
        return named
    if _PAYLOAD.fullmatch(lower):
        return _NAN
    if _THOUSANDS.fullmatch(text):
        return float(text.replace(",", ""))
    found = _WITH_UNIT.fullmatch(text)
    if found:
        return float(found[1])
    found = _WRAPPED.fullmatch(text)
    return number(found[1]) if found else None


def value_of(value: object) -> float | None:
    """The number in a parsed JSON or Python value. None for null, booleans, containers and words."""
    if isinstance(value, float):
        return value
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            return None
    return number(value) if isinstance(value, str) else None


def decimals(values: list[float]) -> int | None:
    """How many decimals all of these finite values share when it is 2 or fewer; None when they are printed finer."""
    for places in range(3):
        if all(round(value, places) == value for value in values):
            return places
    return None
