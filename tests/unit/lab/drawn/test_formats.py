"""What a writer wrote is read back by the sources: same steps, same values, NaN where NaN was and nothing where nothing was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sismo.lab.drawn.catalogue import families, faults, formats
from sismo.lab.drawn.files import fitting, write
from sismo.lab.drawn.types import LogFormat, Noise
from sismo.records.types import Run
from sismo.sources import load


def _read(run: Run, folder: Path, form: LogFormat) -> Run:
    (read,) = load(write(run, folder, "run", form))
    return read


@pytest.mark.parametrize("fault", ["nan-abrupt", "fp16-overflow", "lr-zero", "recovered-spike"])
@pytest.mark.parametrize("form", formats().values(), ids=formats())
def test_training_rows_survive(fault: str, form: LogFormat, tmp_path: Path) -> None:
    run = faults()[fault].make(1, Noise.HEAVY).run
    read = _read(run, tmp_path, form)
    for channel in ("loss/train", "lr/0", "grad_norm/pre", "loss_scale"):
        written = run.get(channel)
        if written is None or channel.partition("/")[0] not in form.carries:
            continue
        back = read.series[channel]
        assert np.array_equal(back.steps, written.steps)
        assert np.array_equal(np.isnan(back.values), np.isnan(written.values))
        assert np.allclose(back.values, written.values, rtol=2e-3, atol=0.06 if channel == "loss_scale" else 1e-3, equal_nan=True)


@pytest.mark.parametrize("form", formats().values(), ids=formats())
def test_every_evaluation_survives(form: LogFormat, tmp_path: Path) -> None:
    run = families()["few-evals"].make(0, Noise.GAUSSIAN).run
    read = _read(run, tmp_path, form)
    assert np.allclose(read.series["loss/val"].values, run.series["loss/val"].values, atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_a_fitting_format_has_room_for_every_channel(seed: int) -> None:
    for recipe in {**faults(), **families()}.values():
        run = recipe.make(seed, Noise.of(seed)).run
        assert {channel.partition("/")[0] for channel in run.series} <= fitting(run, seed).carries
