"""Caffe tells the loss, its terms and the learning rate of a step on lines of their own, and tests before it trains on."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.runs import points

from sismo.records.types import Run
from sismo.sources import load

_HEAD = "I0102 03:04:05.678901  4242 "


def read(tmp_path: Path, *lines: str) -> Run:
    path = tmp_path / "caffe.log"
    path.write_text("".join(f"{_HEAD}{line}\n" for line in lines))
    (run,) = load(path)
    return run


@pytest.mark.parametrize("solver", ["solver.cpp:631]", "sgd_solver.cpp:105]"])
@pytest.mark.parametrize("rate_first", [True, False])
def test_the_rate_stands_before_or_behind_the_loss_of_its_step(solver: str, rate_first: bool, tmp_path: Path) -> None:
    lines: list[str] = []
    for step in range(100, 700, 100):
        rate = f"{solver} Iteration {step}, lr = {0.01 if step < 400 else 0.001}"
        both = [rate, f"solver.cpp:232] Iteration {step}, loss = {700 / step:.4f}"]
        lines += both if rate_first else both[::-1]
    run = read(tmp_path, *lines)
    assert points(run, "loss/train") == {step: round(700 / step, 4) for step in range(100, 700, 100)}
    assert points(run, "lr/0") == {step: 0.01 if step < 400 else 0.001 for step in range(100, 700, 100)}


def test_terms_keep_the_numbers_of_their_names(tmp_path: Path) -> None:
    lines: list[str] = []
    for step in (10, 20, 30):
        lines.append(f"solver.cpp:219] Iteration {step} (0.17 iter/s, 58.6s/10 iters), loss = {0.3 / step}")
        lines += [f"solver.cpp:238]     Train net output #{at}: loss_x{size} = {size / 1000 / step} (* 1 = {size / 1000 / step} loss)"
                  for at, size in enumerate((16, 2, 4))]  # fmt: skip
    run = read(tmp_path, *lines)
    assert points(run, "loss_term/x16") == {step: 0.016 / step for step in (10, 20, 30)}
    assert points(run, "loss_term/x2") == {step: 0.002 / step for step in (10, 20, 30)}


def test_what_the_test_net_puts_out_is_validation_at_its_iteration(tmp_path: Path) -> None:
    lines: list[str] = []
    for step, train, test in ((0, 4.6, 4.61), (500, 2.1, 2.4), (1000, 1.2, 2.9)):
        lines += [
            f"solver.cpp:330] Iteration {step}, Testing net (#0)",
            "solver.cpp:397]     Test net output #0: accuracy = 0.42",
            f"solver.cpp:397]     Test net output #1: loss = {test} (* 1 = {test} loss)",
            f"solver.cpp:218] Iteration {step} (6.2 iter/s), loss = {train}",
            f"solver.cpp:237]     Train net output #0: loss = {train + 0.1} (* 1 = {train + 0.1} loss)",
        ]
    run = read(tmp_path, *lines)
    assert points(run, "loss/val") == {0: 4.61, 500: 2.4, 1000: 2.9}
    assert points(run, "loss/train") == {0: 4.6, 500: 2.1, 1000: 1.2}
    assert list(run.series["metric/test accuracy"].values) == [0.42] * 3
