"""The processes of the cost benchmark: none is left, and none is waited for, however it ends."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from sismo.bench import loops, overhead
from sismo.bench.loops import Loop, Transformer, bare
from sismo.bench.overhead import measure
from sismo.errors import SismoError


def _ends_by(how: Callable[[], None]) -> Any:
    """A way of recording that ends its process in the second step."""

    def attach(loop: Loop, stack: ExitStack) -> Callable[[], Mapping[str, float]]:
        numbers = itertools.count()
        loop.record = lambda loss: how() if next(numbers) == 1 else None
        return dict

    return attach


def _killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _raising() -> None:
    raise ValueError("of its own")


@pytest.mark.parametrize(("how", "says"), [(_killed, "SIGKILL"), (_raising, "exit code 1")])
@pytest.mark.parametrize("others", [0, 2])
def test_a_loop_that_ends_early_ends_the_others(how: Callable[[], None], says: str, others: int) -> None:
    before = set(multiprocessing.active_children())
    still = {str(number): bare for number in range(others)}
    with pytest.raises(SismoError, match=says):
        measure(Transformer(32, 1), 4, {"ends": _ends_by(how), **still}, iter(itertools.count()).__next__, passes=1)
    assert set(multiprocessing.active_children()) <= before


def test_an_interruption_ends_all_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(multiprocessing.active_children())
    asked, turns = loops._Running.asked, itertools.count()

    def interrupted(one: Any) -> Any:
        if next(turns) == 3:
            raise KeyboardInterrupt
        return asked(one)

    monkeypatch.setattr(loops._Running, "asked", interrupted)
    with pytest.raises(KeyboardInterrupt):
        measure(Transformer(32, 1), 4, {"another": bare}, iter(itertools.count()).__next__, passes=1)
    assert set(multiprocessing.active_children()) <= before


def test_a_recorder_that_stopped_has_no_cost() -> None:
    def attach(loop: Loop, stack: ExitStack) -> Callable[[], Mapping[str, float]]:
        count = overhead._sismo(0.01)(loop, stack)
        recorder: Any = loop.record
        recorder.__self__._shield.fail(ValueError("no"))
        return count

    with pytest.raises(SismoError, match="exit code 1"):
        measure(Transformer(32, 1), 4, {"stopped": attach}, iter(itertools.count()).__next__, passes=1)
