"""The exam: one healthy run and three that fail, each in one way, to be told apart by their pages before the envelope is opened."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from sismo.errors import RunFormatError, UsageError
from sismo.judge import diagnose
from sismo.lab import parts, sealed
from sismo.lab.catalogue import faults, tasks
from sismo.lab.changes import setting
from sismo.lab.faults import bad_init
from sismo.lab.folders import PAGE, all_or_nothing, page
from sismo.lab.sealed import Answer, Paper
from sismo.lab.train import train
from sismo.lab.types import Fault, Setup
from sismo.postmortem import CauseItem, PostMortem
from sismo.records.reader import read_run
from sismo.report.language import Language
from sismo.tree.catalogue import causes

__all__ = ["EXAM", "FAILURES", "HEALTHY", "PAGE", "UNKNOWN", "Mark", "Options", "answer", "make", "marks", "reveal", "said", "sit"]

EXAM, HEALTHY = "19-break-it", "19-healthy"
FAILURES = ("bad-init", "no-warmup", "broken-mask")
UNKNOWN = "unknown"
"""The answer of who says that the page does not show it, and which probe would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What all four runs have in common, and how far the weights of the first failure are inflated.

    Attributes:
        naive_loss: log(softmax) instead of log-softmax. scale: factor of the bad initialisation. The others: see ``types.Settings``.
    """

    seed: int = 0
    steps: int = 2000
    lr: float = 3e-3
    layout: str = "rows"
    norm: str = "pre"
    init: str = "gpt2"
    naive_loss: bool = False
    scale: float = bad_init.FACTOR

    def setup(self) -> Setup:
        """The healthy setup."""
        plain = setting(
            tasks()["mini-gpt"].setup,
            seed=self.seed,
            total_steps=self.steps,
            lr=self.lr,
            lr_min=self.lr / 10,
            layout=self.layout,
            norm=self.norm,
            init=self.init,
        )
        return replace(plain, loss=parts.naive_cross_entropy) if self.naive_loss else plain

    def failure(self, name: str) -> Fault:
        """One of the three failures."""
        return bad_init.fault(self.scale) if name == "bad-init" else faults()[name]


class Mark(NamedTuple):
    """One answer beside the truth."""

    number: str
    answer: Answer
    fault: Fault
    right: bool


def make(root: Path, options: Options, language: Language, advance: Callable[[], None], *, again: bool = False) -> None:
    """Trains the healthy run and the three failures under ``root``, and seals which is which.

    Arguments:
        advance: called after each of the ``4 * options.steps`` steps. again: whether an exam that is there may be thrown away.

    Nothing is left behind of an exam that is not finished. Raises ``UsageError`` for an exam that is there already.
    """
    order = list(FAILURES)
    random.Random(f"exam {options.seed}").shuffle(order)
    truth = {f"{number:02}": name for number, name in enumerate(order, start=1)}
    setup = options.setup()
    with all_or_nothing(root, [EXAM, HEALTHY], again=again) as draft:
        train(setup, draft / HEALTHY, lambda step: advance())
        for number, name in truth.items():
            train(options.failure(name).corrupt(setup), draft / EXAM / number, lambda step: advance())
        sealed.write(draft / EXAM, Paper(asdict(options), sealed.envelope(truth)))
        page(draft / HEALTHY, language, path=root / HEALTHY)
        for number in truth:
            page(draft / EXAM / number, language, path=root / EXAM / number, closed=True)
        _same_time(draft / EXAM)


def answer(root: Path, number: str, name: str, because: str) -> str:
    """Writes a diagnosis down; one that is there is replaced. Returns the run's number: it may be called 1 for 01.

    Raises ``UsageError`` for a run or a name that is not there, without a reason, and after the envelope was opened.
    """
    paper = sealed.read(root / EXAM)
    if paper.revealed:
        raise UsageError("the exam is revealed, and an answer counts only before; `sismo lab run --again` makes a new one")
    number = number.zfill(2)
    if number not in paper.numbers:
        raise UsageError(f"there is no run {number!r}; the runs are {', '.join(paper.numbers)}")
    if name not in (*FAILURES, UNKNOWN) and name not in causes():
        names = ", ".join((*FAILURES, UNKNOWN))
        raise UsageError(f"{name!r} is no failure and no cause; say one of {names}, or the id of a cause")
    if not because.strip():
        raise UsageError("say what the diagnosis rests on: --because")
    paper.answers[number] = Answer(name, because.strip())
    sealed.write(root / EXAM, paper)
    return number


def reveal(root: Path, language: Language) -> list[Mark]:
    """Opens the envelope, marks the answers, and writes the pages with their verdicts. Raises ``UsageError`` while an answer is missing."""
    paper = sealed.read(root / EXAM)
    missing = [number for number in paper.numbers if number not in paper.answers]
    if missing:
        raise UsageError(
            f"no answer yet for {', '.join(missing)}: the diagnoses come first (sismo lab answer {missing[0]} NAME --because ...)"
        )
    marked = marks(paper)
    paper.revealed = True
    sealed.write(root / EXAM, paper)  # before a page tells anything
    for number in paper.numbers:
        page(root / EXAM / number, language)
    return marked


def marks(paper: Paper) -> list[Mark]:
    """Every answer beside the truth; each run must have one. Raises ``RunFormatError`` for an exam that was tampered with."""
    try:
        options = Options(**dict[str, Any](paper.options))
        return [_mark(number, paper.answers[number], options, name) for number, name in sorted(paper.truth().items())]
    except (TypeError, KeyError) as error:
        raise RunFormatError(sealed.FILE, "an exam that sismo lab run wrote") from error


def sit(root: Path) -> None:
    """sismo answers every question itself, from what stands in the run folders."""
    every = {number: said(diagnose(read_run(root / EXAM / number))) for number in sealed.read(root / EXAM).numbers}
    for number, (name, because) in every.items():
        answer(root, number, name, because)


def said(document: PostMortem) -> tuple[str, str]:
    """What a verdict answers, and why.

    Who sits the exam knows that one thing is wrong with the run, so the first finding counts even where it is a note. Findings that cannot
    be told apart, and none, are the answer unknown, with what would decide.
    """
    first = next((cause for cause in document.causes if not cause.consequence_of), None)
    if first is None:
        return UNKNOWN, "; ".join(dict.fromkeys(f"{item.asks} {item.how}" for item in document.unknown))
    evidence = "; ".join(str(item.text) for item in first.evidence)
    if first.twins:
        return UNKNOWN, f"{first.id} / {' / '.join(first.twins)}: {evidence}. {_decider(first)}"
    return first.id, evidence


def _decider(cause: CauseItem) -> str:
    return str(cause.decider or cause.confirm)


def _mark(number: str, given: Answer, options: Options, name: str) -> Mark:
    fault = options.failure(name)
    told = given.name == fault.id or given.name in fault.truth
    honest = given.name == UNKNOWN and fault.hidden(options.setup().settings) and fault.probe in given.because.lower()
    return Mark(number, given, fault, told or honest)


def _same_time(folder: Path) -> None:
    """The times of files must not tell how long a run took."""
    now = time.time()
    for path in folder.rglob("*"):
        os.utime(path, (now, now))
