"""Lightning: ``Trainer(callbacks=[RecorderCallback("runs/a")])``."""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import Callback  # pyright: ignore[reportMissingImports] - an optional library

from sismo.recorder.session import Recorder
from sismo.recorder.shield import log

_VALIDATION = re.compile(r"(?:val|valid|validation|dev|eval)[_/.]loss(?:/dataloader_idx_(\d+))?", re.IGNORECASE)
"""The usual names of a validation loss, and what Lightning adds to one of several sets."""


class RecorderCallback(Callback):
    """Records what a ``Trainer`` does.

    Arguments:
        path: the run folder. options: those of ``Recorder``.
    """

    def __init__(self, path: str | Path, **options: Any) -> None:
        self._path, self._options = path, options
        self._steps = 0
        self._looked = False
        self.recorder: Recorder | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Everything is there: module and optimizers."""
        config = {**dict(pl_module.hparams), "grad_clip": trainer.gradient_clip_val, "accumulation": trainer.accumulate_grad_batches}
        self._steps = trainer.global_step
        options = dict(self._options)
        if pl_module.automatic_optimization:  # else what Lightning counts are the steps of each optimizer, and not of the loop
            total = trainer.estimated_stepping_batches
            config["max_steps"] = total if math.isfinite(total) else None
            if self._steps:
                options.setdefault("first_step", self._steps)
        self.recorder = recorder = Recorder(pl_module, trainer.optimizers, self._path, config=config, **options)
        save = trainer.save_checkpoint

        @functools.wraps(save)
        def noted(filepath: Any, *arguments: Any, **given: Any) -> None:
            save(filepath, *arguments, **given)
            recorder.checkpoint(filepath)

        # The hook for it is not told where to.
        trainer.save_checkpoint = noted

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """A batch is over; with accumulation not every one is a step."""
        if self.recorder is None or trainer.global_step == self._steps:
            return
        self._steps = trainer.global_step
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        # Of several micro-batches only the last one is handed out; a loop of the module's own knows best which its loss is.
        self.recorder.step(None if pl_module.automatic_optimization else loss)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """An evaluation is over; the first one, before training, has no step to belong to."""
        if self.recorder is None or trainer.sanity_checking:
            return
        known = trainer.callback_metrics.items()
        found = {match[1] or "": value for key, value in known if (match := _VALIDATION.fullmatch(key))}
        if found:
            self.recorder.evaluation(found)
        elif not self._looked:
            log.warning("no validation loss is recorded: none was logged as val_loss (or val/loss) in validation_step")
        self._looked = True

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Training is over, and the last checkpoint is written."""
        vars(trainer).pop("save_checkpoint", None)
        if self.recorder is not None:
            self.recorder.close()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Training ended with an exception."""
        if self.recorder is not None:
            self.recorder.close(exception)
