"""Hugging Face ``trainer_state.json``, a checkpoint folder, or an output folder with checkpoints in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from sismo.errors import MalformedLog
from sismo.records.types import Note, Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.objects import add_record, salvage
from sismo.sources.rows import RowBuilder, flatten

FILE = "trainer_state.json"
_SETTINGS = ("max_steps", "num_train_epochs", "train_batch_size", "save_steps", "logging_steps", "eval_steps", "best_metric",
    "best_model_checkpoint",
             "global_step", "best_global_step", "epoch")  # fmt: skip
_ARGS = ("fp16", "bf16", "warmup_steps", "warmup_ratio", "max_grad_norm", "gradient_accumulation_steps", "lr_scheduler_type",
    "learning_rate", "seed",
         "logging_nan_inf_filter")  # fmt: skip
_CHECKPOINT = re.compile(r"checkpoint-(\d+)$")


class HfTrainerState(Format):
    name = "hf-trainer-state"
    about = "Hugging Face Trainer: trainer_state.json, a checkpoint folder or an output folder"

    def score(self, sample: Sample) -> int:
        if sample.is_dir:
            return 90 if sample.path is not None and state_in(sample.path) is not None else 0
        text = sample.text.lstrip()
        if not text.startswith("{"):
            return 0
        return 95 if '"log_history"' in text else 80 if sample.name == FILE else 0

    def read(self, content: Content) -> list[Table | Run]:
        path = content.path
        if path is not None and path.is_dir():
            state = state_in(path)
            if state is None:
                raise MalformedLog(content.label, f"no {FILE} in this folder")
            return [_table(content.label, state.read_text("utf-8", errors="replace"), _beside(state))]
        return [_table(content.label, content.text(), _beside(path) if path is not None else {})]


def state_in(folder: Path) -> Path | None:
    """The state file of a folder: its own, else that of its newest checkpoint."""
    own = folder / FILE
    if own.is_file():
        return own
    checkpoints = [(int(found[1]), child / FILE) for child in folder.iterdir() if (found := _CHECKPOINT.search(child.name))]
    return max((one for one in checkpoints if one[1].is_file()), default=(0, None))[1]


def _beside(state: Path) -> dict[str, object]:
    """Settings from the model's config beside the state; ``training_args.bin`` is a pickle and is never opened."""
    config = state.parent / "config.json"
    try:
        loaded = json.loads(config.read_text("utf-8")) if config.is_file() and config.stat().st_size < 1 << 20 else {}
    except (OSError, ValueError):
        return {}
    found = cast("dict[str, object]", loaded) if isinstance(loaded, dict) else {}
    return {key: found[key] for key in ("vocab_size", "torch_dtype", "dtype") if key in found}


def _table(label: str, text: str, config: Mapping[str, object]) -> Table:
    builder = RowBuilder("hf-trainer-state")
    builder.config.update(config)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        history: list[object] = salvage(text[max(0, text.find('"log_history"')) :])
        if not history:
            raise MalformedLog(label, "the JSON is cut off or broken before the first row of log_history; give a complete file") from None
        builder.notes.append(
            Note(
                "partial-log",
                "the JSON is broken; {count} {count:row before the break was|rows before the break were} read",
                {"count": len(history)},
            )
        )
    else:
        state = cast("dict[str, object]", document) if isinstance(document, dict) else {}
        rows = state.get("log_history")
        if not isinstance(rows, list):
            raise MalformedLog(label, "log_history is no list; is this a trainer_state.json?")
        history = cast("list[object]", rows)
        builder.config.update({key: state[key] for key in _SETTINGS if state.get(key) is not None})
        arguments = state.get("args")
        if isinstance(arguments, dict):
            flat = flatten(cast("dict[str, object]", arguments))
            builder.config.update({key: flat[key] for key in _ARGS if key in flat})
    for row in history:
        if not isinstance(row, dict) or not add_record(builder, cast("dict[str, object]", row)):
            builder.skipped += 1
    return builder.table()


FORMAT = HfTrainerState()
