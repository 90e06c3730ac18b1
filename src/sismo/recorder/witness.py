"""Keeps the last batches, and takes the first lost step apart while it can still be seen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sismo.probes.nan_origin import nan_origin
from sismo.probes.step import LossFn
from sismo.probes.tensors import finite, mapped, tensors
from sismo.recorder.checkpoints import save
from sismo.recorder.local import local
from sismo.recorder.scene import Scene
from sismo.recorder.shield import Shield, log
from sismo.recorder.watch import EVERY
from sismo.records.probing import ProbeReport
from sismo.records.schema import BATCHES
from sismo.records.types import Note

_KEPT = 4
"""Batches that are written down: the suspected one, and some to compare with."""
_HELD = EVERY + 2 * _KEPT
"""Batches that are held: a spike is looked for every few rows, and a row lands some steps after its batch."""
_HOST, _DEVICE = 2**30, 2**26
"""Bytes that batches beyond the last few may take in the memory of the host, and in that of an accelerator, which training may need."""
_Happened = Callable[[int, str, dict[str, object]], None]


class Witness:
    """Sees the batches of a loop; with a loss function, asks the NaN probe once where a lost step was lost.

    Looking whether gradients are finite makes each step wait for its device, so that it is done only when a loss function was given.
    """

    def __init__(self, scene: Scene, shield: Shield, folder: Path, loss_fn: LossFn | None, happened: _Happened) -> None:
        self._scene, self._shield, self._folder, self._loss_fn, self._happened = scene, shield, folder, loss_fn, happened
        self._batches: deque[tuple[int, Any]] = deque(maxlen=_HELD)
        self._asked = loss_fn is None
        self.verdict = ""

    def batches(self, loader: Iterable[Any], step: Callable[[], int]) -> Iterator[Any]:
        """The batches of a loader; the last ones are held."""
        for batch in loader:
            self._batches.append((step(), batch))
            while len(self._batches) > _KEPT and self._too_large():
                self._batches.popleft()
            yield batch

    def _too_large(self) -> bool:
        held = [tensor for _, batch in self._batches for tensor in tensors(batch)]
        host = sum(tensor.nbytes for tensor in held if tensor.device.type == "cpu")
        return host > _HOST or sum(tensor.nbytes for tensor in held) - host > _DEVICE

    def save(self, step: int) -> None:
        """Writes the batch of a step and some before it into the run; the last ones where that one is no longer held."""
        held = list(self._batches)
        until = [(at, batch) for at, batch in held if at <= step] or held
        for at, batch in until[-_KEPT:]:
            path = self._folder / BATCHES / f"step-{at:09d}.pt"
            if not path.exists():
                save(path, mapped(batch, lambda tensor: tensor.detach().cpu()))

    def before_update(self, step: int) -> None:
        """The gradients are final and the weights are old: the last moment at which a lost step can be repeated."""
        if not self._asked and not _all_finite([weight.tensor.grad for weight in self._scene.weights if weight.tensor.grad is not None]):
            self._ask(step)

    def closed(self, step: int, loss: object) -> None:
        """A step is over: a loss may be lost although its gradients are not, as a mean over nothing is."""
        if not self._asked and isinstance(loss, Tensor) and not finite(loss):
            self._ask(step)

    def _ask(self, step: int) -> None:
        self._asked = True
        if not self._batches or self._loss_fn is None:
            log.warning("the step is not finite, but its batch is not known: loop over rec.batches(loader)")
            return
        try:
            with self._shield.asleep(), torch.enable_grad():
                found = nan_origin(self._scene.root, self._batches[-1][1], self._loss_fn, autocast=self._shield.autocast)
        except Exception as error:
            # The user's loss function failed: training goes on, and so does recording.
            log.warning("the NaN probe could not be run: %s", error)
            return
        report = found.report() if found.found else _not_again(found.report())
        self.verdict = str(report.verdict)
        log.warning("step %d: %s", step, self.verdict)
        self._happened(step, "probe", {"probe": report.probe, **report.data})
        self.save(step)


def _not_again(report: ProbeReport) -> ProbeReport:
    """What a sound step says that was lost a moment ago: nothing of where, as it was another one."""
    note = Note(
        "not-at-once",
        "Every number is finite when the step is tried again at once, and in the run it was lost: the loop does to the batch, the loss or "
        "the gradients what loss_fn does not, or draws other random numbers.",
    )
    return report._replace(verdict=note, data={key: value for key, value in report.data.items() if key == "inputs"}, open=True)


def _all_finite(gradients: list[Tensor]) -> bool:
    return all(finite(local(gradient)) for gradient in gradients)
