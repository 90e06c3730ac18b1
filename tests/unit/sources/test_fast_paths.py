"""What is read many lines at a time is what is read one by one."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from sismo.sources.base import Table
from sismo.sources.objects import add_alike, add_record
from sismo.sources.rows import RowBuilder

VALUES = st.one_of(st.integers(-5, 5), st.floats(), st.none(), st.booleans(), st.sampled_from(["1.5", "val", 10**400]))
RECORDS = st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(("step", "loss", "mode"), VALUES)), min_size=1, max_size=6)
ALIKE = st.lists(st.fixed_dictionaries({"step": st.integers(), "loss": st.floats() | st.integers(-3, 3)}), min_size=1, max_size=6)


def cells(table: Table) -> dict[str, list[str]]:
    return {
        key: [repr(value) if present else "-" for value, present in zip(column.values.tolist(), column.present, strict=True)]
        for key, column in table.columns.items()
    }


@given(records=RECORDS | ALIKE)
def test_objects_of_the_same_keys_are_added_together_as_they_are_one_by_one(records: list[dict[str, object]]) -> None:
    together, single = RowBuilder("test"), RowBuilder("test")
    took = add_alike(together, records)
    for record in records:
        add_record(single, record)
    plain = all(type(value) in (int, float) and abs(value) != 10**400 for record in records for value in record.values())
    assert took == (plain and all(record.keys() == records[0].keys() and record for record in records))
    assert cells(together.table()) == (cells(single.table()) if took else {})


def test_a_missing_value_is_not_nan() -> None:
    builder = RowBuilder("test")
    assert not add_alike(builder, [{"loss": math.nan}, {"loss": None}])
    assert builder.n_rows == 0
