"""``trainer_state.json`` of the Hugging Face Trainer: training rows and evaluation rows in one ``log_history``."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sismo.lab.drawn.table import rows
from sismo.lab.drawn.types import LogFormat
from sismo.records.types import Run

_KEYS = {"loss/train": "loss", "lr/0": "learning_rate", "grad_norm/pre": "grad_norm"}


def _lines(run: Run) -> Iterator[str]:
    history: list[dict[str, float]] = []
    last = 1
    table = list(rows(run))
    total = max(1, run.header.total_steps or table[-1][0])
    for step, row in table:
        epoch = round(3 * step / total, 4)
        train = {_KEYS[channel]: value for channel, value in row.items() if channel in _KEYS}
        if train:
            history.append({"epoch": epoch, **train, "step": step})
        if "loss/val" in row:
            history.append({"epoch": epoch, "eval_loss": row["loss/val"], "eval_runtime": 4.2, "step": step})
        last = step
    state = {
        "best_metric": None,
        "epoch": round(3 * last / total, 4),
        "global_step": last,
        "is_hyper_param_search": False,
        "log_history": history,
        "max_steps": total,
        "num_train_epochs": 3,
    }
    yield from json.dumps(state, indent=2).split("\n")


FORMAT = LogFormat("hf-state", "_trainer_state.json", frozenset({"loss", "lr", "grad_norm"}), _lines)
