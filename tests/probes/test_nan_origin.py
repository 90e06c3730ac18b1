"""A non-finite number is put into a known place of a step: the probe names that place, and nothing is changed by looking."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from probes.models import SUBJECTS, available, loss_fn, made
from recorder import loops
from torch import Tensor, nn
from torch.nn import functional

import sismo
from sismo.errors import UsageError
from sismo.probes.nan_origin import nan_origin
from sismo.probes.origins import Kind, Origin

DTYPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


class Leak(torch.autograd.Function):
    """Returns its input, and a NaN as its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * math.nan


def zero(x: Tensor) -> Tensor:
    return (x * 0).float()


FORWARD: dict[str, Callable[[Tensor], Tensor]] = {
    "log": lambda x: -zero(x).log(),
    "div": lambda x: zero(x) / zero(x),
    "sqrt": lambda x: (zero(x) - 1).sqrt(),
    "exp": lambda x: (zero(x) + 200).exp(),
    "mul": lambda x: (zero(x) + 1e30) * 1e30,
    "softmax": lambda x: zero(x).masked_fill(torch.ones_like(x, dtype=torch.bool), -math.inf).softmax(-1),
    "to_copy": lambda x: (zero(x) + 1e5).half().float(),
    "rsqrt": lambda x: zero(x).rsqrt(),
}
"""What is added to a module's output, by the operation that loses it."""

BACKWARD: dict[str, Callable[[Tensor], Tensor]] = {
    "sqrt": lambda x: zero(x).abs().sqrt(),
    "pow": lambda x: zero(x) ** 0.5,
    "leak": Leak.apply,  # pyright: ignore[reportAssignmentType]
    "log": lambda x: torch.where(torch.ones_like(x, dtype=torch.bool), zero(x), zero(x).log()),
}
"""The same for operations whose value is finite and whose gradient is not."""

LOSS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "log": lambda scores, labels: -((scores.float() * 1e6).softmax(-1) * 0).log().gather(-1, labels[:, None]).mean(),
    "mean": lambda scores, labels: scores.float()[labels < 0].mean(),
    "nll_loss": lambda scores, labels: functional.cross_entropy(scores.float(), torch.full_like(labels, -100)),
    "div": lambda scores, labels: (scores.float().logsumexp(-1) * (labels < 0)).sum() / (labels < 0).sum(),
    "log_softmax": lambda scores, labels: functional.nll_loss((scores.float() * 0).fill_(-math.inf).log_softmax(-1), labels),
}
"""Losses that are lost in the operation of that name, over finite scores."""


class Case(NamedTuple):
    """A fault, and what the probe has to say about it."""

    model: str
    dtype: str
    kind: Kind
    module: str
    op: str

    def __str__(self) -> str:
        return "-".join(str(part) or "loss" for part in self)


def cases() -> Iterator[Case]:
    for model, dtype in itertools.product(SUBJECTS, DTYPES):
        parts = list(SUBJECTS[model].parts.values())
        at = list(DTYPES).index(dtype)
        for number, op in enumerate(FORWARD):
            yield Case(model, dtype, Kind.FORWARD, parts[(number + at) % len(parts)], op)
        for number, op in enumerate(BACKWARD):
            # A whole-number input has no gradient, so nothing is lost going back into it.
            yield Case(model, dtype, Kind.BACKWARD, parts[(number + at) % len(parts)], op)
        yield from (Case(model, dtype, Kind.LOSS, "", op) for op in LOSS)
        used = SUBJECTS[model].used
        yield from (Case(model, dtype, Kind.OPTIMIZER, used.rpartition(".")[0], op) for op in ("exp_avg_sq", "exp_avg", "sqrt"))
        yield Case(model, dtype, Kind.OPTIMIZER, "", "lr")
        yield Case(model, dtype, Kind.BAD_WEIGHT, used.rpartition(".")[0], used)
        yield Case(model, dtype, Kind.FORWARD, used.rpartition(".")[0], "overflow")


def spoil(module: nn.Module, change: Callable[[Tensor], Tensor]) -> None:
    """Adds something to what a module returns, inside its own forward."""
    original = module.forward

    def forward(*arguments: Any, **options: Any) -> Any:
        out = original(*arguments, **options)
        first = out[0] if isinstance(out, tuple) else out
        spoilt = first + change(first)
        return (spoilt, *out[1:]) if isinstance(out, tuple) else spoilt

    module.forward = forward  # type: ignore[method-assign]


def probe(case: Case) -> Origin:
    model, batch = made(case.model)
    loss = loss_fn(case.model, DTYPES[case.dtype])
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    used = model.get_parameter(SUBJECTS[case.model].used)
    if case.op == "overflow":
        with torch.no_grad():
            used.mul_(1e38).mul_(1e38) if case.dtype != "fp16" else used.copy_(used.sign() * 6e4)
            used.clamp_(-1e38, 1e38)
            model.get_submodule(case.module).register_forward_pre_hook(lambda _, inputs: (inputs[0] + 1e3, *inputs[1:]))
    elif case.kind in (Kind.FORWARD, Kind.BACKWARD):
        spoil(model.get_submodule(case.module), (FORWARD if case.kind is Kind.FORWARD else BACKWARD)[case.op])
    elif case.kind is Kind.LOSS:
        subject = SUBJECTS[case.model]
        lost = LOSS[case.op]
        return nan_origin(model, batch, lambda m, b: lost(subject.scores(m, b), subject.labels(b)), autocast=DTYPES[case.dtype])
    elif case.kind is Kind.BAD_WEIGHT:
        used.data.view(-1)[1] = math.nan
    elif case.op == "lr":
        optimizer.param_groups[0]["lr"] = math.nan
    else:
        loss(model, batch).backward()
        optimizer.step()
        model.zero_grad()
        key, value = ("exp_avg_sq", -1.0) if case.op == "sqrt" else (case.op, math.inf)
        optimizer.state[used][key].view(-1)[0] = value
    return nan_origin(model, batch, loss, optimizer)


MATRIX_PRODUCTS = {"addmm", "mm", "bmm", "linear", "convolution", "conv2d", "mkldnn_convolution"}


@pytest.mark.parametrize("case", [pytest.param(case, id=str(case)) for case in cases()])
def test_the_place_that_was_spoilt_is_named(case: Case) -> None:
    if not available(case.model):
        pytest.skip("transformers is not installed")
    found = probe(case)
    assert (found.kind, found.module) == (case.kind, case.module), found
    assert found.op == case.op or (case.op == "overflow" and found.op in MATRIX_PRODUCTS), found
    if case.kind in (Kind.FORWARD, Kind.LOSS, Kind.BACKWARD):
        assert found.phase == case.kind.value
        assert found.output is not None
        assert not found.output.finite
        assert all(operand.finite for operand in found.inputs) or case.op in ("softmax", "log_softmax")


def test_there_are_enough_faults() -> None:
    assert len(list(cases())) >= 200


@pytest.mark.parametrize("name", [name for name in SUBJECTS if available(name)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sound_step_is_sound(name: str, dtype: str) -> None:
    model, batch = made(name)
    found = nan_origin(model, batch, loss_fn(name, DTYPES[dtype]), torch.optim.AdamW(model.parameters(), 1e-3))
    assert not found.found
    phases = list(dict.fromkeys(check.phase for check in found.trail))
    order = ("inputs", "weights", "buffers", "forward", "loss", "backward", "gradients", "update", "optimizer-state")
    assert phases == [phase for phase in order if phase in phases]
    assert {"inputs", "weights", "forward", "loss", "backward", "gradients", "update", "optimizer-state"} <= set(phases)
    assert all(check.value.finite for check in found.trail)


def test_nothing_is_changed() -> None:
    model, optimizer = loops.build()
    batch = loops.batches(1)[0]
    loops.train(model, optimizer, 2)
    loops.loss_of(model, batch).backward()
    before = loops.digest(model, optimizer, [parameter.grad for parameter in model.parameters() if parameter.grad is not None])
    groups = [dict(group) for group in optimizer.param_groups]
    nan_origin(model, batch, loops.loss_of, optimizer)
    after = loops.digest(model, optimizer, [parameter.grad for parameter in model.parameters() if parameter.grad is not None])
    assert before == after
    assert groups == [dict(group) for group in optimizer.param_groups]
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_nothing_is_changed_when_the_loss_fails() -> None:
    model, optimizer = loops.build()
    before = loops.digest(model, optimizer, [])

    def fails(model: nn.Module, batch: Tensor) -> Tensor:
        loops.loss_of(model, batch)
        raise ValueError("boom")

    with pytest.raises(UsageError, match="ValueError: boom"):
        nan_origin(model, loops.batches(1)[0], fails, optimizer)
    assert loops.digest(model, optimizer, []) == before


@pytest.mark.parametrize("returned", [None, torch.zeros(3), 1.0])
def test_a_loss_that_is_none_is_refused(returned: object) -> None:
    model, _ = loops.build()
    with pytest.raises(UsageError, match="one element"):
        nan_origin(model, loops.batches(1)[0], lambda model, batch: returned)


def test_a_batch_that_is_not_finite() -> None:
    model, batch = made("conv-net")
    batch["images"][1, 0, 2, 2] = math.inf
    found = nan_origin(model, batch, loss_fn("conv-net"))
    assert (found.kind, found.op, found.phase) == (Kind.BAD_INPUT, "images", "inputs")


def test_a_mask_in_the_batch_is_no_bad_input() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    batch = {"x": torch.randn(2, 5, 8), "mask": torch.full((5, 5), -math.inf).triu(1)}
    assert not nan_origin(layer, batch, lambda model, batch: model(batch["x"], src_mask=batch["mask"]).sum()).found


def test_a_row_without_a_visible_key_is_the_fault_of_the_softmax() -> None:
    class Attend(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            return (self.q(x) @ self.k(x).mT).masked_fill(~mask, -math.inf).softmax(-1) @ x

    mask = torch.ones(2, 3, 3).tril().bool()
    sound = nan_origin(Attend(), (torch.randn(2, 3, 4), mask), lambda model, batch: model(*batch).sum())
    mask = mask & (torch.arange(3) != 0)  # the first query sees nothing now
    found = nan_origin(Attend(), (torch.randn(2, 3, 4), mask), lambda model, batch: model(*batch).sum())
    assert not sound.found
    assert (found.kind, found.op) == (Kind.FORWARD, "softmax")


def test_a_loss_inside_the_model_is_a_loss() -> None:
    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(4, 3)

        def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
            scores = self.head(x)
            return {"loss": functional.cross_entropy(scores, labels), "scores": scores}

    batch = {"x": torch.randn(2, 4), "labels": torch.full((2,), -100)}
    found = nan_origin(Whole(), batch, lambda model, batch: model(**batch)["loss"])
    assert (found.kind, found.op) == (Kind.LOSS, "nll_loss")


def test_what_half_precision_cannot_hold_is_an_overflow() -> None:
    found = probe(Case("mini-gpt", "fp16", Kind.FORWARD, SUBJECTS["mini-gpt"].used.rpartition(".")[0], "overflow"))
    assert found.overflow
    assert found.report().data["op"] == "half-overflow"


def test_a_loss_scale_too_large_for_the_gradients() -> None:
    model, batch = made("mini-gpt")
    loss = loss_fn("mini-gpt", torch.float16)
    assert not nan_origin(model, batch, loss, loss_scale=1024.0).found
    found = nan_origin(model, batch, loss, loss_scale=2.0**40)
    assert found.kind is Kind.BACKWARD
    assert found.overflow


def test_the_public_name() -> None:
    assert sismo.nan_origin is nan_origin


def of(value: Callable[[Tensor], Tensor]) -> dict[str, object]:
    """What the probe says of a loss that is made of the outputs of a layer, all of them 0."""
    layer = nn.Linear(4, 3)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    found = nan_origin(layer, torch.randn(5, 4), lambda model, batch: value(model(batch)))
    return dict(found.report().data)


ROOTS: dict[str, Callable[[Tensor], Tensor]] = {
    "sqrt": lambda y: y.square().sum(-1).sqrt().mean(),
    "pow": lambda y: (y.square().sum(-1) ** 0.5).mean(),
    "acos": lambda y: (1 - y).acos().mean(),
}


@pytest.mark.parametrize("op", ROOTS)
def test_a_derivative_that_is_infinite_at_the_edge_is_told_by_its_operation(op: str) -> None:
    said = of(ROOTS[op])
    assert (said["op"], said["operation"], said["phase"], said["where"], said["what"]) == ("backward", op, "backward", op, "operation")


def test_a_division_whose_gradient_is_lost_is_no_root() -> None:
    said = of(lambda y: torch.where(y.sum(-1) > 0, 1 / y.sum(-1), torch.zeros(5)).mean())
    assert (said["op"], said["phase"]) == ("other-backward", "backward")


def test_a_mean_over_nothing_is_told_from_other_divisions() -> None:
    assert of(lambda y: y[:0].mean())["over"] == "nothing"
    assert of(lambda y: nn.functional.cross_entropy(y, torch.full((5,), -100)))["over"] == "nothing"
    assert of(lambda y: (1 / y).mean())["over"] == "something"


def test_the_table_ends_at_the_origin_and_counts_what_descends_from_it() -> None:
    from sismo.report.language import language
    from sismo.report.page import Page
    from sismo.report.probe import render

    model, _ = loops.build(dropout=0.0)
    model.blocks[0].mlp[1].register_forward_hook(lambda module, inputs, output: output / (output * 0))
    report = nan_origin(model, loops.batches(1)[0], loops.loss_of).report()
    assert report.until is not None
    assert [row[-1] for row in report.rows[: report.until]].count("no") == 1
    short, full = (render(report, Page(language("en"), width=200, verbose=verbose)) for verbose in (False, True))
    assert "later rows: --verbose)" in short
    assert short.splitlines()[-2].split()[:2] == ["forward", "blocks.0.mlp.1"]
    assert len(full.splitlines()) > len(report.rows)


def _rows() -> Tensor:
    return torch.rand(4, 8, generator=torch.Generator().manual_seed(0)) + 0.5


class _Through(nn.Module):
    """One operation between two layers."""

    def __init__(self, inner: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(8, 8), _Does(inner), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.middle(self.first(x)))


class _Does(nn.Module):
    def __init__(self, inner: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def _spectrum(x: Tensor) -> Tensor:
    """Made bad in complex numbers, or before them."""
    return torch.fft.irfft(torch.fft.rfft((x * 0).log(), dim=1), n=x.shape[1], dim=1)


def _spectrum_itself(x: Tensor) -> Tensor:
    made = torch.fft.rfft(x, dim=1)
    return torch.fft.irfft(made / (made * 0), n=x.shape[1], dim=1)


@pytest.mark.parametrize(
    ("inner", "op"),
    [
        (_spectrum, "log"),
        (_spectrum_itself, "div"),
        (lambda x: x.clone().mul_(0).log_() + x, "log"),
        (lambda x: x.clone().div_(x * 0), "div"),
        (lambda x: x + x.clone().fill_(0.0).reciprocal_(), "reciprocal"),
    ],
)
def test_complex_numbers_and_changes_in_place_are_followed(inner: Callable[[Tensor], Tensor], op: str) -> None:
    found = nan_origin(_Through(inner), _rows(), lambda model, batch: model(batch).square().mean())
    assert (found.kind, found.where) == (Kind.FORWARD, f"middle: {op}")


@pytest.mark.parametrize("constant", [torch.tensor(float("nan")), 1 / torch.tensor([0.0])])
def test_a_constant_of_the_code_is_not_the_batch(constant: Tensor) -> None:
    def inside(x: Tensor) -> Tensor:
        return x * constant - x * constant

    def in_loss(model: nn.Module, batch: Tensor) -> Tensor:
        return (model(batch) * constant - model(batch) * constant).mean()

    for model, loss, module in ((_Through(inside), _mean, "middle"), (_Through(lambda x: x), in_loss, "")):
        found = nan_origin(model, _rows(), loss)
        if constant.isnan().any():  # two infinities of different sign are an operation's affair
            assert (found.kind, found.module) == (Kind.BAD_CONSTANT, module)
        report = found.report()
        assert report.data["inputs"] == "finite"
        assert "The batch is not finite" not in str(report.verdict)


def _mean(model: nn.Module, batch: Tensor) -> Tensor:
    return model(batch).mean()


class _Normed(torch.optim.Optimizer):
    """Divides each gradient by a norm that is 0; ``listed`` with operations on whole lists, in place or not."""

    def __init__(self, parameters: Any, way: str) -> None:
        super().__init__(parameters, {"lr": 0.1})
        self.way = way

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        held = [one for group in self.param_groups for one in group["params"]]
        gradients = [one.grad for one in held]
        if self.way == "listed":
            torch._foreach_add_(held, torch._foreach_div(gradients, torch._foreach_norm([one * 0 for one in gradients])))
        elif self.way == "listed in place":
            torch._foreach_div_(gradients, torch._foreach_norm([one * 0 for one in gradients]))
            torch._foreach_add_(held, gradients)
        else:
            for one, gradient in zip(held, gradients, strict=True):
                one.data.numpy()[...] = gradient.numpy() * np.float32("nan")


@pytest.mark.parametrize(("way", "op"), [("listed", "foreach_div"), ("listed in place", "foreach_div"), ("unseen", "PyTorch does not see")])
def test_an_update_that_is_lost_is_never_called_finite(way: str, op: str) -> None:
    model = _Through(lambda x: x)
    found = nan_origin(model, _rows(), _mean, _Normed(model.parameters(), way))
    assert (found.kind, found.phase) == (Kind.OPTIMIZER, "update")
    assert op in found.op


def test_a_number_that_is_lost_and_found_again_is_not_called_finite() -> None:
    """The logarithm of 0 behind a ReLU: the loss is finite, and what the sentence says of the rest is true."""
    report = nan_origin(_Through(lambda x: (x * 0).log().relu() + x), _rows(), _mean).report()
    assert report.found
    assert "forward pass is finite" not in str(report.verdict)
