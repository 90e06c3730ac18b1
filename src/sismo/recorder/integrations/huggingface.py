"""Hugging Face ``Trainer``: ``Trainer(..., callbacks=[RecorderCallback("runs/a")])``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from transformers import TrainerCallback  # pyright: ignore[reportMissingImports] - an optional library

from sismo.recorder.session import Recorder

_VALIDATION = re.compile(r"eval_(?:(.+)_)?loss")


class RecorderCallback(TrainerCallback):
    """Records what a ``Trainer`` does; the loss of a step is what the ``Trainer`` calls backward on, however it was worked out.

    Arguments:
        path: the run folder. options: those of ``Recorder``.
    """

    _open: ClassVar[dict[Path, Recorder]] = {}

    def __init__(self, path: str | Path, **options: Any) -> None:
        self._path, self._options = path, options
        self.recorder: Recorder | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Everything is there: model, optimizer, arguments."""
        # Nothing says that a training ended with an exception: to try again is to begin anew, with this callback or another.
        place = Path(self._path).resolve()
        if (earlier := self._open.pop(place, None)) is not None:
            earlier.close()
        config = {**args.to_dict(), "max_steps": state.max_steps}
        model, optimizer = given["model"], given["optimizer"]
        self.recorder = Recorder(model, optimizer, self._path, config=config, **self._options)
        self._open[place] = self.recorder

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """An optimizer step is over."""
        if self.recorder is not None:
            self.recorder.step(None, step=state.global_step - 1)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **given: Any) -> None:
        """An evaluation is over."""
        found = {match[1] or "": value for key, value in (metrics or {}).items() if (match := _VALIDATION.fullmatch(key))}
        if self.recorder is not None and found:
            self.recorder.evaluation(found)

    def on_save(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """The ``Trainer`` wrote a checkpoint."""
        if self.recorder is not None:
            self.recorder.checkpoint(Path(args.output_dir) / f"checkpoint-{state.global_step}")

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Training is over. An exception does not lead here: the run stays open, and is read as crashed."""
        if self.recorder is not None:
            self.recorder.close()
            self._open.pop(Path(self._path).resolve(), None)
