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
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from sismo.bench import tables
from sismo.bench.loops import BATCH, LENGTH, Attach, Done, Loop, Transformer, bare, made, train
from sismo.errors import SismoError
from sismo.recorder import Recorder
from sismo.records.reader import read_run

MAX_MEAN, MAX_STEP, MAX_FULL = 1.01, 1.1, 1.30
"""What is aimed at: mean and worst step with the default budget, mean with everything at every step."""
COMPILED = "3.7 M, compiled"
SIZES = {"3.7 M": (256, 4), "10 M": (384, 5), COMPILED: (256, 4)}
"""Width and blocks of the models."""
_DEFAULT, _FULL = "sismo, default budget", "sismo, everything every step"
_HEADER = ("model", "loop", "mean", "median (95 %)", "first step", "worst other", "inside: mean", "inside: worst step", "target")


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


def measure(
    model: nn.Module, steps: int, ways: Mapping[str, Attach], raw: Callable[[], float], *, passes: int, compiled: bool = False
) -> list[Cost]:
    """Trains copies of a model in turn, so many times: two bare ones, and one for each way of recording."""
    done: list[list[Done]] = []
    for _ in range(passes):
        tapes = [loop.tape for loop in done[0]] if done else [None] * (2 + len(ways))
        done.append(train([partial(made, model, raw, tape, compiled) for tape in tapes], steps, [bare, bare, *ways.values()]))
    one, two, *others = ([loop.seconds for loop in again] for again in zip(*done, strict=True))
    beside = [[(a + b) / 2 for a, b in zip(*pair, strict=True)] for pair in zip(one, two, strict=True)]
    costs = [_cost("bare, against the other bare one", two, one)]
    counted = [loop.counted for loop in done[0][2:]]
    return [*costs, *(_cost(name, mine, beside, **count) for name, mine, count in zip(ways, others, counted, strict=True))]


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


def _sismo(budget: float | None) -> Attach:
    def attach(loop: Loop, stack: ExitStack) -> Callable[[], Mapping[str, float]]:
        folder = stack.enter_context(tempfile.TemporaryDirectory()) + "/run"
        recorder = stack.enter_context(Recorder(loop.model, loop.optimizer, folder, budget=budget))
        loop.record = recorder.step

        def count() -> Mapping[str, float]:
            if not recorder.recording:
                raise SismoError("recording stopped in the middle, so that its cost is not known")
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
        f" {passes} passes of {steps} steps of each loop in turn, a process each, {BATCH} × {LENGTH} tokens; load average"
        f" {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end, on {os.cpu_count()} cores. Of each step the least that it took"
        " in a pass: the first against the bare first, the worst other against the usual bare one. Inside: the share of a step"
        " that sismo's own code took, by its own count: the mean with the first step, the worst without it."
    )
    print(how)
    if write:
        tables.write_section("overhead", "What recording costs (`sismo bench overhead`)", f"{how}\n\n{tables.markdown(_HEADER, rows)}")
    return not broken
