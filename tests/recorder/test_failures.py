"""What is used wrongly at the start, or fails on the way, is said, and training goes on."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from recorder.loops import batches, build, digest, loss_of, train
from torch import nn
from torch.nn import functional

from sismo.errors import UsageError
from sismo.recorder import Recorder
from sismo.recorder.events import Moment
from sismo.recorder.panels import gradients
from sismo.recorder.taps import Taps
from sismo.records.reader import read_run


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
                told = recorder._board._handlers
                told[Moment.STEP] = [broken] if moment == "on_step" else told[Moment.STEP]
                told[Moment.CLIPPED] = [broken] if moment == "on_clipped" else told[Moment.CLIPPED]
                told[Moment.BEFORE_UPDATE] = [broken] if moment == "on_before_update" else []

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


def test_a_loss_that_is_lost_again_and_again_is_warned_of_once_and_recorded_each_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, optimizer = build()
    with caplog.at_level(logging.WARNING), Recorder(model, optimizer, tmp_path) as recorder:
        for step in range(6):
            recorder.step(math.nan if step % 2 else 1.0)
    assert [record.getMessage() for record in caplog.records if "the loss is" in record.getMessage()] == ["the loss is nan at step 1"]
    assert [event.step for event in read_run(tmp_path).events_of("nonfinite")] == [1, 3, 5]


def test_odd_validation_losses_are_said_once_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path) as recorder, caplog.at_level(logging.WARNING):
        for val in (None, "bad", "worse", {"a b": 1.0, "c": None}, torch.ones(2), 0.5):
            recorder.step(1.0, val=val)
            recorder.evaluation(val)
        assert recorder.recording
    run = read_run(tmp_path)
    assert run.series["loss/val"].values[-1] == 0.5
    assert caplog.text.count("is a str") == 2  # once for either way


def test_lazy_parameters_are_told_at_once(tmp_path: Path) -> None:
    model = nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 1))
    with pytest.raises(UsageError, match="call it once on a batch"):
        Recorder(model, torch.optim.SGD(model.parameters(), 0.1), tmp_path)


def test_a_folder_that_cannot_be_written_is_said_in_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path / "file" / "run") as recorder, caplog.at_level(logging.WARNING):
        assert not recorder.recording
        recorder.step(loss_of(model, batches(1)[0]))
    assert "Traceback" not in caplog.text
    assert "Please report" not in caplog.text


def test_a_fault_of_the_very_start_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("sismo.recorder.session.scene", broken)
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path) as recorder:
        assert not recorder.recording
        assert recorder.model is model
        recorder.step(1.0)
        recorder.evaluation(1.0)


@pytest.mark.parametrize("then", ["closes", "evaluates", "trains"])
def test_an_interruption_within_a_layer_leaves_torch_as_it_was(tmp_path: Path, then: str) -> None:
    model, optimizer = build()
    before, first, second = functional.scaled_dot_product_attention, *batches(2)

    def interrupt(module: nn.Module, arguments: object) -> None:
        handle.remove()
        raise KeyboardInterrupt

    handle = model.blocks[1].attn.out.register_forward_pre_hook(interrupt)  # pyright: ignore[reportAttributeAccessIssue]
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        with pytest.raises(KeyboardInterrupt):
            loss_of(model, first)
        if then == "evaluates":
            with torch.no_grad():
                loss_of(model, first)
        if then == "trains":
            loss_of(model, second).backward()
            optimizer.step()
            recorder.step(1.0)
        if then == "closes":
            recorder.close()
        assert functional.scaled_dot_product_attention is before
        assert not torch.overrides._get_current_function_mode_stack()  # pyright: ignore[reportAttributeAccessIssue]


def test_what_fails_on_the_way_into_the_model_ends_recording_and_not_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(taps: Taps) -> None:
        raise RuntimeError("of its own")

    expected = digest(*(kept := build()), train(*kept, 4))
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path) as recorder:
        monkeypatch.setattr(Taps, "hang", fails)
        assert digest(model, optimizer, train(model, optimizer, 4, recorder.step)) == expected
        assert not recorder.recording
    assert "of its own" in caplog.text
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())
