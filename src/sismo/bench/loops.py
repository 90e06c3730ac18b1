"""Training loops that take turns, a process each: a recorder sees every loss of its own process, also those of other loops."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from sismo.bench.turns import Time
from sismo.errors import SismoError

VOCABULARY, LENGTH, BATCH = 1000, 128, 8
"""Tokens that there are, tokens of a sequence, sequences of a batch."""
_HEADS = 4


class Transformer(nn.Module):
    """Token embedding, encoder layers with a causal mask, norm, head."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        layer = nn.TransformerEncoderLayer(width, _HEADS, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, blocks, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY)

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


class Done(NamedTuple):
    """What is left of a loop: the seconds of its steps, what its clock showed, and what sismo counted itself."""

    seconds: list[float]
    tape: list[float]
    counted: Mapping[str, float]


def made(model: nn.Module, raw: Callable[[], float], tape: Sequence[float] | None, compiled: bool) -> Loop:
    return Loop(cast("nn.Module", torch.compile(model)) if compiled else model, raw, tape)


def train(makes: Sequence[Callable[[], Loop]], steps: int, ways: Sequence[Attach]) -> list[Done]:
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
    torch.set_num_threads(1)
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


def bare(loop: Loop, stack: ExitStack) -> Callable[[], Mapping[str, float]]:
    """Nothing that records."""
    return dict


def _batches(count: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        yield torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1), generator=generator)
