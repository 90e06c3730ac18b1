"""Numbers as logs write them: ``1,234.5``, ``3.2E-04``, ``12%``, ``5ms``, ``-nan(ind)``, ``tensor(2.3, device='cuda:0')``.

``None`` means that there is no number, which is never the same as NaN.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sismo.records.arrow import floats as floats_of

MANY = 100_000
"""Numbers after which Arrow, which reads them five times as fast, pays for its import."""

_WORTH = 500
"""Numbers at a time that are worth a call of it."""
_NAN = float("nan")
_INF = float("inf")

# What C, C++, JavaScript, Fortran, MSVC, tqdm (nan.0) and PaddleOCR (which fills numbers up to eight letters) print where Python
# prints nan and inf.
_NAMED = {
    "nan": _NAN, "+nan": _NAN, "-nan": _NAN, "1.#qnan": _NAN, "1.#snan": _NAN, "1.#ind": _NAN,
    "-1.#ind": _NAN, "-1.#qnan": _NAN, "-1.#snan": _NAN, "nanxxx": _NAN, "infxxx": _INF, "nan.0": _NAN, "inf.0": _INF,
    "inf": _INF, "+inf": _INF, "-inf": -_INF, "infinity": _INF, "+infinity": _INF, "-infinity": -_INF,
    "1.#inf": _INF, "-1.#inf": -_INF, "∞": _INF, "+∞": _INF, "-∞": -_INF,
}  # fmt: skip

NUMBER = (
    r"[-+]?(?:1\.#(?:QNAN|SNAN|IND|INF)\d*|∞|\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?"
    r"|(?:[nN][aA][nN]|[iI]nf(?:inity)?|INF|INFINITY)(?:xxx|\.0)?\b(?:\(\w+\))?)"
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


class _Floats:
    """What ``float`` makes of each of some texts; by Arrow from the time on that there were many of them."""

    def __init__(self) -> None:
        self._seen = 0

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The numbers. Raises ValueError where one of the texts is none to ``float``."""
        joined = "\n".join(texts)
        if "_" in joined:  # float() takes 1_000, which no log writes for a number
            raise ValueError("a name, and no number")
        self._seen += len(texts)
        found = _by_arrow(joined, len(texts)) if self._seen >= MANY and len(texts) >= _WORTH else None
        return np.array([*map(float, texts)], dtype=np.float64) if found is None else found


floats = _Floats()


def _by_arrow(joined: str, count: int) -> NDArray[np.float64] | None:
    """The numbers of so many lines by Arrow; None for what it refuses. It takes what ``float`` takes, and ``nan(ind)``."""
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        return None
    data = joined.encode()
    try:
        # A column of its own CSV reader: a cast imports pyarrow.compute, and pyarrow.array() pandas, which take longer than all this.
        table = csv.read_csv(
            pyarrow.BufferReader(data),
            read_options=csv.ReadOptions(use_threads=False, column_names=["number"], block_size=len(data) + 1),
            parse_options=csv.ParseOptions(quote_char=False),
            convert_options=csv.ConvertOptions(column_types={"number": pyarrow.float64()}, null_values=[]),
        )
    except pyarrow.ArrowInvalid:
        return None
    found = floats_of(table.column("number"))[0]
    return found if found.size == count else None  # an empty text is no number


def unwrapped(line: str) -> str:
    """The line with ``tensor(2.3, device='cuda:0', grad_fn=<…>)`` and its kin written as the number alone."""
    return _INSIDE.sub(r"\1", line) if may_wrap(line) else line


def may_wrap(text: str) -> bool:
    """Whether a text may have numbers for ``unwrapped``."""
    return "(" in text and ("ensor(" in text or "float" in text or "rray(" in text)


def _unusual(text: str) -> float | None:
    if not text or len(text) > 64:
        return None
    lower = text.lower()
    named = _NAMED.get(lower.rstrip("0") if "#" in lower else lower)
    if named is not None:
        return named
    if ":" in text or text.isalpha():  # a time, a word
        return None
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
