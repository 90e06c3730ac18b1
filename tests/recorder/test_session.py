"""Real loops, bad use, faults inside sismo, resuming, checkpoints, and a process that is killed."""

from __future__ import annotations

import json
import logging
import math
import random
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from recorder.loops import Model, batches, build, digest, loss_of, train
from torch import nn

import sismo
from sismo.errors import UsageError
from sismo.recorder import Recorder
from sismo.recorder.events import Moment
from sismo.recorder.panels import gradients
from sismo.recorder.scene import scene
from sismo.recorder.session import _panels
from sismo.recorder.shield import Shield
from sismo.records.channels import PANELS
from sismo.records.reader import read_run


def test_every_handler_of_a_panel_is_a_moment_and_every_moment_is_used() -> None:
    model, optimizer = build()
    panels = _panels(scene(model, optimizer, Shield(lambda error: None)), everything=True)
    handlers = {name.removeprefix("on_") for panel in panels for name in dir(panel) if name.startswith("on_")}
    assert handlers == {moment.value for moment in Moment}
    assert all(panel.__doc__ and sys.modules[type(panel).__module__].__doc__.count("Cost") for panel in panels)  # pyright: ignore[reportOptionalMemberAccess]
    assert len({panel.name for panel in panels}) == len(panels)


def test_bad_use_is_told_at_once(tmp_path: Path) -> None:
    model, optimizer = build()
    other, _ = build()
    with pytest.raises(UsageError, match="no parameters"):
        Recorder(nn.ReLU(), optimizer, tmp_path)
    with pytest.raises(UsageError, match="holds no parameter of this model"):
        Recorder(other, optimizer, tmp_path)
    with pytest.raises(UsageError, match="torch optimizer"):
        Recorder(model, "adam", tmp_path)
    with pytest.raises(UsageError, match="torch optimizer"):
        Recorder(model, [], tmp_path)
    with pytest.raises(UsageError, match="share of the step time"):
        Recorder(model, optimizer, tmp_path, budget=5.0)
    with pytest.raises(UsageError, match="1 or more; not 0"):
        Recorder(model, optimizer, tmp_path, keep=0)
    with pytest.raises(UsageError, match="0 or more; not -1"):
        Recorder(model, optimizer, tmp_path, first_step=-1)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        Recorder(model, optimizer, tmp_path / "file")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    with pytest.raises(UsageError, match=r"cannot be continued.*give another folder"):
        Recorder(model, optimizer, tmp_path / "broken")
    with Recorder(model, optimizer, tmp_path / "run"), pytest.raises(UsageError, match="is being written"):
        Recorder(model, optimizer, tmp_path / "run")
    assert not model._forward_pre_hooks
    assert not optimizer._optimizer_step_pre_hooks  # pyright: ignore[reportAttributeAccessIssue]


def test_odd_losses_are_said_and_do_not_stop_anything(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path) as recorder, caplog.at_level(logging.WARNING):
        for loss in (torch.tensor([1.0, 3.0]), 2.0, np.float32(3.0), torch.tensor(math.nan), "what", None, np.ones(2), 1j, {"a": 1}):
            recorder.step(loss)
        assert recorder.recording
    run = read_run(tmp_path)
    np.testing.assert_array_equal(run.series["loss/train"].values, [2.0, 2.0, 3.0, math.nan])
    assert "not that of a scalar" in caplog.text
    assert "the loss is nan at step 3" in caplog.text
    assert [event.step for event in run.events_of("nonfinite")] == [3]


@pytest.mark.parametrize(
    ("ids", "written"),
    [
        ([1, "b"], [1, "b"]),
        (torch.arange(2), [0, 1]),
        (np.arange(2), [0, 1]),
        ("ab", ["ab"]),
        (7, [7]),
        (torch.tensor(7), [7]),
        (None, None),
    ],
)
def test_ids_of_any_kind_are_written_down_when_the_loss_is_lost(tmp_path: Path, ids: object, written: list[object] | None) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path) as recorder:
        recorder.step(math.nan, ids=ids)
        assert recorder.recording
    assert [event.data["ids"] for event in read_run(tmp_path).events_of("batch")] == ([] if written is None else [written])


def test_a_mirror_that_fails_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Mirror:
        def __init__(self, most: int) -> None:
            self.most, self.steps = most, list[int]()

        def row(self, step: int, values: Mapping[str, float]) -> None:
            if len(self.steps) == self.most:
                raise ConnectionError("the server is away")
            self.steps.append(step)

    bad, good = Mirror(2), Mirror(99)
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path, mirrors=(bad, good)) as recorder:
        train(model, optimizer, 5, recorder.step)
        assert recorder.recording
    assert (bad.steps, good.steps) == ([0, 1], [0, 1, 2, 3, 4])
    assert len(read_run(tmp_path).series["loss/train"]) == 5
    assert caplog.text.count("the server is away") == 1


@pytest.mark.parametrize("moment", ["on_clipped", "on_before_update", "on_step", "arm"])
def test_a_fault_in_sismo_ends_recording_and_not_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, moment: str
) -> None:
    model, optimizer = build()
    expected = digest(model, optimizer, train(model, optimizer, 6))
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        count = 0

        def step(loss: torch.Tensor) -> None:
            nonlocal count
            recorder.step(loss)
            count += 1
            if count == 3:

                def broken(*arguments: object) -> None:
                    raise RuntimeError("no")

                monkeypatch.setattr(gradients.GradientsPanel, moment, broken)
                recorder._handlers[Moment.STEP] = [broken] if moment == "on_step" else recorder._handlers[Moment.STEP]
                recorder._handlers[Moment.CLIPPED] = [broken] if moment == "on_clipped" else recorder._handlers[Moment.CLIPPED]
                recorder._handlers[Moment.BEFORE_UPDATE] = [broken] if moment == "on_before_update" else []

        with caplog.at_level(logging.WARNING):
            losses = train(model, optimizer, 6, step)
        assert not recorder.recording
    assert digest(model, optimizer, losses) == expected
    assert caplog.text.count("sismo stopped recording") == 1
    assert not model._forward_pre_hooks
    run = read_run(tmp_path)
    assert run.series["loss/train"].steps.tolist()[:3] == [0, 1, 2]
    assert run.events_of("warning")[0].data["tag"] == "recorder-stopped"


def test_an_exception_of_the_loop_passes_and_is_noted(tmp_path: Path) -> None:
    model, optimizer = build()

    def loop() -> None:
        with Recorder(model, optimizer, tmp_path) as recorder:
            train(model, optimizer, 2, recorder.step)
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError):
        loop()
    run = read_run(tmp_path)
    assert run.header.status == "crashed"
    assert run.events_of("crash")[0].data == {"line": "ZeroDivisionError: mine"}


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


def test_a_run_goes_on_bit_for_bit_from_its_checkpoint(tmp_path: Path) -> None:
    whole_model, whole = build()
    losses = train(whole_model, whole, 10)
    model, optimizer = build()
    done: list[torch.Tensor] = []
    with Recorder(model, optimizer, tmp_path, save_every=2, keep=2) as recorder:
        tokens = batches(10)
        done.extend(step_of(model, optimizer, one, recorder) for one in tokens[:6])
    kept = sorted((tmp_path / "checkpoints").glob("*.pt"))
    assert [path.name for path in kept] == ["step-000000001.pt", "step-000000003.pt", "step-000000005.pt"]
    model, optimizer = build(seed=5)
    with Recorder(model, optimizer, tmp_path) as recorder:
        assert recorder.load(kept[-1]) == 6
        done.extend(step_of(model, optimizer, one, recorder) for one in tokens[6:])
    assert digest(model, optimizer, done) == digest(whole_model, whole, losses)
    run = read_run(tmp_path)
    assert run.series["loss/train"].steps.tolist() == list(range(10))
    assert [(event.step, event.data["after"]) for event in run.events_of("resume")] == [(6, 5)]
    assert [event.data["path"] for event in run.events_of("checkpoint")] == [f"checkpoints/{path.name}" for path in kept]


@pytest.mark.parametrize("lost_at", [5, 9])
def test_the_last_finite_checkpoint_before_a_lost_loss_is_kept_however_long_training_goes_on(tmp_path: Path, lost_at: int) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path, save_every=2, keep=2) as recorder:
        for step, tokens in enumerate(batches(30)):
            if step == lost_at:
                with torch.no_grad():
                    next(model.parameters()).fill_(math.nan)
            step_of(model, optimizer, tokens, recorder)
    kept = [torch.load(path, weights_only=True) for path in sorted((tmp_path / "checkpoints").glob("*.pt"))]
    finite = [state["step"] for state in kept if all(bool(tensor.isfinite().all()) for tensor in state["model"].values())]
    assert max(finite) == lost_at - 2
    assert len(kept) <= 2 + 1 + 1  # the good ones, the one before the trouble, and the one that is not judged yet


@pytest.mark.parametrize(("first_step", "more", "expected"), [(None, 10, 20), (None, 2, 12), (4, 10, 14)])
def test_checkpoints_of_an_earlier_life_make_room_for_good_ones(tmp_path: Path, first_step: int | None, more: int, expected: int) -> None:
    def live(steps: int, first: int | None) -> set[int]:
        model, optimizer = build()
        with Recorder(model, optimizer, tmp_path, save_every=2, keep=2, first_step=first) as recorder:
            for tokens in batches(steps):
                step_of(model, optimizer, tokens, recorder)
        return {int(path.stem.partition("-")[2]) for path in (tmp_path / "checkpoints").glob("*.pt")}

    before = live(10, None)
    after = live(more, first_step)
    assert max(after) == expected - 1
    if more == 2:
        assert before <= after  # nothing is known to be good yet
    else:
        assert len(after) <= 2 + 1 + 1
        assert min(after) >= expected - 8


def test_a_run_that_goes_back_to_a_checkpoint_has_its_seam_there(tmp_path: Path) -> None:
    model, optimizer = build()
    for first in (None, 3):
        with Recorder(model, optimizer, tmp_path, first_step=first) as recorder:
            for tokens in batches(6):
                step_of(model, optimizer, tokens, recorder)
    assert [(event.step, event.data["after"]) for event in read_run(tmp_path).events_of("resume")] == [(3, 5)]


def step_of(model: nn.Module, optimizer: torch.optim.Optimizer, tokens: torch.Tensor, recorder: Recorder) -> torch.Tensor:
    loss = loss_of(model, tokens)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    recorder.step(loss)
    return loss.detach().clone()


def test_going_back_to_a_checkpoint_replaces_what_came_after(tmp_path: Path) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path) as recorder:
        for value in range(6):
            recorder.step(float(value))
    with Recorder(model, optimizer, tmp_path, first_step=3) as recorder:
        recorder.step(30.0, val=7.0, classes={"a": 1.0}, terms={"kl": 2.0})
        recorder.evaluation({"wiki": torch.tensor(8.0)})
    run = read_run(tmp_path)
    assert run.series["loss/train"].values.tolist() == [0, 1, 2, 30]
    assert [run.series[name].values.tolist() for name in ("loss/val", "loss_class/a", "loss_term/kl", "loss_val/wiki")] == [
        [7],
        [1],
        [2],
        [8],
    ]


def test_a_clipping_helper_with_other_arguments_ends_recording_and_not_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr(torch.nn.utils.clip_grad, "_clip_grads_with_norm_", lambda **options: calls.append(options))
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path) as recorder:
        torch.nn.utils.clip_grad._clip_grads_with_norm_(everything="else")  # pyright: ignore[reportPrivateImportUsage, reportCallIssue]
        assert not recorder.recording
    assert calls == [{"everything": "else"}]


def test_a_torch_without_these_helpers_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.delattr(torch.nn.utils.clip_grad, "_clip_grads_with_norm_")
    model, optimizer = build()
    with caplog.at_level(logging.WARNING), Recorder(model, optimizer, tmp_path) as recorder:
        train(model, optimizer, 2, recorder.step, clip=None)
        assert recorder.recording
    assert "_clip_grads_with_norm_" in caplog.text


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
        panel.name: sys.modules[type(panel).__module__].__doc__
        for panel in _panels(scene(model, optimizer, Shield(print)), everything=True)
    }
    assert found.keys() == PANELS.keys()
    for name, (number, families) in PANELS.items():
        text = str(found[name])
        assert text.startswith(f"Panel {number},")
        assert all(family in text or family in ("loss_rank", "skipped") for family in families), name


def test_a_loss_that_is_lost_again_and_again_is_warned_of_once_and_recorded_each_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, optimizer = build()
    with caplog.at_level(logging.WARNING), Recorder(model, optimizer, tmp_path) as recorder:
        for step in range(6):
            recorder.step(math.nan if step % 2 else 1.0)
    assert [record.getMessage() for record in caplog.records if "the loss is" in record.getMessage()] == ["the loss is nan at step 1"]
    assert [event.step for event in read_run(tmp_path).events_of("nonfinite")] == [1, 3, 5]
