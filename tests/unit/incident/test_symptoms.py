"""Numbers of a failure that a reader would stumble over: a jump with the value before it, and a loss that came back late."""

from __future__ import annotations

import numpy as np
from support.runs import falling, with_at
from support.runs import run as made

from sismo.incident.symptoms import symptoms


def test_a_jump_of_the_rate_is_told_with_the_row_before_it() -> None:
    lr = np.where(np.arange(400) >= 300, 0.06, 0.002)
    said = {str(one.name): str(one.value) for one in symptoms(made(loss=falling(), lr=lr), 300)}
    assert said["Learning rate"] == "0.06, 0.002 in the row before, 100% of its peak"
    calm = {str(one.name): str(one.value) for one in symptoms(made(loss=falling(), lr=lr), 200)}
    assert calm["Learning rate"] == "0.002, 3% of its peak"


def test_a_loss_that_is_back_only_after_the_horizon_says_when() -> None:
    late = with_at(falling(), 200, *np.full(100, 9.0))
    said = {str(one.name): str(one.value) for one in symptoms(made(loss=late), 200)}
    assert said["Loss 50 steps after"].endswith("back from step 300 on")
    never = np.where(np.arange(400) >= 200, 9.0, falling())
    assert "back from" not in {str(one.name): str(one.value) for one in symptoms(made(loss=never), 200)}["Loss 50 steps after"]
