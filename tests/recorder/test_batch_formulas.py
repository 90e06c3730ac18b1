"""What is recorded of batches and modes is what it says it is."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from recorder.loops import VOCABULARY, build, loss_of
from recorder.recordings import recorded
from torch import nn
from torch.nn import functional

from sismo.recorder import Recorder
from sismo.recorder.draft import Draft
from sismo.recorder.fingerprint import Fingerprint, number
from sismo.recorder.panels.batch import BatchPanel
from sismo.recorder.scene import scene
from sismo.recorder.shield import Shield
from sismo.records.reader import read_run


def test_fingerprint_rarity_and_repeats(tmp_path: Path) -> None:
    model, optimizer = build()
    generator = torch.Generator().manual_seed(0)
    usual = [torch.randint(0, 20, (4, 17), generator=generator) for _ in range(60)]
    rare, periodic = torch.randint(80, 97, (4, 17), generator=generator), torch.tensor([1, 2, 3] * 6)[:17].repeat(4, 1)
    with Recorder(model, optimizer, tmp_path) as recorder:
        for tokens in [*usual, rare, periodic, usual[-1], usual[-1]]:
            loss_of(model, tokens).backward()
            optimizer.step()
            recorder.step(1.0)
    run = read_run(tmp_path)
    rarity, repeats, ngrams = (run.series[f"batch/{name}"].values for name in ("rarity", "repeats", "ngram_repeats"))
    assert rarity[60] > 6 * np.median(rarity[:60])
    assert repeats[-2:].tolist() == [2, 3]
    assert repeats[:62].max() == 1
    assert ngrams[61] == 1.0
    assert ngrams[:60].max() < 0.5
    prints = Fingerprint()
    assert number(prints.of(usual[0]).tolist()) != number(prints.of(usual[0].flip(0)).tolist())


def test_rarity_counts_past_what_single_precision_can() -> None:
    panel = BatchPanel(scene(*build(), Shield(lambda error: None)))
    batch, often = torch.zeros(1 << 16, 1, dtype=torch.long), 300  # 19.7 million of one token: more than 2^24
    for _ in range(often):
        panel._tokens(batch)
    panel.scene.draft = Draft()
    panel._tokens(torch.tensor([[0, 1]]))
    found = dict(zip(panel.scene.draft._channels, panel.scene.draft._tensors, strict=True))["batch/rarity"]
    seen = often * batch.numel()
    assert float(found) == pytest.approx((1 / (seen + 1) + 1) / 2 * (seen + VOCABULARY) / VOCABULARY, rel=1e-5)
    panel.scene.draft = Draft()
    panel._tokens(torch.zeros(4, 1, dtype=torch.long))
    found = dict(zip(panel.scene.draft._channels, panel.scene.draft._tensors, strict=True))["batch/rarity"]
    assert float(found) == pytest.approx((seen + 2 + VOCABULARY) / (seen + 2) / VOCABULARY, rel=1e-6)


def test_batches_of_ones_and_zeros_have_their_own_fingerprints() -> None:
    generator = torch.Generator().manual_seed(0)
    batches = [functional.one_hot(torch.randint(10, (64,), generator=generator), 10).float() for _ in range(500)]
    prints = Fingerprint()
    assert len({number(prints.of(one).tolist()) for one in batches}) == 500


@pytest.mark.parametrize(("outputs", "vocabulary"), [(97, 97), (1, None)])
def test_an_embedding_is_a_vocabulary_where_the_model_has_an_output_of_that_size(
    tmp_path: Path, outputs: int, vocabulary: int | None
) -> None:
    model = nn.ModuleList([nn.Embedding(97, 8), nn.Embedding(500, 8), nn.Linear(8, outputs)])
    with Recorder(model, torch.optim.SGD(model.parameters(), 0.1), tmp_path):
        pass
    assert read_run(tmp_path).header.vocab_size == vocabulary


def test_inputs_that_are_not_finite(tmp_path: Path) -> None:
    model = nn.Linear(3, 1)
    bad = torch.randn(2, 3)
    bad[1, 2] = math.inf
    run = recorded(tmp_path, model, torch.optim.SGD(model.parameters(), 0.0), [torch.randn(2, 3), bad, torch.randn(2, 3)])
    assert run.series["batch/nonfinite"].values.tolist() == [0, 1, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_largest_numbers_of_a_dtype_are_finite_inputs(tmp_path: Path, dtype: torch.dtype) -> None:
    model = nn.Linear(3, 1, dtype=dtype)
    padded = torch.full((2, 3), torch.finfo(torch.float32).min, dtype=dtype)
    run = recorded(tmp_path, model, torch.optim.SGD(model.parameters(), 0.0), [padded.clone() * (10 if dtype is torch.float64 else 1)])
    assert run.series["batch/nonfinite"].values.tolist() == [0]


@pytest.mark.parametrize("face", [nn.Dropout(0.1), nn.BatchNorm1d(3), nn.Dropout(0.0)])
def test_the_mode_of_an_evaluation(tmp_path: Path, face: nn.Module) -> None:
    model = nn.Sequential(face, nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with Recorder(model, optimizer, tmp_path) as recorder:
        for training in (True, False):
            model.train()
            loss = model(torch.randn(4, 3)).mean()
            loss.backward()
            optimizer.step()
            model.train(training)
            with torch.no_grad():
                model(torch.randn(4, 3))
            recorder.step(loss, val=1.0)
    seen = read_run(tmp_path).series.get("batch/mode")
    assert (seen is None) if getattr(face, "p", 1.0) == 0 else (seen is not None and seen.values.tolist() == [1, 0])
