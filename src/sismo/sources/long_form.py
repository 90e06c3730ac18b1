"""Tables in long form, one metric a row with its name in a column of its own, put together into one row a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sismo.sources.keys import meaning
from sismo.sources.rows import RowBuilder

_NAMES = frozenset({"key", "metric", "tag", "variable", "metric_name"})
_RUNS = frozenset({"run", "run_id", "run_uuid", "run_name"})
_VALUE = "value"


def is_long(header: Sequence[str]) -> bool:
    """Whether a header has a column of names and one of their values."""
    return _VALUE in header and any(key.lower() in _NAMES for key in header)


class LongForm:
    """The rows of one table. It may be sorted by metric or by step: a metric whose step falls back begins another pass over the steps."""

    def __init__(self, header: Sequence[str]) -> None:
        self._named = next(at for at, key in enumerate(header) if key.lower() in _NAMES)
        self._name_of = header[self._named]
        self._run = next((at for at, key in enumerate(header) if key.lower() in _RUNS), None)
        roles = {meaning(key).role: key for key in reversed(header) if key}
        self._axis = roles.get("step") or roles.get("epoch")
        self._rows: dict[str, dict[tuple[int, float], dict[str, float]]] = {}
        self._latest: dict[tuple[str, str], tuple[int, float]] = {}

    def add(self, cells: Sequence[str], found: Mapping[str, float]) -> bool:
        """Takes one row: its cells as they stand, and the numbers among them by column. Returns whether it had a name and a value."""
        name = cells[self._named] if self._named < len(cells) else ""
        if not name or _VALUE not in found:
            return False
        run = cells[self._run] if self._run is not None else ""
        rows = self._rows.setdefault(run, {})
        step = found.get(self._axis) if self._axis is not None else None
        if step is None:  # nothing says which rows belong together
            place = (0, float(len(rows)))
        else:
            turn, before = self._latest.get((run, name), (0, step))
            place = (turn + (step < before), step)
            self._latest[run, name] = place
        beside = {key: number for key, number in found.items() if key not in (_VALUE, self._name_of)}
        row = rows.setdefault(place, beside)
        row[name] = found[_VALUE]
        return True

    def pour(self, builder: RowBuilder) -> None:
        """Gives the builder the rows in order, run after run."""
        for run, rows in self._rows.items():
            if len(self._rows) > 1:
                builder.mark("run", name=run, header=True)
            for place in sorted(rows):
                builder.add(rows[place])
