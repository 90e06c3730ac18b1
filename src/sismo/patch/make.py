"""Makes the patch: which values of a file a prescription changes, and what it says of those that it leaves alone."""

from __future__ import annotations

import difflib
import importlib
import json
import math
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sismo.errors import UsageError
from sismo.incident.settings import follows
from sismo.incident.types import Edit, Left, NewValue, Patch, Prescription
from sismo.patch import formats
from sismo.patch.base import Kind, Pair, Spot, Value
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
    found = [_found(change, spots, planned) for change in prescription.changes]
    values = {spot: value for one in found for spot, value in one.values.items()}
    new = kind.replaced(text, values) if values else text
    for pair in (one.pair for one in found if one.pair is not None):
        new = kind.added(new, pair)
    edits = [
        Edit(".".join(spot.path), spot.raw, kind.spelled(value, spot.raw), one.change.why)
        for one in found
        for spot, value in one.values.items()
    ]
    edits += [
        Edit(".".join((*pair.beside[:-1], pair.key)), "", json.dumps(pair.value), one.change.why) for one in found if (pair := one.pair)
    ]
    mark = whole[: len(whole) - len(text)]
    return Patch(
        path=path,
        diff=_diff(path, whole, mark + new),
        edits=edits,
        left=[Left(one.change.title, one.remark) for one in found if one.remark is not None],
        changes=[one.change for one in found if one.needed],
    )


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


class _Found(NamedTuple):
    """What one change comes to in a file: the new values there, a key in addition, what a person has to know, and whether it is needed.

    ``change`` is the change with the numbers of the file.
    """

    change: NewValue
    values: Mapping[Spot, Value] = MappingProxyType({})
    pair: Pair | None = None
    remark: Text | None = None
    needed: bool = True


def _found(change: NewValue, spots: Sequence[Spot], planned: int | None) -> _Found:
    if change.setting == "precision":
        return _precision(change, spots)
    places = [spot for spot in spots if spot.key in change.keys]
    shares = [spot for spot in spots if spot.key in SETTINGS["warmup-share"].keys] if change.setting == "warmup" else []
    if len(places) == len(shares) == 1:
        # Both are in a dump of transformers' arguments, where steps go before a share: the share counts only without steps.
        in_use = not _number(_value(plain(places[0].raw))) and bool(_number(_value(plain(shares[0].raw))))
        places, shares = ([], shares) if in_use else (places, [])
    if len(places) + len(shares) != 1:
        return _Found(change, remark=_unclear([*places, *shares], change.keys))
    (spot,) = [*places, *shares]
    numbers = {"key": ".".join(spot.path), "value": spot.raw}
    here = _value(plain(spot.raw))
    if here is None or (change.rule == Rule.TIMES and not _number(here)):
        return _Found(change, remark=Text("{key} is {value}, which is no number to start from", numbers))
    new: Value | None = _share(change, planned) if shares else follows(change.rule, list(change.operands), _present(change, here), planned)
    if new is None and _present(change, here) != here:
        had = Text("the run had {had}, which needs no change, and {key} is {value}: is this its file?", {**numbers, "had": change.old})
        return _Found(change, remark=had, needed=False)
    if new is None or new == here:
        return _Found(change, remark=Text("{key} is {value} already", numbers), needed=False)
    new = int(new) if isinstance(new, float) and new.is_integer() and _whole(spot.raw) else new
    return _Found(change._replace(old=here, new=new), {spot: new}, remark=_doubt(change, spot))


def _precision(change: NewValue, spots: Sequence[Spot]) -> _Found:
    places = [spot for spot in spots if is_precision(spot, change.keys)]
    found = to_bf16(places)
    if found is None:
        return _Found(change, remark=_unclear(places, change.keys))
    values, pair = found
    changed = {spot: value for spot, value in values.items() if _value(spot.raw) != value}
    if not changed:
        return _Found(change, remark=Text("{key} is {value} already", {"key": ".".join(places[0].path), "value": places[0].raw}))
    new = (
        Text("{key} is new in the file: see that what reads it knows that key", {"key": ".".join((*pair.beside[:-1], pair.key))})
        if pair
        else None
    )
    return _Found(change, changed, pair, new)


def _present(change: NewValue, here: Value) -> Value:
    """The value that the new one follows from: that of the file, but for a bound that the run had tighter already."""
    had, stands = _number(change.old), _number(here)
    if change.rule == Rule.LOWER and had and stands:
        return min(had, stands)
    if change.rule == Rule.RAISE and had is not None and stands is not None:
        return max(had, stands)
    return here


def _share(change: NewValue, planned: int | None) -> float:
    share, least = float(change.operands[0]), float(change.operands[1])
    return float(f"{max(share, least / planned):.3g}") if planned else share


def _unclear(places: Sequence[Spot], keys: Sequence[str]) -> Text:
    if not places:
        return Text("no key for it in the file (looked for {keys}): set it by hand", {"keys": ", ".join(keys)})
    named = ", ".join(".".join(spot.path) for spot in places)
    return Text("it is not clear which of these is meant, so none was changed: {keys}", {"keys": named})


def _doubt(change: NewValue, spot: Spot) -> Text | None:
    """A remark where the file says another value than the run had: it may be the file of another run."""
    here, had = _number(_value(plain(spot.raw))), _number(change.old)
    if here is None or had is None or math.isclose(here, had, rel_tol=_SAME):
        return None
    numbers = {"key": ".".join(spot.path), "value": spot.raw, "had": f"{had:.6g}"}
    return Text("changed, but {key} is {value} and the run had {had}: is this its file?", numbers)


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
    """A unified diff that ``patch -p0`` and ``git apply -p0`` take; empty where nothing differs."""
    name = f"{path}\t" if " " in path else path  # else what reads it would end the name at the blank
    lines = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
