"""Hugging Face ``Trainer``: ``Trainer(..., callbacks=[RecorderCallback("runs/a")])``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import TrainerCallback  # pyright: ignore[reportMissingImports] - an optional library

from sismo.recorder.session import Recorder


class RecorderCallback(TrainerCallback):
    """Records what a ``Trainer`` does; the loss of each step is taken where the ``Trainer`` works it out.

    Arguments:
        path: the run folder. options: those of ``Recorder``.
    """

    def __init__(self, path: str | Path, **options: Any) -> None:
        self._path, self._options = path, options
        self._loss: Any = None
        self._parts = 0
        self._undo: Any = None
        self.recorder: Recorder | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Everything is there: model, optimizer, arguments."""
        config = {**args.to_dict(), "max_steps": state.max_steps}
        model, optimizer = given["model"], given["optimizer"]
        self.recorder = Recorder(model, optimizer, self._path, config=config, **self._options)
        root = self.recorder.model
        handle = root.register_forward_hook(self._seen, with_kwargs=True)
        self._undo = handle.remove

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """An optimizer step is over."""
        if self.recorder is not None:
            loss = self._loss if self._parts < 2 else self._loss / self._parts
            self.recorder.step(loss, step=state.global_step - 1)
        self._loss, self._parts = None, 0

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **given: Any) -> None:
        """An evaluation is over."""
        loss = (metrics or {}).get("eval_loss")
        if self.recorder is not None and loss is not None:
            self.recorder.evaluation(loss)

    def on_save(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """The ``Trainer`` wrote a checkpoint."""
        if self.recorder is not None:
            self.recorder.checkpoint(Path(args.output_dir) / f"checkpoint-{state.global_step}")

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Training is over. An exception does not lead here: the run stays open, and is read as crashed."""
        if self._undo is not None:
            self._undo()
        if self.recorder is not None:
            self.recorder.close()

    def _seen(self, module: Any, arguments: Any, options: Any, output: Any) -> None:
        """Adds up the losses of the micro-batches; nothing is read from the device."""
        loss = output.get("loss") if hasattr(output, "get") else None
        if module.training and loss is not None:
            loss = loss.detach()
            self._loss = loss if self._loss is None else self._loss + loss
            # Told the number of labels of the whole step, a model has divided by it already.
            self._parts += options.get("num_items_in_batch") is None
