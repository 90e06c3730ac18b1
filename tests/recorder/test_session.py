"""Real loops: accumulation, several optimizers, a scaler, adapters and compiled models, and what a recorded run answers."""

from __future__ import annotations

import json
import logging
import math
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from recorder.loops import Model, batches, build, loss_of, train
from torch import nn

import sismo
from sismo.recorder import Recorder
from sismo.recorder.board import Board
from sismo.recorder.events import Moment
from sismo.recorder.scene import scene
from sismo.recorder.shield import Shield
from sismo.records.channels import PANELS
from sismo.records.reader import read_run


def test_every_handler_of_a_panel_is_a_moment_and_every_moment_is_used() -> None:
    model, optimizer = build()
    panels = Board(scene(model, optimizer, Shield(lambda error: None)), everything=True)
    handlers = {name.removeprefix("on_") for panel in panels for name in dir(panel) if name.startswith("on_")}
    assert handlers == {moment.value for moment in Moment}
    assert all(panel.__doc__ and sys.modules[type(panel).__module__].__doc__.count("Cost") for panel in panels)  # pyright: ignore[reportOptionalMemberAccess]
    assert len({panel.name for panel in panels}) == len(list(panels))


def test_the_manifest_says_what_it_was(tmp_path: Path) -> None:
    model, optimizer = build()
    config = {"max_steps": 100, "warmup_steps": 10, "grad_clip": 1.0, "hub_token": "x", "nested": {"a": [1]}}
    with Recorder(model, optimizer, tmp_path, config=config, save_every=50) as recorder:
        train(model, optimizer, 3, recorder.step)
    header = read_run(tmp_path).header
    assert (header.dtype, header.total_steps, header.warmup_steps, header.clip, header.checkpoint_every) == ("fp32", 100, 10, 1.0, 50)
    assert (header.vocab_size, header.status) == (97, "completed")
    assert "hub_token" not in header.config
    about = header.config["sismo"]
    assert isinstance(about, dict)
    assert {"seed", "versions", "device", "git", "groups", "blocks", "cadence"} <= about.keys()
    assert about["cadence"]["steps"] == 3


def test_accumulation_looks_at_the_first_part_only(tmp_path: Path) -> None:
    model, optimizer = build()
    parts = batches(6)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for number, tokens in enumerate(parts, 1):
            loss = loss_of(model, tokens) / 3
            loss.backward()
            if number % 3 == 0:
                model.eval()
                with torch.no_grad():
                    loss_of(model, parts[0])
                model.train()
                optimizer.step()
                optimizer.zero_grad()
                recorder.step(loss * 3)
    run = read_run(tmp_path)
    assert run.series["act_mean_abs/wte"].steps.tolist() == [0, 1]
    wte = float(model.wte(parts[0][:, :-1]).detach().abs().mean())
    assert run.series["act_mean_abs/wte"].values[0] == pytest.approx(wte, rel=0.01)


def test_frozen_shared_and_grouped_parameters_of_two_optimizers(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Model()
    model.head.weight = model.wte.weight
    model.ln_f.weight.requires_grad_(False)
    first = torch.optim.SGD([{"params": model.blocks[0].parameters(), "lr": 0.1}, {"params": model.blocks[1].parameters(), "lr": 0.2}])
    second = torch.optim.AdamW([model.wte.weight, model.ln_f.weight, model.ln_f.bias], 1e-3)
    with Recorder(model, [first, second], tmp_path, budget=None) as recorder:
        for tokens in batches(2):
            loss = loss_of(model, tokens)
            loss.backward()
            square = sum(float(one.grad.double().square().sum()) for one in model.parameters() if one.grad is not None)
            for optimizer in (first, second):
                optimizer.step()
                optimizer.zero_grad()
            recorder.step(loss)
    run = read_run(tmp_path)
    assert [run.series[f"lr/{group}"].values[0] for group in range(3)] == [0.1, 0.2, 1e-3]
    assert run.series["grad_norm/pre"].values[-1] == pytest.approx(math.sqrt(square), rel=1e-5)
    assert [name for name in run.series if name.startswith("spectral/wte")] == ["spectral/wte.weight"]
    assert {"weight_norm/0", "weight_norm/1", "weight_norm/2", "weight_norm/blocks.1"} <= run.series.keys()
    assert "adam_rms/0" not in run.series or math.isfinite(run.series["adam_rms/0"].values[0])


@pytest.mark.parametrize("unscale", [True, False])
def test_a_scaler_is_seen_unscaled_and_its_skips_are_events(tmp_path: Path, unscale: bool) -> None:
    model, optimizer = build(dropout=0.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=1000)
    norms: list[float] = []
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for number, tokens in enumerate(batches(4)):
            loss = loss_of(model, tokens)
            scaler.scale(loss * (math.inf if number == 2 else 1.0)).backward()
            gradients_ = [one.grad for one in model.parameters() if one.grad is not None]
            norms.append(math.sqrt(sum(float(one.double().square().sum()) for one in gradients_)) / scaler.get_scale())
            if unscale:
                scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1e6)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            recorder.step(loss)
    run = read_run(tmp_path)
    pre = run.series["grad_norm/pre"].values
    np.testing.assert_allclose(pre[[0, 1, 3]], np.array(norms)[[0, 1, 3]], rtol=1e-4)
    assert not math.isfinite(pre[2])
    assert run.series["skipped"].values.tolist() == [0, 0, 1, 0]
    assert run.series["loss_scale"].values.tolist() == [1024, 1024, 512, 512]
    assert [(event.step, dict(event.data)) for event in run.events_of("overflow")] == [(2, {"scale_before": 1024.0, "scale_after": 512.0})]
    assert "grad_zero_share/all" in run.series


def test_a_spike_brings_full_detail_for_a_window(tmp_path: Path) -> None:
    model, optimizer = build()
    generator = random.Random(0)
    with Recorder(model, optimizer, tmp_path, budget=1e-9) as recorder:
        for number, tokens in enumerate(batches(160)):
            loss_of(model, tokens).backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(math.nan if number == 130 else 2.0 + generator.gauss(0, 0.02), ids=[number])
    run = read_run(tmp_path)
    (zoom,) = run.events_of("zoom")
    assert zoom.step == 130
    steps = run.series["act_mean_abs/wte"].steps
    assert steps[0] == 0
    late = set(steps[steps > 120].tolist())
    assert late >= set(range(131, 151))
    assert len(late) < 30  # what is bought on credit is thin by then
    assert run.events_of("batch")[-1].data == {"ids": [130]}


def test_a_compiled_model_keeps_its_scalars(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, optimizer = build()
    compiled = torch.compile(model, backend="eager")
    with caplog.at_level(logging.WARNING), Recorder(compiled, optimizer, tmp_path, budget=None) as recorder:  # pyright: ignore[reportArgumentType]
        train(model, optimizer, 2, recorder.step)
    assert "the model is compiled" in caplog.text
    run = read_run(tmp_path)
    assert {"loss/train", "grad_norm/pre", "weight_norm/blocks.0", "spectral/wte.weight"} <= run.series.keys()
    assert not any(name.startswith("act_") for name in run.series)


class Lora(nn.Module):
    """A frozen matrix with a trained one of low rank beside it."""

    def __init__(self, base: nn.Linear, rank: int = 2) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down, self.up = nn.Linear(base.in_features, rank, bias=False), nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + self.up(self.down(x))


def test_lora_records_what_is_trained_and_the_layers_of_the_whole(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Model().requires_grad_(False)
    for block in model.blocks:
        block.attn.qkv = Lora(block.attn.qkv)
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], 1e-2)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for tokens in batches(3):
            loss = loss_of(model, tokens)
            loss.backward()
            square = sum(float(one.grad.double().square().sum()) for one in model.parameters() if one.grad is not None)
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
        assert recorder.recording
    run = read_run(tmp_path)
    spectra = {name for name in run.series if name.startswith("spectral/")}
    assert spectra == {f"spectral/blocks.{block}.attn.qkv.{part}.weight" for block in (0, 1) for part in ("down", "up")}
    assert run.series["grad_norm/pre"].values[-1] == pytest.approx(math.sqrt(square), rel=1e-5)
    assert {"act_mean_abs/blocks.1.mlp", "head_entropy/blocks.0.attn.0", "update_ratio/blocks.1"} <= run.series.keys()


def test_a_recorded_run_answers_what_its_log_cannot_and_names_the_panels(tmp_path: Path) -> None:
    model, optimizer = build()
    with torch.no_grad():
        model.blocks[1].mlp[0].bias[:] = -100.0  # units that never fire
    with Recorder(model, optimizer, tmp_path / "run", budget=None) as recorder:
        losses = train(model, optimizer, 60, recorder.step)
    lines = [json.dumps({"step": step, "loss": float(loss), "lr": 1e-3}) for step, loss in enumerate(losses)]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    recorded, logged = (sismo.diagnose(run) for run in (sismo.load(tmp_path / "run"), sismo.load(tmp_path / "log.jsonl")))  # pyright: ignore[reportArgumentType]
    answered, before = ({visit.id for visit in report.walk if visit.answer != "unknown"} for report in (recorded, logged))
    assert before < answered
    said = {str(item.text) for visit in recorded.walk for item in visit.evidence}
    for panel in ("[panel 1, loss]", "[panel 4, activations]", "[panel 6, units]"):
        assert any(sentence.endswith(panel) for sentence in said), panel
    assert not any("[panel" in str(item.text) for visit in logged.walk for item in visit.evidence)


def test_each_panel_is_numbered_where_its_channels_are_named() -> None:
    model, optimizer = build()
    found = {
        panel.name: sys.modules[type(panel).__module__].__doc__ for panel in Board(scene(model, optimizer, Shield(print)), everything=True)
    }
    assert found.keys() == PANELS.keys()
    for name, (number, families) in PANELS.items():
        text = str(found[name])
        assert text.startswith(f"Panel {number},")
        assert all(family in text or family in ("loss_rank", "skipped") for family in families), name
