"""The CSV that the W&B pages export: a column ``RUN - KEY`` per run and chart, each with its ``__MIN`` and ``__MAX`` beside it."""

from __future__ import annotations

from collections.abc import Sequence

from sismo.sources.base import Column, Table

_BOUNDS = ("__MIN", "__MAX")
_JOIN = " - "


def is_export(header: Sequence[str]) -> bool:
    """Whether a header has a column with its bounds beside it."""
    names = set(header)
    return any(all(f"{name}{bound}" in names for bound in _BOUNDS) for name in header)


def by_run(table: Table) -> list[Table]:
    """One table per run, under the keys that the run itself used; the bounds repeat the value, except where the page averaged runs."""
    shared: dict[str, Column] = {}
    runs: dict[str, dict[str, Column]] = {}
    for name, column in table.columns.items():
        run, joined, key = name.rpartition(_JOIN)
        if not joined:
            shared[name] = column
        elif not name.endswith(_BOUNDS):
            runs.setdefault(run, {})[key] = column
    several = len(runs) > 1
    return [
        table._replace(columns={**shared, **columns}, config={**table.config, **({"log_file": run} if several else {})})
        for run, columns in runs.items()
    ] or [table]
