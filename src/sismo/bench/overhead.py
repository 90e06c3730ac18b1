"""What recording costs, on one CPU thread.

The recorder and the bare loop train the same model on the same batches, step by step in turn, so that a slow second of the machine hits
both; a pair of steps gives one ratio. Two transformers, of 3.7 and 10 million parameters. All panels; the default budget, and
everything at every step. trainscope's default runs in the same way in the same minutes, where it is installed. The first step, which
measures everything, is told apart from the others. Times are CPU seconds of the process, so that what else runs on the machine does not
count; or by the clock on the wall.
"""

from __future__ import annotations

import copy
import importlib.util
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from sismo.recorder import Recorder

MAX_MEAN, MAX_STEP, MAX_FULL = 1.01, 1.1, 1.30
"""What is aimed at: mean and worst step with the default budget, mean with everything at every step."""
SIZES = {"3.7 M": (256, 4), "10 M": (384, 5)}
"""Width and blocks of the two models."""
_VOCABULARY, _LENGTH, _BATCH, _HEADS = 1000, 128, 8, 4
_SETTLED = 5
"""Steps before those that count: caches and the cost of each job are learnt there."""


class Transformer(nn.Module):
    """Token embedding, encoder layers with a causal mask, norm, head."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(_VOCABULARY, width)
        layer = nn.TransformerEncoderLayer(width, _HEADS, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, blocks, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, _VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.norm(self.layers(self.embed(tokens), mask=mask, is_causal=True)))


class Loop:
    """One training loop, a step at a time."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), 3e-4)
        self.record: Callable[[Tensor], Any] = lambda loss: None

    def step(self, tokens: Tensor, clock: Callable[[], float]) -> float:
        """Seconds of one step."""
        began = clock()
        loss = functional.cross_entropy(self.model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.record(loss)
        return clock() - began


@dataclass(frozen=True, slots=True)
class Cost:
    """Ratios of the steps of a recorded loop to those of the bare one beside it."""

    name: str
    first: float
    mean: float
    median: float
    worst: float
    noise: float

    def __str__(self) -> str:
        return (
            f"{self.name:34} mean {self.mean:6.3f}  median {self.median:6.3f}  worst step {self.worst:6.3f}"
            f"  (first step {self.first:5.2f}; bare against bare: worst {self.noise:5.3f})"
        )


def measure(name: str, width: int, blocks: int, steps: int, attach: Callable[[Loop, ExitStack], None], clock: Callable[[], float]) -> Cost:
    """Trains three copies of a model in turn: bare, bare again, and recorded."""
    torch.manual_seed(0)
    model = Transformer(width, blocks)
    bare, again, recorded = Loop(model), Loop(copy.deepcopy(model)), Loop(copy.deepcopy(model))
    times: list[tuple[float, float, float]] = []
    with ExitStack() as stack:
        attach(recorded, stack)
        for number, tokens in enumerate(_batches(steps + _SETTLED)):
            # Who comes first takes turns: the second finds the batch in the cache.
            order = [bare, again, recorded]
            order = order[number % 3 :] + order[: number % 3]
            took = {id(loop): loop.step(tokens, clock) for loop in order}
            times.append((took[id(bare)], took[id(again)], took[id(recorded)]))
    settled = times[_SETTLED:]
    ratios = [mine / min(one, two) for one, two, mine in settled]
    typical = statistics.median(one for one, _, _ in settled)
    return Cost(
        name,
        times[0][2] / times[0][0],
        sum(mine for _, _, mine in settled) / sum((one + two) / 2 for one, two, _ in settled),
        statistics.median(mine / ((one + two) / 2) for one, two, mine in settled),
        # One step against the usual one: against its own neighbours, a short neighbour would look like a long step.
        max(mine for _, _, mine in settled) / typical if ratios else float("nan"),
        max(two for _, two, _ in settled) / typical,
    )


def _batches(count: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        yield torch.randint(0, _VOCABULARY, (_BATCH, _LENGTH + 1), generator=generator)


def _sismo(budget: float | None) -> Callable[[Loop, ExitStack], None]:
    def attach(loop: Loop, stack: ExitStack) -> None:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        recorder = stack.enter_context(Recorder(loop.model, loop.optimizer, folder + "/run", budget=budget))
        loop.record = recorder.step

    return attach


def _trainscope(loop: Loop, stack: ExitStack) -> None:
    from trainscope import TrainScope, TrainScopeConfig  # pyright: ignore[reportMissingImports]

    folder = stack.enter_context(tempfile.TemporaryDirectory())
    peer: Any = TrainScope(loop.model, loop.optimizer, TrainScopeConfig(run_dir=folder)).attach()
    stack.callback(peer.detach)
    loop.record = lambda loss: peer.step(loss.item())


def run(steps: int = 120, *, beside: bool = True, wall: bool = False) -> bool:
    """Prints a line for each model and way of recording; ``beside`` is whether other recorders that are installed run too.

    Returns whether all bounds hold.
    """
    torch.set_num_threads(1)
    clock = time.perf_counter if wall else time.process_time
    print(f"torch {torch.__version__}, {platform.machine()}, 1 thread, load {os.getloadavg()[0]:.1f}, {steps} steps")
    broken = False
    for size, (width, blocks) in SIZES.items():
        count = sum(parameter.numel() for parameter in Transformer(width, blocks).parameters())
        print(f"{size}: {count / 1e6:.1f} M parameters, width {width}, {blocks} blocks, {_BATCH} × {_LENGTH} tokens")
        default = measure("sismo, budget 0.01", width, blocks, steps, _sismo(0.01), clock)
        full = measure("sismo, everything at every step", width, blocks, steps // 2, _sismo(None), clock)
        print(default, full, sep="\n", flush=True)
        if importlib.util.find_spec("trainscope") and beside:
            print(measure("trainscope, its default", width, blocks, steps // 2, _trainscope, clock), flush=True)
        broken |= default.mean > MAX_MEAN or default.worst > MAX_STEP or full.mean > MAX_FULL
    return not broken
