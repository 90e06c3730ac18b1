"""Makes the patch: which values of a file a prescription changes, and what it says of those that it leaves alone."""

from __future__ import annotations

import difflib
import importlib
import math
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from sismo.errors import UsageError
from sismo.incident.settings import follows
from sismo.incident.types import Edit, Left, NewValue, Patch, Prescription
from sismo.patch import formats
from sismo.patch.base import Kind, Spot, Value
from sismo.patch.precision import is_precision, plain, to_bf16
from sismo.postmortem import Text
from sismo.tree.remedy import SETTINGS, Rule

_BOM = "\ufeff"
_SAME = 0.01
"""Share by which the value of a file may differ from that of the run and still be the same one, printed with fewer digits."""


def patch(path: str, prescription: Prescription, planned: int | None = None) -> Patch:
    """The patch of a file. ``planned`` is how many steps the run was to have.

    Raises ``UsageError`` where the file cannot be read as one of its kind.
    """
    kind = _kind(path)
    try:
        with open(path, encoding="utf-8", newline="") as file:
            whole = file.read()
        text = whole.removeprefix(_BOM)
        spots = kind.spots(text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # also what is not UTF-8
        raise UsageError(f"{path}: it cannot be read as {kind.suffixes[0][1:].upper()} ({error})") from error
    values: dict[Spot, Value] = {}
    edits: list[Edit] = []
    left: list[Left] = []
    for change in prescription.changes:
        found = _found(change, spots, planned)
        if isinstance(found, Text):
            left.append(Left(change.title, found))
            continue
        values |= found
        edits += [Edit(".".join(spot.path), spot.raw, kind.spelled(value, spot.raw), change.why) for spot, value in found.items()]
        left += _doubts(change, found)
    mark = whole[: len(whole) - len(text)]
    return Patch(path, _diff(path, whole, mark + kind.replaced(text, values)) if values else "", edits, left)


@cache
def kinds() -> Mapping[str, Kind]:
    """Every kind of file by the ending of its name."""
    modules = [importlib.import_module(f"{formats.__name__}.{module.name}") for module in pkgutil.iter_modules(formats.__path__)]
    return {suffix: module.KIND for module in modules for suffix in module.KIND.suffixes}


def _kind(path: str) -> Kind:
    suffix = Path(path).suffix.lower()
    if suffix not in kinds():
        raise UsageError(f"{path}: a configuration file ends in {', '.join(sorted(kinds()))}")
    return kinds()[suffix]


def _found(change: NewValue, spots: Sequence[Spot], planned: int | None) -> Mapping[Spot, Value] | Text:
    """The new values, or why there are none."""
    if change.setting == "precision":
        places = [spot for spot in spots if is_precision(spot, change.keys)]
        found = to_bf16(places)
        if found is None:
            return _unclear(places, change.keys)
        changed = {spot: value for spot, value in found.items() if _value(spot.raw) != value}
        return changed or Text("{key} is {value} already", {"key": ".".join(places[0].path), "value": places[0].raw})
    places = [spot for spot in spots if spot.key in change.keys]
    shares = [spot for spot in spots if spot.key in SETTINGS["warmup-share"].keys] if change.setting == "warmup" else []
    if len(places) == len(shares) == 1:
        # Both are in a dump of transformers' arguments, where steps go before a share: the share counts only without steps.
        in_use = not _number(_value(plain(places[0].raw))) and bool(_number(_value(plain(shares[0].raw))))
        places, shares = ([], shares) if in_use else (places, [])
    if len(places) + len(shares) != 1:
        return _unclear([*places, *shares], change.keys)
    (spot,) = [*places, *shares]
    old = _value(plain(spot.raw))
    if old is None or (change.rule == Rule.TIMES and not _number(old)):
        return Text("{key} is {value}, which is no number to start from", {"key": ".".join(spot.path), "value": spot.raw})
    if shares:
        new: Value | None = _share(change, planned)
        new = None if new == old else new
    else:
        new = follows(change.rule, list(change.operands), old, planned)
    if new is None:
        return Text("{key} is {value} already", {"key": ".".join(spot.path), "value": spot.raw})
    return {spot: int(new) if isinstance(new, float) and new.is_integer() and _whole(spot.raw) else new}


def _share(change: NewValue, planned: int | None) -> float:
    share, least = float(change.operands[0]), float(change.operands[1])
    return float(f"{max(share, least / planned):.3g}") if planned else share


def _unclear(places: Sequence[Spot], keys: Sequence[str]) -> Text:
    if not places:
        return Text("no key for it in the file (looked for {keys}): set it by hand", {"keys": ", ".join(keys)})
    named = ", ".join(".".join(spot.path) for spot in places)
    return Text("it is not clear which of these is meant, so none was changed: {keys}", {"keys": named})


def _doubts(change: NewValue, found: Mapping[Spot, Value]) -> list[Left]:
    """A remark where the file says another value than the run had: it may be the file of another run."""
    for spot in found:
        here, had = _number(_value(plain(spot.raw))), _number(change.old)
        if here is not None and had is not None and not math.isclose(here, had, rel_tol=_SAME):
            numbers = {"key": ".".join(spot.path), "value": spot.raw, "had": f"{had:.6g}"}
            return [Left(change.title, Text("changed, but {key} is {value} and the run had {had}: is this its file?", numbers))]
    return []


def _number(value: Value | None) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _value(text: str) -> Value | None:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.lower() in ("null", "none", "~", ""):
        return 0.0
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def _whole(raw: str) -> bool:
    return plain(raw).lstrip("+-").isdigit()


def _diff(path: str, old: str, new: str) -> str:
    """A unified diff that ``patch -p0`` and ``git apply -p0`` take."""
    name = f"{path}\t" if " " in path else path  # else what reads it would end the name at the blank
    lines = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
