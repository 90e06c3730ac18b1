"""One run with one fault, or of one healthy kind, that is not sealed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sismo.errors import UsageError
from sismo.lab.catalogue import faults, kinds, tasks
from sismo.lab.changes import setting
from sismo.lab.folders import all_or_nothing, page
from sismo.lab.train import train
from sismo.lab.types import Setup
from sismo.postmortem import PostMortem
from sismo.report.language import Language


class Job(NamedTuple):
    """A setup with a name, and the ids of the causes that it ought to be given: none for a healthy one."""

    name: str
    setup: Setup
    truth: tuple[str, ...]


def find(name: str, task: str | None, seed: int, steps: int) -> Job:
    """The job of a fault or a healthy kind. Raises ``UsageError`` for a name that is not there, or a task that it does not show on."""
    known = {**faults(), **kinds()}
    if name not in known:
        raise UsageError(f"there is no fault and no healthy run called {name!r}; `sismo lab faults` lists them")
    one = known[name]
    chosen = task or one.tasks[0]
    if chosen not in one.tasks:
        raise UsageError(f"{name} does not show on {chosen!r}; it does on {', '.join(one.tasks)}")
    setup = setting(tasks()[chosen].setup, seed=seed, total_steps=steps)
    if name in faults():
        return Job(f"{name}-seed{seed}", faults()[name].corrupt(setup), faults()[name].truth)
    return Job(f"{name}-seed{seed}", kinds()[name].change(setup), ())


def run(root: Path, job: Job, language: Language, advance: Callable[[], None], *, again: bool = False) -> tuple[Path, PostMortem]:
    """Trains a job and writes its page. Returns the run folder and what was found. Raises ``UsageError`` for a folder that is there."""
    folder = root / job.name
    with all_or_nothing(root, [job.name], again=again) as draft:
        train(job.setup, draft / job.name, lambda step: advance())
        return folder, page(draft / job.name, language, path=folder)
