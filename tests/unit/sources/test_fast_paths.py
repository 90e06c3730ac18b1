"""What is read many lines at a time is what is read one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sismo.records.types import Run
from sismo.sources import line, numbers
from sismo.sources.bare import without_codes
from sismo.sources.base import Content, Table
from sismo.sources.cells import Cell
from sismo.sources.digits import Digits
from sismo.sources.formats import csv, text
from sismo.sources.numbers import number
from sismo.sources.objects import add_record, add_together
from sismo.sources.rows import RowBuilder
from sismo.sources.template import shape_of, template_of

VALUES = st.one_of(st.integers(-5, 5), st.floats(), st.none(), st.booleans(), st.sampled_from(["1.5", "val", 10**400, {"a": 1.0}]))
RECORDS = st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(("step", "loss", "mode"), VALUES)), min_size=1, max_size=6)
ALIKE = st.lists(st.fixed_dictionaries({"step": st.integers(), "loss": st.floats() | st.integers(-3, 3)}), min_size=1, max_size=6)


def cells(table: Table) -> dict[str, list[str]]:
    return {
        key: [repr(value) if present else "-" for value, present in zip(column.values.tolist(), column.present, strict=True)]
        for key, column in table.columns.items()
    }


class Lines(Content):
    """A log that is there as lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.label, self.path, self.plain, self._lines = "log", None, False, lines

    def data(self) -> bytes:
        return self.text().encode()

    def text(self) -> str:
        return "\n".join(self._lines)

    def lines(self, *, coded: bool = False) -> Iterator[str]:
        return (line for line in (self._lines if coded else map(without_codes, self._lines)) if line)


def seen(tables: Sequence[Table | Run]) -> list[object]:
    (table,) = tables
    assert isinstance(table, Table)
    return [table.n_rows, cells(table), repr(table.marks), repr(table.config), [(note.code, dict(note.numbers)) for note in table.notes]]


@given(records=RECORDS | ALIKE)
def test_objects_of_the_same_keys_are_added_together_as_they_are_one_by_one(records: list[dict[str, object]]) -> None:
    together, single = RowBuilder("test"), RowBuilder("test")
    took = add_together(together, records)
    for record in records:
        add_record(single, record)
    assert cells(together.table()) == (cells(single.table()) if took else {})
    assert together.n_rows == (single.n_rows if took else 0)


def test_a_missing_value_is_not_nan() -> None:
    builder = RowBuilder("test")
    assert add_together(builder, [{"step": 1.0, "loss": math.nan}, {"step": 2.0, "loss": None}])
    assert builder.table().columns["loss"].present.tolist() == [True, False]
    assert not add_together(builder, [{"loss": 1.0}, {"loss": None}])


ROW = st.lists(st.sampled_from(["1", " 2.5", "nan", "", "inf", "1_0", "1e-3", '"3"', "x", "1,5", "7%"]), min_size=1, max_size=4)


@given(rows=st.lists(ROW | st.just(["step", "loss", ""]), min_size=1, max_size=12), delimiter=st.sampled_from([",", ";", "\t"]))
def test_lines_of_a_csv_file_are_read_together_as_they_are_one_by_one(rows: list[list[str]], delimiter: str) -> None:
    lines = [delimiter.join(["step", "loss", "lr"]), *(delimiter.join(row) for row in rows)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv, "_FEW", 1)
        together = csv.Csv().read(Lines(lines))
        patch.setattr(csv, "_add_block", lambda *_: False)
        single = csv.Csv().read(Lines(lines))
    assert seen(together) == seen(single)


@settings(deadline=None)  # the first one imports pyarrow
@given(word=st.sampled_from(["1", "-2.5e-3", "nan", "-inf", "+Infinity", ".5", "5.", "1e999", "1_0", "nan(ind)", "0x1", "١"]) | st.text())
def test_many_numbers_are_what_single_ones_are(word: str) -> None:
    def read(texts: list[str]) -> str:
        try:
            return repr(float(numbers.floats(texts)[-1]))
        except ValueError:
            return "none"

    with pytest.MonkeyPatch.context() as patch:
        single = read(["1", word])
        patch.setattr(numbers, "MANY", 1)
        patch.setattr(numbers, "_WORTH", 1)
        assert read(["1", word]) == ("nan" if word == "nan(ind)" else single)


SHAPES = [
    "step=# loss=# lr=#e-05 grad_norm=#",
    "iter #: loss #, time #ms, mfu #%",
    "s:# trl:# lr:# norm:#",
    "step #k loss #",
    "[rank0]: step:  #  loss:  #  tps: #  mfu: #%",
    "\x1b[31mstep: #  \x1b[1;32mloss: #\x1b[0m\x1b[39m",
    "\x1b[1m#\x1b[0m#/9 \x1b[32m---\x1b[0m loss: #\x1b[K",
    "\x1b[0m",
    "Epoch #/9",
    "epoch #: val loss: #",
    "lr: #",
    "INFO loss=#",
    "{'loss': #, 'grad_norm': #, 'epoch': #}",
    " #%|#   | #/90 [00:10<00:10, #it/s, loss=#]",
    " #%|#   | #/90 [00:10<00:10, #it/s]",
    "Epoch #:  50%|# | #/7 [00:10<00:10, 2it/s, loss=#]",
    "Epoch #: 100%|# | #/7 [00:10<00:10, 2it/s, loss=#]",
    "  Epoch  GPU_mem  box_loss  cls_loss",
    "  Epoch  gpu_mem  obj  box",
    "  #/9  2.3G  #  #: 100%|##| #/7 [00:10<00:10, 2it/s]",
    "  1/9  2.3G  #  #:  50%|# | #/7 [00:10<00:10, 2it/s]",
    "Validation:  50%|# | #/7 [00:10<00:10, 2it/s, loss=#]",
    "#/9 [====] - 3s 7ms/step - loss: # - val_loss: #",
    "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: #, reducing to #",
    "| Step | Loss |",
    "| # | # |",
    "# step loss",
    "# #",
    "total: # - loss: tensor(#, device='cuda:0')",
    "something else (#)",
    "Traceback (most recent call last):",
    "ValueError: loss is nan",
    "",
]
NUMBERS = ["0", "7", "12", "3.5", "0.25", "-1.5", "1,234", "12,34", "1e-3", "nan", "inf", "-", "12345678", ".5", "2."]
RUNS = st.tuples(st.sampled_from(SHAPES), st.lists(st.lists(st.sampled_from(NUMBERS), min_size=5, max_size=5), min_size=1, max_size=9))


def lines_of(runs: Sequence[tuple[str, Sequence[Sequence[str]]]]) -> list[str]:
    lines: list[str] = []
    for shape, rows in runs:
        for row in rows:
            first, *rest = shape.split("#")
            lines.append(first + "".join(number + part for number, part in zip(row, rest, strict=False)))
    return lines


def check_text(lines: Sequence[str], together: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "LEARN_AFTER", 10**9)
        single = text.Text().read(Lines([without_codes(line) for line in lines]))
        patch.setattr(text, "LEARN_AFTER", 1)
        patch.setattr(text, "_TOGETHER", together)
        patch.setattr(text, "_FEWEST", max(1, together // 4))
        patch.setattr(line, "FEW", 2)
        fast = text.Text().read(Lines(lines))
    assert seen(fast) == seen(single)


@settings(deadline=None, max_examples=300)
@given(runs=st.lists(RUNS, min_size=1, max_size=8), together=st.integers(1, 40))
def test_lines_read_by_template_give_what_they_give_one_by_one(runs: Sequence[tuple[str, Sequence[Sequence[str]]]], together: int) -> None:
    check_text(lines_of(runs), together)


STANZA = st.lists(st.sampled_from(SHAPES), min_size=2, max_size=4)
OFTEN = st.lists(st.lists(st.sampled_from(NUMBERS[:8]), min_size=12, max_size=12), min_size=3, max_size=9)


@settings(deadline=None, max_examples=300)
@given(stanzas=st.lists(st.tuples(STANZA, OFTEN), min_size=1, max_size=3), together=st.sampled_from([7, 40]))
def test_stanzas_read_together_give_what_their_lines_give_one_by_one(
    stanzas: Sequence[tuple[list[str], list[list[str]]]], together: int
) -> None:
    check_text(
        [
            filled
            for shapes, often in stanzas
            for row in often
            for filled in lines_of([(shape, [row[at:]]) for at, shape in enumerate(shapes)])
        ],
        together,
    )


TOKENS = st.one_of(
    st.sampled_from(["0", "7", "-0.0", ".5", "5.", "1e5", "-2.5E-04", "1e999", "+3", "1,234", "12,345,678.25", "90071992547409931"]),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[-+]?([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})([eE][-+]?[0-9]{1,4})?", fullmatch=True),
)


@settings(max_examples=300)
@given(first=TOKENS, others=st.lists(TOKENS, max_size=6))
def test_a_template_reads_the_number_that_is_written(first: str, others: Sequence[str]) -> None:
    made = template_of(f"a: {first} é", [Cell("a", 3, 3 + len(first))])
    assert made is not None
    like = [other for other in others if shape_of(other) == shape_of(first) and other != first]
    lines = [f"a: {token} é" for token in [first, *like]]
    digits, every = Digits(lines), np.arange(len(lines))
    stand = digits.stand(every, np.array(made.into, dtype=np.int64))
    runs = np.array(made.runs).reshape(-1, 1)
    fits, table = made.read(digits, every[stand], runs)
    assert stand[0]
    assert fits[0]
    assert [repr(value) for value in table[0].tolist()] == [
        repr(number(token)) for token, there in zip(np.array([first, *like])[stand].tolist(), fits.tolist(), strict=True) if there
    ]


def test_a_bar_is_read_alike_however_far_it_is_drawn() -> None:
    drawn = [f"{'#' * (at // 10)}{at % 10}".ljust(10) for at in range(100)]
    lines = [f"{at:3d}%|{bar}| {at}/100 [00:10<00:10, 2it/s, loss={at}.5]" for at, bar in enumerate(drawn)]
    check_text(lines, 40)
    (table,) = text.Text().read(Lines(lines))
    assert isinstance(table, Table)
    assert table.columns["loss"].values.tolist() == [at + 0.5 for at in range(100)]


def test_what_is_a_number_by_how_many_digits_it_has_is_not_read_by_template() -> None:
    rows = ["| Step | Loss |", *(f"| 12,3{at} | 2.5 |" for at in range(9)), "| 1,234 | 2.5 |"]
    (table,) = text.Text().read(Lines(rows))
    assert isinstance(table, Table)
    assert table.columns["Step"].present.tolist() == [False] * 9 + [True]


def test_a_norm_below_the_last_row_that_was_read_by_template_finds_it() -> None:
    """Templates hand over their rows in turns: the last row of the log is not the last that was set."""
    rows = [f"step={step} loss=2 grad_norm={'1' if step % 5 else '-1'}" for step in range(40)]
    (table,) = text.Text().read(Lines([*rows, "step 40 loss 2", "grad_norm=5", "lr=1"]))
    assert isinstance(table, Table)
    assert table.columns["grad_norm"].values[-1] == 5
    (table,) = text.Text().read(Lines([*rows[:-1], "step=39 loss=2 grad_norm=1", "lr=1 grad_norm=7"]))
    assert isinstance(table, Table)
    assert table.columns["grad_norm"].values[-1] == 1
