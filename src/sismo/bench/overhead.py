"""What recording costs, on one CPU thread: ``sismo bench overhead [--wall] [--write]``.

Some loops train the same model on the same batches, a step of each in turn: two bare ones, sismo with its default budget, sismo with
everything at every step, and the defaults of trainscope and trainpulse where they are installed. A slow second of the machine hits all
of them, and every step is compared with the mean of the two bare ones beside it. Two transformers, of 3.7 and 10 million parameters, and
the smaller one compiled, without the others. The first steps do not count: the model is compiled in the first one, sismo measures
everything in it, and the cost of each job is learnt there.

Times are CPU seconds of the thread, so that what else runs on the machine does not count; ``--wall`` for the clock on the wall. The
ratios still carry the noise of a shared machine, which the second bare loop tells. So two more numbers come from inside sismo: the share
of the time that its own code took, over all steps with the first one, and in the worst of the others.
"""

from __future__ import annotations

import copy
import importlib.util
import itertools
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from sismo.bench import tables
from sismo.recorder import Recorder, clock
from sismo.records.reader import read_run

MAX_MEAN, MAX_STEP, MAX_FULL = 1.01, 1.1, 1.30
"""What is aimed at: mean and worst step with the default budget, mean with everything at every step."""
COMPILED = "3.7 M, compiled"
SIZES = {"3.7 M": (256, 4), "10 M": (384, 5), COMPILED: (256, 4)}
"""Width and blocks of the models."""
_VOCABULARY, _LENGTH, _BATCH, _HEADS = 1000, 128, 8, 4
_SETTLED = 5
"""Steps before those that count."""
_DEFAULT, _FULL = "sismo, default budget", "sismo, everything every step"
_HEADER = ("model", "loop", "mean", "median (95 %)", "worst step", "inside: mean", "inside: worst step", "target")


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


class Turns:
    """A clock that stands still for a loop while others have their turn: a recorder must not take their time for that of its own steps."""

    def __init__(self, raw: Callable[[], float]) -> None:
        self._raw = raw
        self._shown = self._began = 0.0

    def __call__(self) -> float:
        return self._shown + self._raw() - self._began

    @contextmanager
    def turn(self, loop: Loop) -> Iterator[None]:
        """Goes on from where it stood for this loop."""
        self._shown, self._began = loop.clock, self._raw()
        yield
        loop.clock = self()


class Loop:
    """One training loop, a step at a time. ``clock`` is what its clock shows, ``norm`` that of the last gradient."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.clock = 0.0
        self.norm = torch.zeros(())
        self.optimizer = torch.optim.AdamW(model.parameters(), 3e-4)
        self.record: Callable[[Tensor], Any] = lambda loss: None
        self.seconds: list[float] = []

    def step(self, tokens: Tensor) -> None:
        """Trains on one batch."""
        began = clock.seconds()
        loss = functional.cross_entropy(self.model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        self.norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.record(loss)
        self.seconds.append(clock.seconds() - began)


Attach = Callable[[Loop, ExitStack], Callable[[], Mapping[str, float]]]
"""Starts recording a loop; the result tells afterwards what sismo counted itself."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Ratios of the steps of a loop to those of the bare ones beside it, with what sismo's own code took of a step, by its own count."""

    name: str
    mean: float
    median: float
    low: float
    high: float
    worst: float
    inside: float = float("nan")
    inside_worst: float = float("nan")

    def row(self, size: str, target: str) -> tuple[str, ...]:
        """The cells of a table."""
        inside = [f"{value:.4f}" if value == value else "" for value in (self.inside, self.inside_worst)]
        return (
            size,
            self.name,
            f"{self.mean:.3f}",
            f"{self.median:.3f} ({self.low:.3f}-{self.high:.3f})",
            f"{self.worst:.3f}",
            *inside,
            target,
        )


def measure(model: nn.Module, steps: int, ways: Mapping[str, Attach], turns: Turns, *, compiled: bool = False) -> list[Cost]:
    """Trains copies of a model in turn: two bare ones, and one for each way of recording."""
    copies = [copy.deepcopy(model) for _ in range(2 + len(ways))]
    loops = [Loop(cast("nn.Module", torch.compile(one)) if compiled else one) for one in copies]
    with ExitStack() as stack:
        counts: list[Callable[[], Mapping[str, float]]] = []
        for loop, attach in zip(loops[2:], ways.values(), strict=True):
            with turns.turn(loop):
                counts.append(attach(loop, stack))
        for number, tokens in enumerate(_batches(steps + _SETTLED)):
            # Who comes first takes turns: the second finds the batch in the cache.
            first = number % len(loops)
            for loop in loops[first:] + loops[:first]:
                with turns.turn(loop):
                    loop.step(tokens)
        counted = [count() for count in counts]
    one, two, *others = (loop.seconds[_SETTLED:] for loop in loops)
    beside = [(a + b) / 2 for a, b in zip(one, two, strict=True)]
    costs = [_cost("bare, against the other bare one", two, one)]
    return [*costs, *(_cost(name, mine, beside, **count) for name, mine, count in zip(ways, others, counted, strict=True))]


def _cost(name: str, mine: Sequence[float], bare: Sequence[float], **counted: float) -> Cost:
    ratios = sorted(a / b for a, b in zip(mine, bare, strict=True))
    # The order statistics between which the median lies in 95 of 100 samples.
    half = 0.98 * len(ratios) ** 0.5
    low, high = (ratios[min(max(round(len(ratios) / 2 + sign * half), 0), len(ratios) - 1)] for sign in (-1, 1))
    # One step against the usual one: against its own neighbours, a short neighbour would look like a long step.
    worst = max(mine) / statistics.median(bare)
    return Cost(name, sum(mine) / sum(bare), statistics.median(ratios), low, high, worst, **counted)


def _batches(count: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        yield torch.randint(0, _VOCABULARY, (_BATCH, _LENGTH + 1), generator=generator)


def _sismo(budget: float | None) -> Attach:
    def attach(loop: Loop, stack: ExitStack) -> Callable[[], Mapping[str, float]]:
        folder = stack.enter_context(tempfile.TemporaryDirectory()) + "/run"
        recorder = stack.enter_context(Recorder(loop.model, loop.optimizer, folder, budget=budget))
        loop.record = recorder.step

        def count() -> Mapping[str, float]:
            recorder.close()
            about: Any = read_run(folder).header.config["sismo"]
            return {"inside": about["cadence"]["share"], "inside_worst": about["cadence"]["worst_step"]}

        return count

    return attach


def _trainscope(loop: Loop, stack: ExitStack) -> Callable[[], Mapping[str, float]]:
    from trainscope import TrainScope, TrainScopeConfig  # pyright: ignore[reportMissingImports]

    folder = stack.enter_context(tempfile.TemporaryDirectory())
    peer: Any = TrainScope(loop.model, loop.optimizer, TrainScopeConfig(run_dir=folder)).attach()
    stack.callback(peer.detach)
    loop.record = lambda loss: peer.step(loss.item())
    return dict


def _trainpulse(loop: Loop, stack: ExitStack) -> Callable[[], Mapping[str, float]]:
    from trainpulse import TrainingCallback  # pyright: ignore[reportMissingImports]

    peer: Any = TrainingCallback()
    numbers = itertools.count()
    (group,) = loop.optimizer.param_groups
    loop.record = lambda loss: peer.on_step_end(next(numbers), loss=loss.item(), grad_norm=loop.norm.item(), lr=group["lr"])
    return dict


PEERS: Mapping[str, Attach] = {"trainscope": _trainscope, "trainpulse": _trainpulse}


def run(steps: int = 100, *, beside: bool = True, wall: bool = False, write: bool = False) -> bool:
    """Prints a line for each model and way of recording; ``beside`` is whether other recorders that are installed run too.

    ``write``: into docs/results.md as well. Returns whether all bounds hold.
    """
    torch.set_num_threads(1)
    clock.seconds = turns = Turns(time.perf_counter if wall else time.thread_time)
    ours = {_DEFAULT: _sismo(0.01), _FULL: _sismo(None)}
    theirs = {f"{name}, its default": attach for name, attach in PEERS.items() if beside and importlib.util.find_spec(name)}
    targets = {_DEFAULT: f"mean <= {MAX_MEAN}, worst <= {MAX_STEP}", _FULL: f"mean <= {MAX_FULL}"}
    load = os.getloadavg()[0]
    rows: list[tuple[str, ...]] = []
    broken = False
    for size, (width, blocks) in SIZES.items():
        torch.manual_seed(0)
        compiled = size == COMPILED
        costs = measure(Transformer(width, blocks), steps, ours if compiled else ours | theirs, turns, compiled=compiled)
        rows += [cost.row(size, targets.get(cost.name, "")) for cost in costs]
        _, default, full = costs[:3]
        # What the bare loops have as well is the machine's: the interval has to lie over the bound, and the worst step is counted inside.
        broken |= default.low > MAX_MEAN or 1 + default.inside_worst > MAX_STEP or full.low > MAX_FULL
        print(tables.plain(_HEADER, rows[-len(costs) :]), flush=True)
    how = (
        f"torch {torch.__version__}, {platform.machine()}, one thread, {'wall-clock' if wall else 'CPU'} seconds;"
        f" {steps} steps of each loop in turn, {_BATCH} × {_LENGTH} tokens; load average {load:.1f} at the start,"
        f" {os.getloadavg()[0]:.1f} at the end, on {os.cpu_count()} cores. Inside: the share of a step that sismo's own code took,"
        " by its own count: the mean with the first step, which measures everything, the worst without it."
    )
    print(how)
    if write:
        tables.write_section("overhead", "What recording costs (`sismo bench overhead`)", f"{how}\n\n{tables.markdown(_HEADER, rows)}")
    return not broken
