"""rsl_rl, the trainer of legged_gym and Isaac Lab: ``Learning iteration 80/1500`` and then ``Value function loss: 0.02`` one a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, Parsed, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER

_HEADER = re.compile(r"^\W*Learning iteration (\d+)\s*/\s*(\d+)\W*$")
_NAMES = (
    "(?:value|value.function|surrogate|entropy|symmetry|rnd) loss"
    "|action (?:noise )?std|(?:total |extrinsic |intrinsic )?reward|episode length"
)
_MEASURED = re.compile(rf"^\s*((?:mean )?(?:{_NAMES})):\s+({NUMBER})\s*$", re.IGNORECASE)


def parse(line: str) -> Parsed | None:
    found = _HEADER.match(line)
    return Parsed([*group_cell("step", found, 1), *group_cell("total_steps", found, 2)]) if found else None


def settle(row: dict[str, float], _: str, log: TextLog) -> None:
    log.add(row, open_row=True)


def more(line: str) -> Sequence[Cell]:
    found = _MEASURED.match(line)
    return [Cell(found[1], *found.span(2), found.span(1))] if found else ()


LINE = Line("rsl-rl", "Learning iteration 80/1500 then  Value function loss: 0.0201",
            ("learning iteration", "loss:", "reward:", " std:", "episode length:"), 12,
            parse=parse, settle=settle, more=more)  # fmt: skip
