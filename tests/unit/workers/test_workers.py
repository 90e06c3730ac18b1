"""Workers on this machine and on a real Ray cluster: the same results, and a worker that dies costs only its own task."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sismo.errors import MissingExtra
from sismo.workers import Done, hire


def square(number: int) -> int:
    """A task."""
    return number * number


def square_or_die(number: int) -> int:
    """A task that takes its worker with it when it is 7."""
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def fail(number: int) -> int:
    """A task with a bug."""
    raise ZeroDivisionError(number)


def results(done: list[Done[int, int]]) -> dict[int, int | None]:
    return {one.task: one.result for one in done}


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_task_is_done_once(jobs: int) -> None:
    done = list(hire(jobs).map(square, range(20)))
    assert len(done) == 20
    assert results(done) == {number: number * number for number in range(20)}


def test_a_lost_process_costs_only_its_task() -> None:
    done = list(hire(2).map(square_or_die, range(12)))
    assert len(done) == 12
    assert results(done) == {number: None if number == 7 else number * number for number in range(12)}
    assert [one.lost != "" for one in done if one.task == 7] == [True]


def test_what_a_task_raises_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        list(hire(1).map(fail, [1]))


def test_no_tasks_need_no_cluster() -> None:
    pytest.importorskip("ray")
    assert list(hire(1, "nowhere:1").map(square, [])) == []


def test_ray_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "sismo.workers.ray_cluster", raising=False)
    with pytest.raises(MissingExtra, match=r"sismo\[ray\]"):
        hire(1, "local")


ON_RAY = """
import sys
sys.path.insert(0, sys.argv[1])
import test_workers as here
from sismo.workers import hire
done = list(hire(2, "local").map(here.square_or_die, range(12)))
assert len(done) == 12, done
assert here.results(done) == {n: None if n == 7 else n * n for n in range(12)}, done
print("all is well")
"""


@pytest.mark.slow
def test_ray_does_the_same() -> None:
    pytest.importorskip("ray")
    folder = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, *sys.path])}
    done = subprocess.run([sys.executable, "-c", ON_RAY, folder], capture_output=True, text=True, env=environment, check=False, timeout=240)
    assert "all is well" in done.stdout, done.stderr[-2000:]
