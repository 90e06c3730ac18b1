"""The recorder's hooks stay out of the way: of copies, pickles, compilers, transforms and evaluations of the model."""

from __future__ import annotations

import copy
import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from recorder.loops import batches, build, digest, loss_of, train
from torch import Tensor, nn
from torch.nn.utils import clip_grad, parametrizations

from sismo.recorder import Recorder, clock
from sismo.recorder.taps import floating
from sismo.records.reader import read_run

_SCRIPTS = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
_Loop = Callable[[nn.Module, torch.optim.Optimizer, Callable[[Tensor], None]], object]


def recorded_and_not(make: Callable[[], nn.Module], loop: _Loop, path: Path) -> None:
    """The loop gives the same with the recorder and without, and the recorder lives."""

    def run(recorded: bool) -> tuple[object, str]:
        torch.manual_seed(0)
        model = make()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        if not recorded:
            return loop(model, optimizer, lambda loss: None), digest(model, optimizer, [])
        with Recorder(model, optimizer, path, budget=None) as recorder:
            result = loop(model, optimizer, recorder.step)
            assert recorder.recording
        return result, digest(model, optimizer, [])

    assert run(recorded=True) == run(recorded=False)


def steps(model: nn.Module, optimizer: torch.optim.Optimizer, step: Callable[[Tensor], None], *, call: Callable[[Tensor], Tensor]) -> None:
    """Four steps on whole numbers."""
    for tokens in batches(4):
        loss = call(tokens).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step(loss)


@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_deep_copy_of_a_recorded_model_can_be_made_and_is_not_recorded(tmp_path: Path, at: int) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        train(model, optimizer, at, recorder.step)
        twin = copy.deepcopy(model)
        twin(batches(1)[0])
        assert not any(module._forward_hooks or module._forward_pre_hooks for module in twin.modules())
        train(model, optimizer, 2, recorder.step)
        assert recorder.recording
    run = read_run(tmp_path)
    assert run.series["act_mean_abs/wte"].steps.tolist() == list(range(at + 2))


@pytest.mark.parametrize("at", [0, 2])
def test_a_recorded_model_is_pickled_without_a_trace_of_sismo(tmp_path: Path, at: int) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        train(model, optimizer, at, recorder.step)
        file = io.BytesIO()
        torch.save(model, file)
        assert b"sismo" not in file.getvalue()
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    tokens = batches(1)[0]
    assert torch.equal(loaded.eval()(tokens), model.eval()(tokens))


def test_an_evaluation_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    """``nn.TransformerEncoderLayer`` has a fast way to evaluate, which it does not take where hooks hang on it."""

    def loop(model: nn.Module, optimizer: torch.optim.Optimizer, step: Callable[[Tensor], None]) -> list[float]:
        found: list[float] = []
        generator = torch.Generator().manual_seed(1)
        for _ in range(3):
            inputs = torch.randn(2, 5, 16, generator=generator)
            loss = model(inputs).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            for before in (True, False):
                if not before:
                    step(loss)
                model.eval()
                with torch.no_grad():
                    found.append(float(model(inputs).square().mean()))
                model.train()
        return found

    def make() -> nn.Module:
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        return nn.Sequential(nn.Linear(16, 16), nn.TransformerEncoder(layer, 2), nn.Linear(16, 1))

    recorded_and_not(make, loop, tmp_path)
    assert "head_entropy/1.layers.0.self_attn.0" in read_run(tmp_path).series


def test_a_weight_that_is_worked_out_is_not_looked_at(tmp_path: Path) -> None:
    """Each look at a spectral norm in training is a step of its power iteration."""

    def make() -> nn.Module:
        return nn.Sequential(parametrizations.spectral_norm(nn.Embedding(100, 8)), nn.Linear(8, 4))

    recorded_and_not(make, lambda model, optimizer, step: steps(model, optimizer, step, call=model), tmp_path)


def test_a_function_round_the_model_is_compiled_in_one_graph(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def loop(model: nn.Module, optimizer: torch.optim.Optimizer, step: Callable[[Tensor], None]) -> None:
        call = torch.compile(lambda tokens: model(tokens), backend="eager", fullgraph=True)
        steps(model, optimizer, step, call=call)

    with caplog.at_level(logging.WARNING):
        recorded_and_not(lambda: build(dropout=0.0)[0], loop, tmp_path)
    assert "is it compiled" in caplog.text
    assert caplog.text.count("are not recorded") == 1


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")  # dynamo looks at it
@pytest.mark.parametrize("budget", [0.01, None])
@pytest.mark.parametrize("what", ["function", "model", "blocks", "block in place"])
def test_what_is_compiled_after_the_recorder_was_made_is_not_compiled_again_and_again(
    tmp_path: Path, what: str, budget: float | None
) -> None:
    torch._dynamo.reset()
    graphs: list[int] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(1)
        return graph.forward

    model, optimizer = build(dropout=0.0)
    call: Callable[[nn.Module, Tensor], Tensor] = loss_of
    after: list[int] = []
    with Recorder(model, optimizer, tmp_path, budget=budget) as recorder:
        called: nn.Module = model
        if what == "function":
            call = torch.compile(loss_of, backend=backend)
        elif what == "model":
            called = torch.compile(model, backend=backend)  # pyright: ignore[reportAssignmentType]
        elif what == "blocks":
            for block in model.blocks:
                block.compile(backend=backend)
        else:
            model.blocks[1] = torch.compile(model.blocks[1], backend=backend)  # pyright: ignore[reportArgumentType]
        for tokens in batches(12):
            loss = call(called, tokens)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
            after.append(len(graphs))
        assert recorder.recording
    assert after[1:] == [after[1]] * 11
    found = read_run(tmp_path)
    assert len(found.series["loss/train"]) == 12
    if budget is None:
        assert len(found.series["grad_norm/pre"]) == 12
        assert len(found.series["grad_carried"]) >= 11  # the look of the step after the first hangs on its call
    if what.startswith("block"):
        assert "activations" in found.header.config["sismo"]["off"]


def test_gradients_of_single_samples_are_left_alone(tmp_path: Path) -> None:
    def loop(model: nn.Module, optimizer: torch.optim.Optimizer, step: Callable[[Tensor], None]) -> None:
        def loss_of_one(weights: dict[str, Tensor], tokens: Tensor) -> Tensor:
            return torch.func.functional_call(model, weights, (tokens[None],)).square().mean()

        for tokens in batches(3):
            weights = {name: weight.detach() for name, weight in model.named_parameters()}
            gradients, losses = torch.func.vmap(torch.func.grad_and_value(loss_of_one), (None, 0))(weights, tokens)
            for name, weight in model.named_parameters():
                weight.grad = gradients[name].mean(0)
            optimizer.step()
            step(losses.mean())

    recorded_and_not(lambda: nn.Sequential(nn.Embedding(100, 8), nn.Linear(8, 4)), loop, tmp_path)


@_SCRIPTS
def test_parts_that_are_scripts_are_left_out(tmp_path: Path) -> None:
    def make() -> nn.Module:
        scripted = torch.jit.script(nn.Sequential(nn.Linear(8, 8), nn.ReLU()))
        return nn.Sequential(nn.Embedding(100, 8), scripted, nn.Linear(8, 4))

    recorded_and_not(make, lambda model, optimizer, step: steps(model, optimizer, step, call=model), tmp_path)
    assert "act_mean_abs/0" in read_run(tmp_path).series


@_SCRIPTS
def test_a_script_is_recorded_without_what_needs_hooks(tmp_path: Path) -> None:
    def make() -> nn.Module:
        return torch.jit.script(nn.Sequential(nn.Embedding(100, 8), nn.Linear(8, 4)))

    recorded_and_not(make, lambda model, optimizer, step: steps(model, optimizer, step, call=model), tmp_path)


@_SCRIPTS
def test_a_recorded_model_can_be_made_a_script_and_keeps_the_hooks_of_others(tmp_path: Path) -> None:
    def loop(model: nn.Module, optimizer: torch.optim.Optimizer, step: Callable[[Tensor], None]) -> list[Tensor]:
        calls: list[int] = []
        found: list[Tensor] = []
        for tokens in batches(4):
            found.append(torch.jit.script(model)(tokens).detach())
            handle = model.register_forward_hook(lambda *given: calls.append(1))
            loss = model(tokens).square().mean()
            handle.remove()
            loss.backward()
            optimizer.step()
            step(loss)
        assert len(calls) == 4
        return [one.sum().item() for one in found]  # type: ignore[misc]

    recorded_and_not(lambda: nn.Sequential(nn.Embedding(100, 8), nn.Linear(8, 4)), loop, tmp_path)
    assert read_run(tmp_path).series["batch/length"].steps.tolist() == [0, 1, 2, 3]
    assert read_run(tmp_path).series["act_mean_abs/1"].steps.tolist() == [0, 1, 2, 3]


def test_a_model_that_trains_in_evaluation_mode_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, optimizer = build()
    model.eval()
    with Recorder(model, optimizer, tmp_path) as recorder:
        train(model, optimizer, 2, recorder.step)
    assert "call model.train()" in caplog.text


def test_a_model_whose_parts_are_called_one_by_one_is_recorded_at_every_step(tmp_path: Path) -> None:
    class Parts(nn.ModuleDict):
        pass

    model, optimizer = build()
    shell = Parts({"inner": model})
    with Recorder(shell, optimizer, tmp_path, budget=None) as recorder:
        for tokens in batches(3):
            loss = loss_of(model, tokens)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
    assert read_run(tmp_path).series["act_mean_abs/inner.wte"].steps.tolist() == [0, 1, 2]


@pytest.mark.parametrize("named", [False, True])
def test_the_batch_of_a_loop_that_calls_the_parts_is_that_of_the_part_it_calls_first(tmp_path: Path, named: bool) -> None:
    class Parts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.unused, self.head, self.encoder = nn.Linear(2, 2), nn.Linear(6, 1), nn.Sequential(nn.Linear(7, 6), nn.ReLU())

    torch.manual_seed(0)
    model = Parts()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    inputs = [torch.randn(3, 7) for _ in range(5)]
    inputs[3] = inputs[2]
    inputs[4] = inputs[4] / 0
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        with torch.no_grad():
            model.head(torch.zeros(1, 6))
        for batch in inputs:
            loss = model.head(model.encoder(input=batch) if named else model.encoder(batch)).square().mean()
            loss.backward()
            optimizer.step()
            recorder.step(loss)
        assert sum(len(module._forward_pre_hooks) for module in model.encoder) < 3  # but for those that measure
    found = read_run(tmp_path).series
    assert found["batch/length"].values.tolist() == [7.0] * 5
    assert found["batch/repeats"].values.tolist() == [1.0, 1.0, 1.0, 2.0, 1.0]
    assert found["batch/nonfinite"].values.tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_nothing_waits_for_parts_where_the_model_itself_is_called(tmp_path: Path) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path) as recorder:
        train(model, optimizer, 1, recorder.step)
        assert not recorder._hooks._parts


def test_results_of_any_kind_are_read_as_they_lie() -> None:
    values = torch.ones(2, 3)
    assert floating(torch.max(values, 1)) is not None
    probable = torch.distributions.Categorical(probs=values)
    floating(probable)
    assert "logits" not in vars(probable)
    assert floating(torch.distributions.Categorical(logits=values)) is not None
    assert floating({"loss": values[0, 0], "states": (values,)}) is values
    assert floating(values.to_sparse()) is None


def test_a_recorder_that_was_closed_before_a_later_one_does_nothing_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    was = (torch.autograd.backward, clip_grad._get_total_norm, torch._C._nn.cross_entropy_loss)
    one, other = build(), build()
    recorders = [Recorder(*parts, tmp_path / name) for parts, name in ((one, "a"), (other, "b"))]
    for parts, recorder in zip((one, other), recorders, strict=True):
        train(*parts, 2, recorder.step)
    for recorder in recorders:
        recorder.close()
    looks: list[int] = []
    monkeypatch.setattr(clock, "seconds", lambda: looks.append(1) or 0.0)
    for parts in (one, other):
        train(*parts, 2, lambda loss: None)
    assert not looks
    assert (torch.autograd.backward, clip_grad._get_total_norm, torch._C._nn.cross_entropy_loss) == was
