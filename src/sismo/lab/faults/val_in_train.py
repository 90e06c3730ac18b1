"""Validation data out of the training data."""

from __future__ import annotations

from dataclasses import replace

import torch

from sismo.lab.types import Data, Fault, Settings, Setup


def _changed(setup: Setup, step: int) -> Setup:
    def data(settings: Settings) -> Data:
        whole = setup.data(settings)
        return whole._replace(val=whole.train.rows(torch.arange(len(whole.val.inputs))))

    return replace(setup, data=data)


FAULT = Fault(
    id="val-in-train",
    title="The validation set is a part of the training set.",
    truth=("train-val-overlap", "memorising"),
    change=_changed,
    tasks=("mini-gpt",),
    panel="loss",
    sign="training and validation loss fall together under what the corpus allows",
    probe="batch",
)
