"""Every kind of input, setting, mode and loss that a loop may have is recorded rightly or left out, and ends nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from recorder.loops import build
from recorder.recordings import inputs
from torch import Tensor, nn
from torch.nn import functional

from sismo.recorder import Recorder
from sismo.records.reader import read_run


def _waves(tensor: Tensor) -> Tensor:
    return torch.complex(tensor, tensor)


def _jagged(tensor: Tensor) -> Tensor:
    return torch.nested.nested_tensor([tensor[:2], tensor[2:]], layout=torch.jagged)


def _mirrored(tensor: Tensor) -> Tensor:
    return _waves(tensor).conj().imag  # a view that is minus what lies in its memory


def _quantized(tensor: Tensor) -> Tensor:
    return torch.quantize_per_tensor(tensor, 0.1, 0, torch.qint8)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
@pytest.mark.parametrize("turn", [_waves, Tensor.to_sparse, _jagged, _mirrored, _quantized])
def test_inputs_of_other_kinds_are_read_or_left_out(tmp_path: Path, turn: Callable[[Tensor], Tensor]) -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.linear(
                x.real
                if x.is_complex()
                else x.to_dense()
                if x.is_sparse
                else x.dequantize()
                if x.is_quantized
                else x.values()
                if x.is_nested
                else x
            )

    model = Wide()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for one in inputs(2):
            loss = model(turn(one)).square().mean()
            loss.backward()
            optimizer.step()
            recorder.step(loss)
        assert recorder.recording


class _Turned(nn.Linear):
    """A layer that returns its numbers in another kind, and keeps them."""

    turn: Callable[[Tensor], Tensor]

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - as torch calls it
        self.kept = super().forward(input)
        return self.turn(self.kept)


_OUTPUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "float8_e4m3fn": lambda x: x.to(torch.float8_e4m3fn),
    "float8_e5m2": lambda x: x.to(torch.float8_e5m2),
    "half": lambda x: x.half(),
    "mirrored": _mirrored,
    "meta": lambda x: x.to("meta"),
    "none at all": lambda x: x[:0],
}


@pytest.mark.parametrize("kind", _OUTPUTS)
def test_layers_may_return_numbers_of_any_kind(tmp_path: Path, kind: str) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attn, self.mlp = _Turned(8, 8), _Turned(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            self.attn(x), self.mlp(x)
            return self.attn.kept + self.mlp.kept

    model = Model()
    model.attn.turn = model.mlp.turn = _OUTPUTS[kind]
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for one in inputs(2):
            loss = model(one).square().mean()
            loss.backward()
            optimizer.step()
            recorder.step(loss)
        assert recorder.recording
    seen = [channel for channel in read_run(tmp_path).series if channel.startswith(("act_mean_abs/attn", "act_mean_abs/mlp"))]
    assert bool(seen) == (kind in ("half", "mirrored")), seen


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32"])
def test_tokens_of_any_kind_of_whole_number_are_those_of_64_bits(tmp_path: Path, kind: str) -> None:
    class Widening(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(50, 8), nn.Linear(8, 50)

        def forward(self, x: Tensor, mask: Tensor, labels: Tensor | None = None) -> Tensor:
            return self.head(self.embed(x.long()))

    def recorded(name: str) -> dict[str, list[float]]:
        torch.manual_seed(0)
        model = Widening()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with Recorder(model, optimizer, tmp_path / name, budget=None) as recorder:
            for at in range(4):
                tokens = torch.randint(0, 50, (4, 9)).to(getattr(torch, name))
                scores = model(tokens, torch.ones_like(tokens), **({"labels": tokens} if at % 2 else {}))
                loss = functional.cross_entropy(scores.flatten(0, 1), tokens.long().flatten())
                loss.backward()
                optimizer.step()
                recorder.step(loss)
            assert recorder.recording
        series = read_run(tmp_path / name).series
        return {channel: one.values.tolist() for channel, one in series.items() if channel.startswith(("batch/", "target/"))}

    assert recorded(kind) == recorded("int64")


@pytest.mark.parametrize("config", ["a.yaml", ["x"], 3, object(), {"a": {"api_key": "hidden", "b": {"password": "hidden", "c": 1}}}])
def test_settings_of_any_kind_are_kept_without_their_secrets(tmp_path: Path, config: object) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path, config=config) as recorder:
        assert recorder.recording
    assert "hidden" not in (tmp_path / "manifest.json").read_text()
    kept = read_run(tmp_path).header.config
    assert kept.get("a", {"b": {"c": 1}}) == {"b": {"c": 1}}


def test_two_networks_that_train_each_other_clear_their_gradients_in_time(tmp_path: Path) -> None:
    """The maker's backward pass goes through the critic, whose gradient is cleared after it."""
    torch.manual_seed(0)
    maker, critic = nn.Linear(4, 8), nn.Linear(8, 1)
    first, second = torch.optim.Adam(critic.parameters()), torch.optim.Adam(maker.parameters())
    with (
        Recorder(critic, first, tmp_path / "critic", budget=None) as one,
        Recorder(maker, second, tmp_path / "maker", budget=None) as other,
    ):
        for to_none in (True, True, True, False, False, False):
            first.zero_grad(set_to_none=to_none)
            made = maker(torch.randn(3, 4))
            loss = functional.softplus(critic(made.detach())).mean()
            loss.backward()
            first.step()
            one.step(loss)
            second.zero_grad()
            loss = functional.softplus(-critic(made)).mean()
            loss.backward()
            second.step()
            other.step(loss)
    for name in ("critic", "maker"):
        assert read_run(tmp_path / name).series["grad_carried"].values.tolist() == [0.0] * 6


@pytest.mark.parametrize(
    ("layer", "modes", "expected"),
    [
        (nn.Dropout(0.1), (True, True, False, False), [1.0, 1.0, 0.0, 0.0]),
        (nn.BatchNorm1d(8), (False, True, False, True), [0.0, 1.0, 0.0, 1.0]),
        (nn.Dropout(0.0), (True, True, False, False), []),  # the mode makes no difference
        (nn.ReLU(), (False, False, True, True), []),
    ],
)
def test_the_mode_of_a_training_step_is_recorded_where_it_matters(
    tmp_path: Path, layer: nn.Module, modes: tuple[bool, ...], expected: list[float]
) -> None:
    model = nn.Sequential(nn.Linear(8, 8), layer)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path) as recorder:
        for training in modes:
            model.eval()(inputs(1)[0])  # an evaluation that forgot no_grad
            if training:
                model.train()
            loss = model(inputs(1)[0]).square().mean()
            loss.backward()
            optimizer.step()
            recorder.step(loss)
        assert recorder.recording
    found = read_run(tmp_path).series.get("batch/training")
    assert (found.values.tolist() if found else []) == expected


@pytest.mark.parametrize(("val", "evaluated", "expected"), [(None, True, []), (1.0, True, [1.0]), (1.0, False, [0.0])])
def test_calls_without_gradients_are_evaluations_where_there_is_a_validation_loss(
    tmp_path: Path, val: float | None, evaluated: bool, expected: list[float]
) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path) as recorder:
        with torch.no_grad():
            model(inputs(1)[0])
        loss = model(inputs(1)[0]).square().mean()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.train(evaluated)(inputs(1)[0])
        recorder.step(loss, val=val)
    found = read_run(tmp_path).series.get("batch/mode")
    assert (found.values.tolist() if found else []) == expected


_LOWEST = torch.finfo(torch.float32).min


@pytest.mark.parametrize(
    ("beside", "first", "expected"),
    [
        ([[0.0, -math.inf], [0.0, 0.0]], 1.0, 0.0),  # a mask as it is added to scores
        ([[0.0, _LOWEST], [0.0, _LOWEST]], 1.0, 0.0),
        ([[-0.5, -math.inf], [-1.0, -0.5]], 1.0, 0.0),  # with a bias for the distance
        ([[1.0, -math.inf], [0.0, 0.0]], 1.0, 1.0),
        ([[0.0, math.inf], [0.0, 0.0]], 1.0, 1.0),
        ([[0.0, math.nan], [0.0, -math.inf]], 1.0, 1.0),
        ([[0.0, 0.0], [0.0, 0.0]], -math.inf, 1.0),  # what comes first is no mask
    ],
)
def test_a_mask_that_is_given_beside_the_input_is_no_bad_batch(
    tmp_path: Path, beside: list[list[float]], first: float, expected: float
) -> None:
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            return self.linear(x) + mask.softmax(-1)

    model = Masked()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path) as recorder:
        loss = model(torch.full((2, 2), first), torch.tensor(beside)).square().mean()
        loss.backward()
        optimizer.step()
        recorder.step(loss)
    assert read_run(tmp_path).series["batch/nonfinite"].values.tolist() == [expected]


def test_a_loss_that_is_not_given_is_what_backward_was_called_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from torch.utils.checkpoint import checkpoint

    def losses(kind: str) -> list[float]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        quasi = kind == "closure"
        optimizer: torch.optim.Optimizer = torch.optim.LBFGS(model.parameters(), 0.1) if quasi else torch.optim.SGD(model.parameters(), 0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=kind == "scaled")
        meant = []
        with Recorder(model, optimizer, tmp_path / kind) as recorder:
            for _ in range(3):
                batch, parts = torch.randn(8, 4), 2 if kind == "parts" else 1
                first: list[float] = []

                def closure(batch: torch.Tensor = batch, parts: int = parts, first: list[float] = first) -> torch.Tensor:
                    optimizer.zero_grad()
                    for part in batch.chunk(parts):
                        hidden = (
                            checkpoint(model[:2], part.requires_grad_(), use_reentrant=True) if kind == "checkpointed" else model[:2](part)
                        )
                        loss = model[2](hidden).square().mean() / parts
                        first.append(loss.item())
                        torch.autograd.backward(iter([scaler.scale(loss)])) if kind == "scaled" else loss.backward()
                    return loss

                if quasi:
                    optimizer.step(closure)
                    assert len(first) > 2
                    first = first[:1]
                else:
                    closure()
                    scaler.step(optimizer)
                    scaler.update()
                meant.append(sum(first))
                recorder.step(None)
            assert recorder.recording
        assert read_run(tmp_path / kind).series["loss/train"].values.tolist() == pytest.approx(meant)
        return meant

    for kind in ("plain", "parts", "scaled", "checkpointed", "closure"):
        losses(kind)
    assert "given no loss" not in caplog.text
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path / "none") as recorder:
        recorder.step(None)
        recorder.step(None)
    assert caplog.text.count("given no loss") == 1
