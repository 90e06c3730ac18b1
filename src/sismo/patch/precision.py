"""Precision is spelled in two ways: as a word (``dtype: float16``), or as a pair of switches (``fp16: true``, ``bf16: false``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sismo.patch.base import Pair, Spot, Value

_TO_BF16 = {
    "fp16": "bf16", "float16": "bfloat16", "half": "bfloat16", "16": "bf16-mixed", "16-mixed": "bf16-mixed", "16-true": "bf16-true",
    "torch.float16": "torch.bfloat16", "fp16-mixed": "bf16-mixed",
}  # fmt: skip
_SWITCHES = ("fp16", "bf16")


def to_bf16(spots: Sequence[Spot]) -> tuple[Mapping[Spot, Value], Pair | None] | None:
    """The new values of the spots that set the precision, and a switch to add; None where it is not clear which they are."""
    switches = {name: [spot for spot in spots if _switch(spot) == name] for name in _SWITCHES}
    words = [spot for spot in spots if not _switch(spot) and plain(spot.raw).lower() in _TO_BF16]
    if words and not any(switches.values()):
        return ({words[0]: _TO_BF16[plain(words[0].raw).lower()]}, None) if len(words) == 1 else None
    if words or len(switches["fp16"]) != 1 or len(switches["bf16"]) > 1:
        return None
    on = switches["fp16"][0]
    if switches["bf16"]:
        return {on: False, switches["bf16"][0]: True}, None
    if plain(on.raw).lower() != "true":
        return None
    inner = on.key == "enabled"
    return {on: False}, Pair(on.path[:-1] if inner else on.path, "bf16", {"enabled": True} if inner else True)


def is_precision(spot: Spot, keys: Sequence[str]) -> bool:
    """Whether a spot sets the precision, in either way; DeepSpeed's switches stand one level down, under ``enabled``."""
    return spot.key in keys or bool(_switch(spot))


def _switch(spot: Spot) -> str:
    if plain(spot.raw).lower() not in ("true", "false"):
        return ""
    if spot.key == "enabled" and len(spot.path) > 1:
        parent = spot.path[-2].lower()
        return parent if parent in _SWITCHES else ""
    return spot.key if spot.key in _SWITCHES else ""


def plain(raw: str) -> str:
    """The text of a value without its quotes."""
    return raw[1:-1] if len(raw) > 1 and raw[0] == raw[-1] and raw[0] in "'\"" else raw
