"""A resume that forgets the optimizer's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sismo.lab.types import Fault, Loop, Setup


def _changed(setup: Setup, step: int) -> Setup:
    def restore(loop: Loop, checkpoint: Mapping[str, Any]) -> int:
        empty = loop.optimizer.state_dict()
        following = setup.restore(loop, checkpoint)
        loop.optimizer.load_state_dict(empty)
        return following

    return replace(setup, resume_at=step, restore=restore)


FAULT = Fault(
    id="resume-without-optimizer",
    title="After a resume the optimizer starts with an empty state.",
    truth=("resume-lost-optimizer",),
    change=_changed,
    onset=0.5,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="grad-norm",
    sign="the loss jumps at the resume and takes a while to come back",
    probe="replay",
)
