"""What recording costs, on one CPU thread: ``sismo bench overhead [--wall] [--write]``.

Some loops train the same model on the same batches, each in a process of its own and a step of each in turn: two bare ones, sismo with its
default budget, sismo with everything at every step, and the defaults of trainscope and trainpulse where they are installed. A slow second
of the machine hits all of them, and every step is compared with the mean of the two bare ones beside it. Two transformers, of 3.7 and 10
million parameters, and the smaller one compiled, without the others. The first step stands by itself: a model is compiled in it, and sismo
measures how the run starts.

Times are CPU seconds of the thread, so that what else runs on the machine does not count; ``--wall`` for the clock on the wall. A step
can still be twice as long because of what others did to the caches, so that all of it is done several times, with the same work at the
same steps (see ``turns``): a mean is that of all passes, and the worst step is the worst of those that each step took at best. What noise
is left the second bare loop tells. Two more numbers come from inside sismo: the share of the time that its own code took, over all steps
of the first pass, and in the worst but the first.
"""

from __future__ import annotations

import importlib.util
import itertools
import multiprocessing
import os
import platform
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from sismo.bench import tables
from sismo.bench.turns import Time
from sismo.errors import SismoError
from sismo.recorder import Recorder
from sismo.records.reader import read_run

MAX_MEAN, MAX_STEP, MAX_FULL = 1.01, 1.1, 1.30
"""What is aimed at: mean and worst step with the default budget, mean with everything at every step."""
COMPILED = "3.7 M, compiled"
SIZES = {"3.7 M": (256, 4), "10 M": (384, 5), COMPILED: (256, 4)}
"""Width and blocks of the models."""
_VOCABULARY, _LENGTH, _BATCH, _HEADS = 1000, 128, 8, 4
_DEFAULT, _FULL = "sismo, default budget", "sismo, everything every step"
_HEADER = ("model", "loop", "mean", "median (95 %)", "first step", "worst other", "inside: mean", "inside: worst step", "target")


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
    """One training loop, a step at a time. ``time`` is its clock, ``norm`` that of the last gradient, ``seconds`` what each step took."""

    def __init__(self, model: nn.Module, raw: Callable[[], float], tape: Sequence[float] | None) -> None:
        self.model = model
        self.time, self._raw = Time(raw, tape), raw
        self.norm = torch.zeros(())
        self.optimizer = torch.optim.AdamW(model.parameters(), 3e-4)
        self.record: Callable[[Tensor], Any] = lambda loss: None
        self.seconds: list[float] = []

    def step(self, tokens: Tensor) -> None:
        """Trains on one batch."""
        began = self._raw()
        loss = functional.cross_entropy(self.model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        self.norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.record(loss)
        self.seconds.append(self._raw() - began)


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
    first: float
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
            f"{self.first:.3f}",
            f"{self.worst:.3f}",
            *inside,
            target,
        )


class Done(NamedTuple):
    """What is left of a loop: the seconds of its steps, what its clock showed, and what sismo counted itself."""

    seconds: list[float]
    tape: list[float]
    counted: Mapping[str, float]


def measure(
    model: nn.Module, steps: int, ways: Mapping[str, Attach], raw: Callable[[], float], *, passes: int, compiled: bool = False
) -> list[Cost]:
    """Trains copies of a model in turn, so many times: two bare ones, and one for each way of recording."""
    done: list[list[Done]] = []
    for _ in range(passes):
        tapes = [loop.tape for loop in done[0]] if done else [None] * (2 + len(ways))
        done.append(_train([partial(_loop, model, raw, tape, compiled) for tape in tapes], steps, [_bare, _bare, *ways.values()]))
    one, two, *others = ([loop.seconds for loop in again] for again in zip(*done, strict=True))
    beside = [[(a + b) / 2 for a, b in zip(*pair, strict=True)] for pair in zip(one, two, strict=True)]
    costs = [_cost("bare, against the other bare one", two, one)]
    counted = [loop.counted for loop in done[0][2:]]
    return [*costs, *(_cost(name, mine, beside, **count) for name, mine, count in zip(ways, others, counted, strict=True))]


def _loop(model: nn.Module, raw: Callable[[], float], tape: Sequence[float] | None, compiled: bool) -> Loop:
    return Loop(cast("nn.Module", torch.compile(model)) if compiled else model, raw, tape)


def _train(makes: Sequence[Callable[[], Loop]], steps: int, ways: Sequence[Attach]) -> list[Done]:
    """One pass. Each loop has a process: a recorder sees every loss of its own, also those of other loops."""
    with ExitStack() as stack:
        running: list[_Running] = []
        for make, attach in zip(makes, ways, strict=True):
            running.append(stack.enter_context(_started(make, steps, attach, [other.pipe for other in running])))
        for number in range(steps):
            # Who comes first takes turns: the second finds the machine warm.
            first = number % len(running)
            for one in [*running[first:], *running[:first]]:
                one.asked()
        return [one.asked() for one in running]


class _Running(NamedTuple):
    """A loop in its process."""

    process: BaseProcess
    pipe: Connection

    def asked(self) -> Any:
        """What the loop answers when it is its turn. Raises ``SismoError`` where it is no more."""
        try:
            self.pipe.send(None)
            return self.pipe.recv()
        except (EOFError, OSError) as error:
            self.process.join()
            code = self.process.exitcode or 0
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended early with exit code {code}, and says above why"
            raise SismoError(f"a loop of the benchmark {how}: there is nothing to compare; run it again") from error


@contextmanager
def _started(make: Callable[[], Loop], steps: int, attach: Attach, others: Sequence[Connection]) -> Iterator[_Running]:
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, [mine, *others], make, steps, attach), daemon=True)
    process.start()
    theirs.close()
    try:
        yield _Running(process, mine)
    finally:
        mine.close()
        process.join()


def _serve(pipe: Connection, inherited: Sequence[Connection], make: Callable[[], Loop], steps: int, attach: Attach) -> None:
    """The life of one loop, a step whenever it is asked for one, and what is left of it in the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the process that asks
    for end in inherited:  # or nobody would see that the process that asks is no more
        end.close()
    loop = make()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError), ExitStack() as stack:
        with loop.time.turn():
            count = attach(loop, stack)
        for tokens in _batches(steps):
            pipe.recv()
            with loop.time.turn():
                loop.step(tokens)
            pipe.send(None)
        pipe.recv()
        loop.time.check()
        pipe.send(Done(loop.seconds, loop.time.tape, count()))


def _cost(name: str, mine: Sequence[Sequence[float]], bare: Sequence[Sequence[float]], **counted: float) -> Cost:
    """From the seconds of each step in each pass."""
    first = min(times[0] for times in mine) / min(times[0] for times in bare)
    mine, bare = ([times[1:] for times in passes] for passes in (mine, bare))
    ratios = sorted(a / b for some, others in zip(mine, bare, strict=True) for a, b in zip(some, others, strict=True))
    # The order statistics between which the median lies in 95 of 100 samples.
    half = 0.98 * len(ratios) ** 0.5
    low, high = (ratios[min(max(round(len(ratios) / 2 + sign * half), 0), len(ratios) - 1)] for sign in (-1, 1))
    # One step against the usual one: against its own neighbours, a short neighbour would look like a long step.
    worst = max(_at_best(mine)) / statistics.median(_at_best(bare))
    return Cost(name, sum(map(sum, mine)) / sum(map(sum, bare)), statistics.median(ratios), low, high, first, worst, **counted)


def _at_best(passes: Sequence[Sequence[float]]) -> list[float]:
    """The least that each step took in any pass."""
    return [min(times) for times in zip(*passes, strict=True)]


def _batches(count: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        yield torch.randint(0, _VOCABULARY, (_BATCH, _LENGTH + 1), generator=generator)


def _bare(loop: Loop, stack: ExitStack) -> Callable[[], Mapping[str, float]]:
    return dict


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


def run(steps: int = 60, passes: int = 3, *, beside: bool = True, wall: bool = False, write: bool = False) -> bool:
    """Prints a line for each model and way of recording; ``beside`` is whether other recorders that are installed run too.

    ``write``: into docs/results.md as well. Returns whether all bounds hold.
    """
    torch.set_num_threads(1)
    raw = time.perf_counter if wall else time.thread_time
    ours = {_DEFAULT: _sismo(0.01), _FULL: _sismo(None)}
    theirs = {f"{name}, its default": attach for name, attach in PEERS.items() if beside and importlib.util.find_spec(name)}
    targets = {_DEFAULT: f"mean <= {MAX_MEAN}, any step <= {MAX_STEP}", _FULL: f"mean <= {MAX_FULL}"}
    load = os.getloadavg()[0]
    rows: list[tuple[str, ...]] = []
    broken = False
    for size, (width, blocks) in SIZES.items():
        torch.manual_seed(0)
        compiled = size == COMPILED
        costs = measure(Transformer(width, blocks), steps, ours if compiled else ours | theirs, raw, passes=passes, compiled=compiled)
        rows += [cost.row(size, targets.get(cost.name, "")) for cost in costs]
        bare, default, full = costs[:3]
        # What the bare loops have as well is the machine's: the interval has to lie over the bound, and the worst step over theirs.
        slow = 1 + default.inside_worst > MAX_STEP or default.worst > max(MAX_STEP, bare.worst) or default.first > max(MAX_STEP, bare.first)
        broken |= default.low > MAX_MEAN or slow or full.low > MAX_FULL
        print(tables.plain(_HEADER, rows[-len(costs) :]), flush=True)
    how = (
        f"torch {torch.__version__}, {platform.machine()}, one thread, {'wall-clock' if wall else 'CPU'} seconds;"
        f" {passes} passes of {steps} steps of each loop in turn, a process each, {_BATCH} × {_LENGTH} tokens; load average"
        f" {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end, on {os.cpu_count()} cores. Of each step the least that it took"
        " in a pass: the first against the bare first, the worst other against the usual bare one. Inside: the share of a step"
        " that sismo's own code took, by its own count: the mean with the first step, the worst without it."
    )
    print(how)
    if write:
        tables.write_section("overhead", "What recording costs (`sismo bench overhead`)", f"{how}\n\n{tables.markdown(_HEADER, rows)}")
    return not broken
