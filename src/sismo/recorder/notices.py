"""What a recorder has to say about the loop that it is in: once, and in the log."""

from __future__ import annotations

from sismo.recorder.scene import Scene
from sismo.recorder.shield import log

_IDLE = 3
"""Steps without a step of the optimizer, in a row or among the first ones, after which that is said."""


class Notices:
    """Counts the steps in which no optimizer was called, which are none."""

    def __init__(self) -> None:
        self._steps = self._idle = self._idle_ever = 0
        self._said = False

    def step(self, *, acted: bool) -> None:
        """A step is over, in which an optimizer ``acted`` or not."""
        self._steps += 1
        if acted:
            self._idle = 0
            return
        self._idle, self._idle_ever = self._idle + 1, self._idle_ever + 1
        if not self._said and (self._idle >= _IDLE or (self._idle_ever >= _IDLE and self._steps <= 4 * _IDLE)):
            self._said = True
            log.warning(
                "the optimizer took no step in %d calls of rec.step: call it once per optimizer step (not per micro-batch), and make a new "
                "Recorder where the optimizer is made anew; of an optimizer whose step is compiled nothing is seen",
                _IDLE,
            )


def say_what_is_off(scene: Scene, *, seen: bool) -> None:
    """What is not recorded, after the first step, in which the model was ``seen`` at work or not."""
    if scene.cut:
        log.warning(
            "FSDP1 or DeepSpeed has the weights: gradients, weights and spectra are not recorded; they are with fully_shard (FSDP2)"
        )
    off = "activations, units, attention and batches are not recorded"
    if scene.compiled:
        log.warning("the model is compiled: %s", off)
    elif not seen and not scene.root.training:
        log.warning("the model is in evaluation mode in a training step: call model.train(); until then %s", off)
    elif not seen:
        log.warning("no call of the model was seen in the first step (is it compiled, or the work of torch.func?): %s", off)
