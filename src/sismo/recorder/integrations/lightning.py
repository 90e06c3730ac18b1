"""Lightning: ``Trainer(callbacks=[RecorderCallback("runs/a")])``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import Callback  # pyright: ignore[reportMissingImports] - an optional library

from sismo.recorder.session import Recorder


class RecorderCallback(Callback):
    """Records what a ``Trainer`` does.

    Arguments:
        path: the run folder. options: those of ``Recorder``.
    """

    def __init__(self, path: str | Path, **options: Any) -> None:
        self._path, self._options = path, options
        self._steps = 0
        self.recorder: Recorder | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Everything is there: module and optimizers."""
        config = {**dict(pl_module.hparams), "max_steps": trainer.max_steps, "grad_clip": trainer.gradient_clip_val}
        config["accumulation"] = trainer.accumulate_grad_batches
        self._steps = trainer.global_step
        self.recorder = Recorder(pl_module, trainer.optimizers, self._path, config=config, **self._options)

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
        loss = trainer.callback_metrics.get("val_loss")
        if self.recorder is not None and loss is not None and not trainer.sanity_checking:
            self.recorder.evaluation(loss)

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
        """Lightning writes a checkpoint."""
        if self.recorder is not None:
            self.recorder.checkpoint(trainer.default_root_dir)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Training is over."""
        if self.recorder is not None:
            self.recorder.close()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Training ended with an exception."""
        if self.recorder is not None:
            self.recorder.close(exception)
