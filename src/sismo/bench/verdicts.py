"""What sismo says about a file, reduced to what a yardstick needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sismo.errors import SismoError
from sismo.judge import diagnose
from sismo.postmortem import CauseItem, PostMortem
from sismo.records.types import Run
from sismo.sources import load
from sismo.tree.types import Diagnosis

_RANK = {"none": 0, "note": 0, "warning": 1, "broken": 2}


@dataclass(frozen=True, slots=True)
class Named:
    """One cause as it was named."""

    id: str
    severity: str
    confidence: float
    step: int | None
    twins: tuple[str, ...] = ()

    @property
    def alarms(self) -> bool:
        """Whether it is a warning or worse."""
        return _RANK[self.severity] > 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was said about one file.

    Attributes:
        causes: of the worst run in it, in rank order. healthy: of that run.
        codes: of the notes on all runs. runs: how many there were.
        error: the one line, when it could not be read. crashed: whether that was a bug of ours rather than a refusal.
    """

    causes: tuple[Named, ...] = ()
    healthy: bool | None = None
    codes: frozenset[str] = frozenset()
    runs: int = 0
    error: str = ""
    crashed: bool = False

    @property
    def first(self) -> Named | None:
        """The cause at the top, or None."""
        return self.causes[0] if self.causes else None

    @property
    def alarm(self) -> Named | None:
        """The cause at the top when it is a warning or worse, otherwise None."""
        return self.first if self.first is not None and self.first.alarms else None


def of_file(path: Path) -> Verdict:
    """Reads a file and judges every run in it; the verdict is that of the worst run, which is what a user sees first."""
    try:
        return of_runs(load(path))
    except SismoError as error:
        return Verdict(error=str(error))
    except Exception as error:  # a yardstick goes on and shows the crash as what it is
        return Verdict(error=f"{type(error).__name__}: {error}", crashed=True)


def of_runs(runs: list[Run]) -> Verdict:
    """The verdict on the worst of some runs."""
    documents = [diagnose(run) for run in runs]
    worst = max(documents, key=_badness)
    codes = frozenset(code for document in documents for code in document.note_codes)
    return Verdict(tuple(_named(cause) for cause in worst.causes), worst.healthy, codes, len(runs))


def of_diagnosis(diagnosis: Diagnosis) -> Verdict:
    """The verdict that a diagnosis amounts to."""
    named = (Named(f.cause.id, f.severity.value, f.confidence, f.step, f.twins) for f in diagnosis.findings)
    return Verdict(tuple(named), diagnosis.healthy, runs=1)


def _badness(document: PostMortem) -> tuple[int, float, bool]:
    first = document.causes[0] if document.causes else None
    return (_RANK[document.severity], first.confidence if first else 0.0, document.healthy is not True)


def _named(cause: CauseItem) -> Named:
    return Named(cause.id, cause.severity, cause.confidence, cause.step, tuple(cause.twins))
