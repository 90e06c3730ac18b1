"""What a user's own ``build()`` looks like, and what it looks like when it is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import torch
from recorder import loops
from torch import Tensor, nn


def build() -> tuple[nn.Module, Any, torch.optim.Optimizer]:
    """A model, its loss, its optimizer."""
    model, optimizer = loops.build()
    return model, loops.loss_of, optimizer


def naive() -> tuple[nn.Module, Any]:
    """A loss that takes the log of a probability that may be 0."""
    model, _ = loops.build()

    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        logits = 1e4 * model(batch[:, :-1])
        return -logits.softmax(-1).log().gather(-1, batch[:, 1:, None]).mean()

    return model, loss


def talks() -> tuple[nn.Module, Any]:
    """The same, and it says so, when it is built and for every loss."""
    model, inner = naive()
    print("building")  # noqa: T201

    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        print("a batch of", tuple(batch.shape))  # noqa: T201
        return inner(model, batch)

    return model, loss


def raises() -> None:
    """An entry point that fails."""
    raise RuntimeError("no data here")


def nothing() -> int:
    """An entry point that returns something else."""
    return 1


# Entry points with something wrong in them, each in one way


def _step(model: nn.Module, batch: Any, optimizer: torch.optim.Optimizer) -> None:
    loops.loss_of(model, batch).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


def _rows(start: int, count: int = 8) -> list[dict[str, Tensor]]:
    tokens = torch.randint(0, 97, (count, 20), generator=torch.Generator().manual_seed(start))
    return [{"input_ids": tokens, "labels": tokens.clone()}]


def with_loader() -> tuple[Any, ...]:
    """A model whose batches come from a loader."""
    return *build(), None, loops.batches(2)


def whole() -> tuple[Any, ...]:
    """Everything that a probe can use, and nothing wrong with it."""
    model, optimizer = loops.build(dropout=0.0)
    return model, loops.loss_of, optimizer, _step, _rows(1), _rows(2)


def overlapping() -> tuple[Any, ...]:
    """The validation rows are training rows."""
    return (*whole()[:4], _rows(1), _rows(1))


def unlabelled() -> tuple[Any, ...]:
    """A training batch without a label that carries loss."""
    batch = _rows(1)[0]
    return (*whole()[:4], [{**batch, "labels": torch.full_like(batch["labels"], -100)}], _rows(2))


def cut_off() -> tuple[Any, ...]:
    """A block whose output is detached."""
    made = whole()
    made[0].blocks[0].attn.register_forward_hook(lambda module, inputs, output: output.detach())
    return made


def piles() -> tuple[Any, ...]:
    """A loop that never clears its gradients."""

    def step(model: nn.Module, batch: Any, optimizer: torch.optim.Optimizer) -> None:
        loops.loss_of(model, batch).backward()
        optimizer.step()

    return (*whole()[:3], step)


def clips_scaled() -> tuple[Any, ...]:
    """A loop that clips scaled gradients."""

    def step(model: nn.Module, batch: Any, optimizer: torch.optim.Optimizer) -> None:
        scaler = torch.amp.GradScaler("cpu")
        scaler.scale(loops.loss_of(model, batch)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        optimizer.zero_grad()

    return (*whole()[:3], step)


def evaluates() -> tuple[Any, ...]:
    """A loop that trains in evaluation mode."""

    def step(model: nn.Module, batch: Any, optimizer: torch.optim.Optimizer) -> None:
        model.eval()
        _step(model, batch, optimizer)

    return (*whole()[:3], step)


def large() -> tuple[Any, ...]:
    """Weights that start a hundred times too large."""
    made = whole()
    with torch.no_grad():
        for module in made[0].modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                module.weight.mul_(100)
    return made


class _Dying(nn.Module):
    """Thirty layers that each halve what goes through them, and more than halve what comes back."""

    def __init__(self) -> None:
        super().__init__()
        self.wte = nn.Embedding(97, 16)
        self.layers = nn.Sequential(*(part for _ in range(30) for part in (nn.Linear(16, 16), nn.Sigmoid())))
        self.head = nn.Linear(16, 97)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.layers(self.wte(tokens)))


def dying() -> tuple[Any, ...]:
    """A deep net of sigmoids."""
    torch.manual_seed(0)
    model = _Dying()
    return model, loops.loss_of, torch.optim.AdamW(model.parameters())


def sees_ahead() -> tuple[Any, ...]:
    """Every place is moved by the one after it."""
    made = whole()
    made[0].ln_f.register_forward_hook(lambda module, inputs, output: output + output.roll(-1, 1))
    return made


def flaky() -> tuple[Any, ...]:
    """A machine that computes something else each time."""
    made = whole()
    made[0].ln_f.register_forward_hook(lambda module, inputs, output: output * (1 + int.from_bytes(os.urandom(1), "little") / 100))
    return made


def no_optimizer() -> tuple[Any, ...]:
    """Model and loss only."""
    return whole()[:2]


def on_meta() -> tuple[Any, ...]:
    """A model without memory behind it."""
    model, loss, optimizer = build()
    return model.to("meta"), loss, optimizer


def other_shape() -> tuple[Any, ...]:
    """A model that does not take such a batch."""
    model = nn.Linear(3, 1)
    return model, lambda model, batch: model(batch).mean(), torch.optim.SGD(model.parameters(), 0.1)


def too_many() -> tuple[Any, ...]:
    """Seven parts."""
    return (*whole(), 7)


def interrupts() -> None:
    """Somebody presses Ctrl-C while the data is loaded."""
    raise KeyboardInterrupt


def loop_fails() -> tuple[Any, ...]:
    """A loop that raises."""

    def step(model: nn.Module, batch: Any, optimizer: torch.optim.Optimizer) -> None:
        raise ValueError("no such key")

    return (*whole()[:3], step)


def loader_fails() -> tuple[Any, ...]:
    """A loader that raises at its second batch."""

    def batches() -> Iterator[Any]:
        yield _rows(1)[0]
        raise OSError("the disk is gone")

    return (*whole()[:4], batches(), _rows(2))


def words() -> tuple[Any, ...]:
    """A loader of text that nobody tokenised."""
    return (*whole()[:4], [["a", "b"]], [["a"]])


def no_parameters() -> tuple[Any, ...]:
    """A model that has nothing to train."""
    return nn.Identity(), lambda model, batch: model(batch).float().mean()


def says_a_number() -> tuple[Any, ...]:
    """A loss function that returns a float."""
    return (whole()[0], lambda model, batch: float(loops.loss_of(model, batch)), whole()[2])


def leaves() -> None:
    """An entry point that ends the process."""
    raise SystemExit(3)


def loop_idles() -> tuple[Any, ...]:
    """A loop without a step."""
    return (*whole()[:3], lambda model, batch, optimizer: None)
