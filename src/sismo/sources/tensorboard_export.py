"""The CSV that TensorBoard's page gives of one chart: ``Wall time,Step,Value``, the tag in the file's name alone."""

from __future__ import annotations

import re

from sismo.sources.base import Table

_HEADER = {"Wall time", "Step", "Value"}
_TAG = re.compile(r"-tag-(?P<tag>.+?)(?: ?\(\d+\))?\.csv")


def with_tag(table: Table, name: str) -> Table:
    """The table with its values under the tag that the file ``name`` tells: ``run-a-tag-loss_train.csv`` has ``loss_train``."""
    found = _TAG.search(name)
    if found is None or set(table.columns) != _HEADER:
        return table
    tag = found["tag"]
    return table._replace(columns={tag if key == "Value" else key: column for key, column in table.columns.items()})
