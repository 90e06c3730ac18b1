"""Three runs for one signal: one that fires it, a neighbour that must not, and one too poor to tell."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import NamedTuple

import pytest
from support.runs import look

from sismo.records.types import Run
from sismo.signals.types import State


class Trio(NamedTuple):
    """``starved`` is None for a signal that a log always answers, because what it reads is the log itself."""

    fires: Run
    near: Run
    starved: Run | None


def check_all(module: ModuleType, trios: Mapping[str, Trio]) -> None:
    """Every detector of a file has its three runs."""
    assert set(trios) == {detector.id for detector in module.DETECTORS}


def each(trios: Mapping[str, Trio]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("signal", "trio"), list(trios.items()), ids=list(trios))


def check(signal: str, trio: Trio) -> None:
    """The three answers, and that what is missing is named."""
    assert look(trio.fires, signal).state is State.PRESENT
    assert look(trio.near, signal).state is State.ABSENT
    if trio.starved is not None:
        seen = look(trio.starved, signal)
        assert seen.state is State.UNKNOWN
        assert seen.missing
