"""Every formula against a plain one in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recorder.loops import batches, build, loss_of, train
from torch import Tensor, nn
from torch.nn import functional

from sismo.recorder import Recorder
from sismo.recorder.fingerprint import Fingerprint, number
from sismo.recorder.panels import activations, attention, spectral, units
from sismo.recorder.scene import scene
from sismo.recorder.shield import Shield
from sismo.records.reader import read_run
from sismo.records.types import Run


def recorded(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, inputs: list[Tensor], **options: object) -> Run:
    """Every step in full, with the sum of squares of the output as the loss."""
    with Recorder(model, optimizer, path, budget=None, **options) as recorder:  # pyright: ignore[reportArgumentType]
        for one in inputs:
            loss = model(one).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
        assert recorder.recording
    return read_run(path)


def norm(tensors: list[Tensor]) -> float:
    return math.sqrt(sum(float(tensor.double().square().sum()) for tensor in tensors))


@pytest.mark.parametrize("budget", [0.5, None])
def test_gradient_norms_before_and_after_clipping(tmp_path: Path, budget: float | None) -> None:
    model, optimizer = build()
    expected: list[tuple[float, float, float]] = []
    with Recorder(model, optimizer, tmp_path, budget=budget) as recorder:
        for tokens in batches(4):
            loss = loss_of(model, tokens)
            loss.backward()
            gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
            block = [parameter.grad for parameter in model.blocks[1].parameters() if parameter.grad is not None]
            pre, one = norm(gradients), norm(block)
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            expected.append((pre, norm(gradients), one))
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
    run = read_run(tmp_path)
    for column, name in enumerate(("grad_norm/pre", "grad_norm/post", "grad_norm_group/blocks.1")):
        # The global norms are there at every step; those by block where there was time for them.
        series = run.series[name]
        assert len(series) == 4 or (column == 2 and budget)
        np.testing.assert_allclose(series.values, [expected[step][column] for step in series.steps.tolist()], rtol=1e-5)
    members = [name for name in run.series if name.startswith("grad_norm_group/")]
    assert members == [f"grad_norm_group/{block}" for block in ("wte", "blocks.0", "blocks.1", "ln_f", "head")]


def test_clipping_by_value_and_no_clipping(tmp_path: Path) -> None:
    from torch.nn.utils import clip_grad_value_

    for name, clip in (("value", 1e-3), ("none", None)):
        model, optimizer = build()
        tokens = batches(1)[0]
        with Recorder(model, optimizer, tmp_path / name, budget=None) as recorder:
            loss = loss_of(model, tokens)
            loss.backward()
            gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
            pre = norm(gradients)
            if clip:
                clip_grad_value_(model.parameters(), clip)
            post = norm(gradients)
            optimizer.step()
            recorder.step(loss)
        run = read_run(tmp_path / name)
        assert run.series["grad_norm/pre"].values[0] == pytest.approx(pre, rel=1e-5)
        if clip:
            assert run.series["grad_norm/post"].values[0] == pytest.approx(post, rel=1e-5)
        else:
            assert "grad_norm/post" not in run.series


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_weights_updates_and_adam(tmp_path: Path, fused: bool, scaled: bool) -> None:
    model, _ = build()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=scaled)
    group = optimizer.param_groups[0]
    expected: list[tuple[float, float, float]] = []
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for number, tokens in enumerate(batches(3), 1):
            loss = loss_of(model, tokens)
            scaler.scale(loss).backward()
            before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
            gradients = {
                name: parameter.grad / scaler.get_scale() for name, parameter in model.named_parameters() if parameter.grad is not None
            }
            scaler.step(optimizer)
            scaler.update()
            weights = norm(list(before.values()))
            update = norm([parameter.detach() - before[name] for name, parameter in model.named_parameters()])
            ratios = []
            for name, parameter in model.named_parameters():
                v = optimizer.state[parameter]["exp_avg_sq"].double() / (1 - group["betas"][1] ** number)
                ratios.append((gradients[name].double().square() / v.clamp(min=group["eps"] ** 2)).flatten())
            expected.append((weights, update / weights, float(torch.cat(ratios).mean().sqrt())))
            optimizer.zero_grad()
            recorder.step(loss)
    run = read_run(tmp_path)
    found = np.array([run.series[f"{family}/0"].values for family in ("weight_norm", "update_ratio", "adam_rms")]).T
    np.testing.assert_allclose(found, np.array(expected), rtol=1e-4)
    assert "weight_norm/blocks.1" in run.series


def test_activation_statistics() -> None:
    values = torch.randn(3, 5, 7)
    values[0, 0, 0] = 1.9e38  # over half of the largest number
    mean, largest, nonfinite, near = (float(one) for one in activations.statistics(values))
    assert mean == pytest.approx(float(values.double().abs().mean()), rel=1e-6)
    assert (largest, nonfinite) == (float(values.max()), 0)
    assert near == pytest.approx(1 / 105)
    half = torch.tensor([1.0, -40000.0, math.inf, math.nan], dtype=torch.float16)
    mean, _, nonfinite, near = (float(one) for one in activations.statistics(half))
    assert math.isnan(mean)
    assert (nonfinite, near) == (2, 0.25)


def test_activations_are_those_of_the_layer(tmp_path: Path) -> None:
    model, optimizer = build(dropout=0.0)
    tokens = batches(1)[0]
    outputs: dict[str, Tensor] = {}
    for name in ("wte", "blocks.0.attn", "blocks.1.mlp", "ln_f", "head"):
        model.get_submodule(name).register_forward_hook(lambda _m, _a, out, name=name: outputs.update({name: out.detach().clone()}))
    with Recorder(model, optimizer, tmp_path) as recorder:
        loss_of(model, tokens).backward()
        optimizer.step()
        recorder.step(1.0)
    run = read_run(tmp_path)
    for name, output in outputs.items():
        assert run.series[f"act_mean_abs/{name}"].values[0] == pytest.approx(float(output.double().abs().mean()), rel=1e-5)
        assert run.series[f"act_max_abs/{name}"].values[0] == float(output.abs().max())


@pytest.mark.parametrize("shape", [(64, 64), (32, 200), (300, 20)])
def test_spectral_norm_follows_the_matrix(shape: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(3)
    matrix = torch.randn(shape, generator=generator)
    vector: Tensor | None = None
    for visit in range(12):
        value, vector = spectral.look(matrix, vector, visit)
        exact = float(torch.linalg.matrix_norm(matrix.double(), 2))
        assert float(value) <= exact * (1 + 1e-5)
        assert float(value) == pytest.approx(exact, rel=0.01 if visit >= len(spectral.WARMUP) - 1 else 0.1)
        matrix += 0.01 * torch.randn(shape, generator=generator)


def test_a_spoilt_matrix_does_not_spoil_the_vector() -> None:
    matrix = torch.eye(4)
    _, vector = spectral.look(matrix, None, 0)
    value, kept = spectral.look(matrix * math.nan, vector, 5)
    assert math.isnan(float(value))
    assert torch.equal(kept, vector)


@pytest.mark.parametrize("shape", [(2, 300), (300, 2), (4, 4), (64, 32), (128, 32), (256, 1024), (1024, 256), (16, 27), (512, 512)])
@pytest.mark.parametrize("seed", range(3))
def test_the_spectral_norm_of_a_random_matrix_is_near_at_once_and_right_after_four_looks(shape: tuple[int, int], seed: int) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    exact = float(torch.linalg.matrix_norm(matrix.double(), 2))
    vector, last = None, 0.9 * exact
    for visit in range(6):
        value, vector = spectral.look(matrix, vector, visit)
        assert last * (1 - 1e-5) < float(value) < exact * (1 + 1e-5)
        last = float(value)
        if visit == len(spectral.WARMUP) - 1:
            assert last > 0.99 * exact


@pytest.mark.parametrize("before", [1, 2, 4, 6])
def test_a_matrix_that_starts_at_zero_is_measured_when_it_grows(before: int) -> None:
    vector = None
    for visit in range(before):
        value, vector = spectral.look(torch.zeros(8, 4), vector, visit)
        assert float(value) == 0
    grown = torch.outer(torch.arange(8.0), torch.tensor([1.0, 2.0, 0.0, 0.0]))
    value, vector = spectral.look(grown, vector, before)
    assert float(value) == pytest.approx(float(torch.linalg.matrix_norm(grown, 2)), rel=1e-3)


class Units(nn.Module):
    """64 units, 48 of them forced dead; on tokens or on an image, through a module or a function."""

    def __init__(self, kind: str, *, function: bool = False) -> None:
        super().__init__()
        conv = kind == "image"
        self.mlp = nn.Module()
        self.mlp.up = nn.Conv2d(3, 64, 1) if conv else nn.Linear(8, 64)
        self.mlp.act = nn.Identity() if function else nn.GELU() if kind == "gelu" else nn.ReLU()
        self.mlp.down = nn.Conv2d(64, 3, 1) if conv else nn.Linear(64, 8)
        self.function = function
        with torch.no_grad():
            self.mlp.up.bias[:48] = -100.0  # pyright: ignore[reportIndexIssue, reportOptionalSubscript]

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.mlp.act(self.mlp.up(x))  # pyright: ignore[reportCallIssue]
        return self.mlp.down(functional.relu(hidden) if self.function else hidden)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("kind", "function", "shape"),
    [
        ("tokens", False, (4, 10, 8)),
        ("gelu", False, (4, 10, 8)),
        ("rows", False, (40, 8)),
        ("image", False, (4, 3, 6, 6)),
        ("tokens", True, (4, 10, 8)),
    ],
)
def test_48_of_64_dead_units_are_75_percent(tmp_path: Path, kind: str, function: bool, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    model = Units(kind, function=function)
    run = recorded(tmp_path, model, torch.optim.SGD(model.parameters(), 1e-4), [torch.randn(shape) for _ in range(8)])
    (dead,) = run.family("dead_units")
    assert dead.values.tolist() == [0.75]


def _channels(x: Tensor) -> Tensor:
    """The same with 48 of 64 channels far below 0, on axis 1."""
    return x - torch.cat([torch.full((48,), 99.0), torch.zeros(16)])[:, None, None]


@pytest.mark.parametrize(
    "before",
    [
        lambda model, x: _channels(model.conv(x)),
        lambda model, x: _channels(model.conv(x)).movedim(1, -1),
        lambda model, x: _channels(model.conv(x)).flatten(2).transpose(1, -1),
        lambda model, x: _channels(model.linear(model.norm(model.conv(x).permute(0, 2, 3, 1))).permute(0, -1, 1, 2)),
        lambda model, x: _channels(model.linear(model.conv(x).movedim(1, -1)).movedim(-1, 1)).movedim(1, -1),
        lambda model, x: _channels(model.batch_norm(model.conv(x).clamp(min=-9) * 2).contiguous(memory_format=torch.channels_last)),
    ],
)
def test_units_lie_where_the_operation_that_made_them_has_them(tmp_path: Path, before: Callable[[Any, Tensor], Tensor]) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.ReLU()
            self.linear, self.conv = nn.Linear(64, 64), nn.Conv2d(3, 64, 1)
            self.norm, self.batch_norm = nn.LayerNorm(64), nn.BatchNorm2d(64)

        def forward(self, x: Tensor) -> Tensor:
            return self.act(before(self, x))

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.0)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for _ in range(units.WINDOW):
            loss = model(torch.randn(2, 3, 5, 5)).square().mean()
            loss.backward()
            optimizer.step()
            recorder.step(loss)
    assert read_run(tmp_path).series["dead_units/act"].values.tolist() == [0.75]


def test_units_that_are_not_finite_are_neither_dead_nor_alive(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Units("tokens")
    bad = torch.full((4, 10, 8), math.nan)
    run = recorded(tmp_path, model, torch.optim.SGD(model.parameters(), 0.0), [*[torch.randn(4, 10, 8) for _ in range(8)], bad, *[bad] * 7])
    (dead,) = run.family("dead_units")
    assert (dead.steps.tolist(), dead.values.tolist()) == ([7], [0.75])


def reference(query: Tensor, key: Tensor, visible: Tensor, scale: float) -> list[tuple[float, float]]:
    """Entropy over log(visible) and largest logit of each head, row by row."""
    found: list[tuple[float, float]] = []
    for head in range(query.shape[1]):
        entropies: list[float] = []
        largest = -math.inf
        for sample in range(query.shape[0]):
            for row in range(query.shape[2]):
                logits = (query[sample, head, row].double() @ key[sample, head].double().mT) * scale
                logits = logits[visible[row]]
                largest = max(largest, float(logits.max()))
                p = torch.softmax(logits, -1)
                if len(logits) > 1:
                    entropies.append(float(-(p * p.log()).sum()) / math.log(len(logits)))
        found.append((sum(entropies) / len(entropies), largest))
    return found


@pytest.mark.parametrize("mask", ["causal", "bool", "float", "none"])
def test_head_entropy_and_largest_logit(mask: str) -> None:
    torch.manual_seed(0)
    query, key = torch.randn(2, 3, 12, 8), torch.randn(2, 3, 12, 8)
    lower = torch.ones(12, 12, dtype=torch.bool).tril()
    given = {"causal": None, "none": None, "bool": lower, "float": torch.zeros(12, 12).masked_fill(~lower, -math.inf)}[mask]
    entropy, logit, masked, _ = attention.heads(query, key, given, mask == "causal", None)
    visible = torch.ones_like(lower) if mask == "none" else lower
    expected = reference(query, key, visible, 1 / math.sqrt(8))
    np.testing.assert_allclose(np.array([entropy.tolist(), logit.tolist()]).T, np.array(expected), rtol=1e-5)
    assert float(masked) == 0.0


@pytest.mark.parametrize(("mask", "share"), [("causal", 0.0), ("none", 1.0), ("padding", 1.0), ("prefix", 3 / 66), ("crossed", math.nan)])
def test_the_share_of_later_keys_that_are_seen(mask: str, share: float) -> None:
    query, key = torch.randn(1, 2, 12, 8), torch.randn(1, 2, 12 if mask != "crossed" else 9, 8)
    padded = torch.ones(12, dtype=torch.bool)
    padded[9:] = False
    prefix = torch.ones(12, 12, dtype=torch.bool).tril()
    prefix[:3, :3] = True
    given = {"padding": padded.expand(12, 12), "prefix": prefix}.get(mask)
    *_, future = attention.heads(query, key, given, mask == "causal", None)
    assert float(future) == pytest.approx(share, nan_ok=True)


def test_masked_rows_shared_keys_and_one_key_heads() -> None:
    query, key = torch.randn(2, 4, 8, 16), torch.randn(2, 2, 8, 16)
    hidden = torch.ones(8, 8, dtype=torch.bool)
    hidden[3] = False
    entropy, _, masked, _ = attention.heads(query, key, hidden, False, None)
    assert entropy.shape == (4,)
    assert float(masked) == pytest.approx(1 / 8)
    # Two heads that look at one key: a key that every query is parallel to.
    key = torch.zeros(1, 4, 8, 16)
    key[:, :2, 5] = 50.0
    entropy, _, _, _ = attention.heads(torch.ones(1, 4, 8, 16), key, None, False, None)
    assert int((entropy < 0.25).sum()) == 2
    np.testing.assert_allclose(entropy[2:].numpy(), 1.0, rtol=1e-6)


@pytest.mark.parametrize("outer", [(2, 1), (1, 3), (2, 3)])
def test_a_mask_for_many_axes_of_sequences_is_that_of_each_sequence(outer: tuple[int, int]) -> None:
    q, k = torch.randn(2, 3, 4, 6, 8), torch.randn(2, 3, 4, 6, 8)
    mask = torch.rand(*outer, 1, 6, 6) < 0.6
    flat = mask.expand(2, 3, 1, 6, 6).flatten(0, 1)
    expected = attention.heads(q.flatten(0, 1), k.flatten(0, 1), flat, False, None)
    for one, other in zip(attention.heads(q, k, mask, False, None), expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("seen", [True, False])
def test_attention_that_cannot_be_seen_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture, named: bool, seen: bool) -> None:
    class Mixing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scores, self.values = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            if seen:
                return functional.scaled_dot_product_attention(self.scores(x), self.scores(x), self.values(x))
            return (self.scores(x) @ x.mT).softmax(-1) @ self.values(x)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.add_module("attn" if named else "mixing", Mixing())
            self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

        def forward(self, x: Tensor) -> Tensor:
            mixing = self.get_submodule("attn" if named else "mixing")
            return self.down(self.up(mixing(x)).relu())

    model = nn.Sequential(Block(), Block())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for _ in range(2):
            loss = model(torch.randn(2, 5, 8)).square().mean()
            loss.backward()
            optimizer.step()
            recorder.step(loss)
    assert caplog.text.count("heads are not recorded") == (named and not seen)
    found = {name for name in read_run(tmp_path).series if name.startswith("act_mean_abs")}
    assert ({"act_mean_abs/0.attn", "act_mean_abs/0.down", "act_mean_abs/1.down"} <= found) is named


def test_attention_is_missed_only_when_every_layer_was_tried(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attn = nn.Sequential(nn.Linear(8, 8), nn.Softmax(-1))

        def forward(self, x: Tensor) -> Tensor:
            return self.attn(x)

    model = nn.Sequential(Layer(), Layer())
    seen = scene(model, torch.optim.SGD(model.parameters(), 0.1), Shield(lambda error: None))
    panel = attention.AttentionPanel(seen)
    for part, said in (("0.attn", False), ("0.attn", False), ("1.attn", True), ("1.attn", True)):
        panel.arm([part])
        for taps in seen.taps:
            taps.hang()
        model(torch.randn(2, 8))
        panel.on_step(None, None)
        assert ("heads are not recorded" in caplog.text) is said
    assert caplog.text.count("heads are not recorded") == 1


def test_attention_of_a_transformer_encoder(tmp_path: Path) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.Sequential(nn.Linear(4, 16), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(16, 1))
    run = recorded(tmp_path, model, torch.optim.AdamW(model.parameters()), [torch.randn(3, 9, 4) for _ in range(8)])
    heads = sorted(name for name in run.series if name.startswith("head_entropy/"))
    assert heads == [f"head_entropy/1.layers.{number}.self_attn.{head}" for number in (0, 1) for head in (0, 1)]
    assert len(list(run.family("dead_units"))) == 2


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


@pytest.mark.parametrize("clears", [True, False])
def test_what_a_step_finds_in_the_gradient(tmp_path: Path, clears: bool) -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.0)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for _ in range(4):
            for _ in range(2):  # two micro-batches, whose gradients are meant to be added
                model(torch.ones(2, 3)).mean().backward()
            optimizer.step()
            recorder.step(1.0)
            if clears:
                optimizer.zero_grad()
        assert not model.bias._backward_hooks
    found = read_run(tmp_path).series["grad_carried"].values.tolist()
    assert found == ([0, 0, 0, 0] if clears else [0, 2, 4, 6])  # each micro-batch gives the bias a gradient of 1


def test_a_learning_rate_is_that_of_the_step(tmp_path: Path) -> None:
    model, optimizer = build()
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) / 10)

    def step(loss: Tensor) -> None:
        schedule.step()
        recorder.step(loss)

    with Recorder(model, optimizer, tmp_path) as recorder:
        train(model, optimizer, 5, step)
    np.testing.assert_allclose(read_run(tmp_path).series["lr/0"].values, [1e-4, 2e-4, 3e-4, 4e-4, 5e-4])
