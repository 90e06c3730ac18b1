"""The clock of loops that take turns, and of passes that are shown the same times."""

import itertools
from pathlib import Path

import pytest
import torch
from torch import nn

from sismo.bench.loops import Transformer
from sismo.bench.overhead import measure
from sismo.bench.turns import Time
from sismo.recorder import Recorder, clock
from sismo.records.reader import read_run


def raw():
    """A clock that is one second later at every look."""
    return iter(itertools.count()).__next__


def test_it_stands_still_while_others_have_their_turn():
    source = raw()
    one, other = Time(source), Time(source)
    shown = []
    for _ in range(3):
        with one.turn():
            shown.append(clock.seconds())
        with other.turn():
            clock.seconds(), clock.seconds(), clock.seconds()
    assert shown == [1, 3, 5]


def test_after_a_turn_the_clock_is_what_it_was():
    was = clock.seconds
    with Time(raw()).turn():
        assert clock.seconds is not was
    assert clock.seconds is was


def test_a_second_pass_is_shown_what_the_first_was():
    source = raw()
    first = Time(source)
    with first.turn():
        shown = [clock.seconds() for _ in range(3)]
    for _ in range(7):
        source()
    again = Time(source, first.tape)
    with again.turn():
        assert [clock.seconds() for _ in range(3)] == shown
    again.check()


@pytest.mark.parametrize("reads", [2, 4])
def test_a_pass_that_did_other_work_is_not_compared(reads):
    source = raw()
    first = Time(source)
    with first.turn():
        for _ in range(3):
            clock.seconds()
    again = Time(source, first.tape)
    with again.turn():
        for _ in range(reads):
            clock.seconds()
    with pytest.raises(RuntimeError, match=f"{reads} times, the first one 3 times"):
        again.check()


def test_a_recorder_that_is_shown_the_same_times_does_the_same_work_in_the_same_steps(tmp_path: Path):
    def recorded(folder: Path, time: Time) -> dict[str, list[int]]:
        torch.manual_seed(0)
        model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(8)))
        optimizer = torch.optim.AdamW(model.parameters())
        with time.turn(), Recorder(model, optimizer, folder) as recorder:
            for _ in range(30):
                loss = model(torch.randn(32, 64)).square().mean()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                recorder.step(loss)
        time.check()
        return {channel: list(series.steps) for channel, series in read_run(folder).series.items()}

    source = raw()
    first = Time(lambda: source() * 1e-4)
    want = recorded(tmp_path / "a", first)
    assert {len(steps) for steps in want.values()} > {30}, "nothing was spread over the steps"
    assert recorded(tmp_path / "b", Time(lambda: 0.0, first.tape)) == want


def test_every_loop_has_a_cost_and_bare_costs_nothing_of_its_own():
    torch.manual_seed(0)
    costs = measure(Transformer(32, 1), 4, {}, raw(), passes=2)
    assert [cost.name for cost in costs] == ["bare, against the other bare one"]
    # Every step of this clock takes as long as any other.
    assert (costs[0].mean, costs[0].median, costs[0].first, costs[0].worst) == (1.0, 1.0, 1.0, 1.0)
