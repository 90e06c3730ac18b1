"""Numbers as odd machines write them: MSVC's NaN, tensors, decimal commas, thousands of steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sismo.records.types import Run
from sismo.sources import load
from sismo.sources.decimal_comma import decimal_comma, with_points
from sismo.sources.numbers import number, unwrapped


def read(tmp_path: Path, lines: Sequence[str]) -> Run:
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    (run,) = load(path)
    return run


@pytest.mark.parametrize(
    "spelling",
    ["1.#QNAN", "-1.#IND", "1.#IND00", "-nan(ind)", "nan(ind)", "nan(0x7ff)", "tensor(nan)", "tensor(nan, device='cuda:0')"],
)
def test_a_loss_that_is_no_number_is_nan_however_it_is_spelt(spelling: str, tmp_path: Path) -> None:
    run = read(
        tmp_path,
        [f"step {n} loss {2.5 - n / 50:.3f} lr 1e-3" for n in range(20)] + [f"step {n} loss {spelling} lr 1e-3" for n in range(20, 40)],
    )
    loss = run.series["loss/train"]
    assert loss.steps.tolist() == list(range(40))
    assert np.isnan(loss.values[20:]).all()
    assert not np.isnan(loss.values[:20]).any()


@pytest.mark.parametrize(
    ("spelling", "value"), [("1.#INF", np.inf), ("-1.#INF", -np.inf), ("∞", np.inf), ("-∞", -np.inf), ("1.#INF00", np.inf)]
)
def test_an_infinite_loss_is_infinite_however_it_is_spelt(spelling: str, value: float, tmp_path: Path) -> None:
    run = read(tmp_path, ["step 1 loss 2.5", "step 2 loss 2.4", f"step 3 loss {spelling}"])
    assert run.series["loss/train"].values.tolist() == [2.5, 2.4, value]
    assert number(spelling) == value


def test_a_printed_tensor_is_its_number(tmp_path: Path) -> None:
    run = read(tmp_path, [f'step: {n} loss: tensor({3 - n / 100:.4f}, device="cuda:0", grad_fn=<NllLossBackward0>)' for n in range(30)])
    assert run.series["loss/train"].source_key == "loss"
    assert run.series["loss/train"].values[1] == 2.99
    assert unwrapped("loss tensor([2.5], grad_fn=<AddBackward0>) lr 1") == "loss 2.5 lr 1"
    assert unwrapped("loss np.float32(2.5), my_tensor(3)") == "loss 2.5, my_tensor(3)"


def test_a_decimal_comma_is_read_as_one_and_said(tmp_path: Path) -> None:
    lines = [
        f"2024-03-01 10:00:00,123 step {n} loss {3 - n / 200:.4f}".replace(" 3.", " 3,").replace(" 2.", " 2,") + " lr 0,001"
        for n in range(50)
    ]
    run = read(tmp_path, lines)
    assert run.series["loss/train"].values[:2].tolist() == [3.0, 2.995]
    assert run.series["lr/0"].values[0] == 0.001
    assert "decimal-comma" in [note.code for note in run.notes]


def test_thousands_commas_stay_thousands(tmp_path: Path) -> None:
    run = read(tmp_path, [f"step {n},000 loss 3,{n}25.80 lr 1e-3" for n in range(1, 9)])
    assert run.series["loss/train"].steps.tolist() == [n * 1000 for n in range(1, 9)]
    assert run.series["loss/train"].values[0] == 3125.8
    assert not decimal_comma([f"step {n},000 loss 7" for n in range(1, 9)])
    assert not decimal_comma([f"step {n}, loss 7, grad 3" for n in range(1, 9)])
    assert with_points("at 10:00:00,5 loss 1.234,5 [1,2,3]") == "at 10:00:00,5 loss 1234.5 [1,2,3]"


def test_thousands_of_steps_are_multiplied_and_thousands_of_tokens_are_not(tmp_path: Path) -> None:
    run = read(tmp_path, [f"step {n / 2:.1f}k loss {3 - n / 10:.3f}" for n in range(10)])
    assert run.series["loss/train"].steps.tolist() == [n * 500 for n in range(10)]
