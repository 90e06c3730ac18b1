"""What is recorded of attention is what it says it is, against attention worked out plainly."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from recorder.recordings import recorded
from torch import Tensor, nn
from torch.nn import functional

from sismo.recorder import Recorder
from sismo.recorder.panels import attention
from sismo.recorder.scene import scene
from sismo.recorder.shield import Shield
from sismo.records.reader import read_run


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
