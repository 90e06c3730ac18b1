"""What sismo's own code runs in leaves grad mode and autocast as they were, in every thread and at every interruption."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
import torch

from sismo.recorder import shield as module
from sismo.recorder.shield import Shield


def _modes() -> tuple[bool, bool]:
    return torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("grad", [False, True])
def test_modes_are_off_inside_and_as_they_were_after(grad: bool, autocast: bool, error: type[BaseException] | None) -> None:
    shield = Shield(lambda error: None)
    with torch.set_grad_enabled(grad), torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        try:
            with shield, shield:
                assert _modes() == (False, False)
                if error is not None:
                    raise error
        except KeyboardInterrupt:
            pass
        assert _modes() == (grad, autocast)
    assert shield.alive == (error is not ValueError)


@pytest.mark.parametrize("first", ["trains", "evaluates"])
def test_threads_that_leave_in_another_order_than_they_came_keep_their_own_modes(first: str) -> None:
    shield = Shield(lambda error: None)
    inside, may_leave = threading.Event(), threading.Event()
    found: list[bool] = []

    def other() -> None:
        with torch.set_grad_enabled(first == "evaluates"):
            with shield:
                inside.set()
                may_leave.wait(10)
            found.append(torch.is_grad_enabled())

    thread = threading.Thread(target=other)
    with torch.set_grad_enabled(first == "trains"):
        with shield:
            thread.start()
            inside.wait(10)
        assert torch.is_grad_enabled() == (first == "trains")
        may_leave.set()
        thread.join()
    assert found == [first == "evaluates"]


def test_an_interruption_at_any_line_of_the_way_in_leaves_the_modes_as_they_were() -> None:
    shield = Shield(lambda error: None)
    enter = Shield.__enter__.__code__

    def interrupted(at: int) -> bool:
        """Whether there is such a line."""
        lines = 0

        def trace(frame: Any, event: str, argument: object) -> Any:
            nonlocal lines
            if frame.f_code is not enter:
                return None
            lines += event == "line"
            if event == "line" and lines == at:
                raise KeyboardInterrupt
            return trace

        was = sys.gettrace()
        try:
            sys.settrace(trace)
            with shield:
                sys.settrace(was)
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(was)
        return False

    with torch.autocast("cpu", torch.bfloat16):
        at = 1
        while interrupted(at):
            assert _modes() == (True, True), f"line {at} of __enter__ in {module.__file__}"
            at += 1
        assert at > 5
        with shield:
            assert _modes() == (False, False)
        assert _modes() == (True, True)
