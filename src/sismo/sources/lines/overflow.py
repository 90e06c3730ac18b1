"""Loss-scale overflows: DeepSpeed (``OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 64, reducing to 32``), Apex and fairseq.

OpenAI's diffusion code has the logarithm: ``Found NaN, decreased lg_loss_scale to 19.3``.
"""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_DEEPSPEED = re.compile(
    rf"overflow.*?(?:rank (\d+) )?skipping step.*?attempted loss scale:\s*({NUMBER}),\s*(?:reducing to\s*({NUMBER})|but hysteresis)",
    re.IGNORECASE,
)
_SETTING = re.compile(rf"(?:overflow.*?)?(?:setting|reducing) loss scale to:?\s*({NUMBER})", re.IGNORECASE)
_LOGARITHM = re.compile(rf"found nan, decreased lg_loss_scale to\s*({NUMBER})", re.IGNORECASE)
_LARGEST = 127.0


def read(line: str, log: TextLog) -> bool:
    found = _DEEPSPEED.search(line)
    if found:
        rank = found[1] or "0"
        # Every rank prints the same overflow: only the first rank seen is counted.
        if log.memo.setdefault("overflow-rank", rank) != rank:
            return True
        # With hysteresis the first overflows leave the scale as it is.
        after = number(found[3] or found[2])
        log.overflow(scale_before=number(found[2]), scale_after=after)
        log.memo["overflow-scale"] = after
        return True
    found = _SETTING.search(line)
    if found and "overflow" in line.lower():
        after = number(found[1])
        log.overflow(scale_after=after, **_before(after, log.memo.get("overflow-scale")))
        log.memo["overflow-scale"] = after
        return True
    found = _LOGARITHM.search(line)
    exponent = number(found[1]) if found else None
    if exponent is not None and abs(exponent) <= _LARGEST:
        log.overflow(scale_after=2.0**exponent)
        return True
    return False


def _before(after: float | None, told: object) -> dict[str, float]:
    """The scale that overflowed: what was told last, or twice the new one where it must have doubled since. 1 may be a floor."""
    if isinstance(told, float) and (after is None or told > after or after <= 1.0):
        return {"scale_before": told}
    return {"scale_before": 2.0 * after} if after is not None and after > 1.0 else {}


LINE = Line(
    "overflow",
    "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 64, reducing to 32",
    ("overflow", "lg_loss_scale to"),
    2,
    read,
    marker=True,
)
