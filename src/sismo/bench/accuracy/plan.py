"""Which runs are trained: faults, healthy kinds and the plain run beside them, on each model and seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import torch

from sismo import fingerprint
from sismo.errors import UsageError
from sismo.lab.catalogue import faults, kinds, tasks
from sismo.lab.changes import setting
from sismo.lab.types import Setup

PLAIN = "plain"
"""The name of the run with nothing odd: the clean twin of every other one of its model and seed."""

Half = Literal["tune", "report"]
_TUNED = ("mini-gpt", "mlp")
"""The models that rules are tuned on. Runs of the MLP were looked at before there were halves, and the causality of a language model has
no stand-in among the others; that leaves the conv net as the model that no rule was ever fitted to."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run to be trained. ``name`` is a fault, a healthy kind or ``PLAIN``."""

    name: str
    task: str
    seed: int
    steps: int

    @property
    def id(self) -> str:
        """What it is called in folders and tables."""
        return f"{self.task}.{self.name}.{self.seed}"

    @property
    def truth(self) -> tuple[str, ...]:
        """Ids of the causes that count as right, the main one first; none for a healthy run."""
        return faults()[self.name].truth if self.name in faults() else ()

    @property
    def onset(self) -> int | None:
        """The step at which the fault begins, None for a healthy run."""
        return faults()[self.name].step(self.setup().settings) if self.name in faults() else None

    @property
    def twin(self) -> Trial:
        """The plain run of the same model and seed."""
        return Trial(PLAIN, self.task, self.seed, self.steps)

    @property
    def half(self) -> Half:
        """The half that it belongs to: thresholds are chosen looking at ``tune``, and what is claimed is read off ``report``.

        Tuned on are the even seeds of the models in ``_TUNED``; in what is reported either the seed or the model is new.
        """
        return "tune" if self.seed % 2 == 0 and self.task in _TUNED else "report"

    def setup(self) -> Setup:
        """The training loop, fault and all."""
        plain = setting(tasks()[self.task].setup, seed=self.seed, total_steps=self.steps)
        if self.name in faults():
            return faults()[self.name].corrupt(plain)
        return plain if self.name == PLAIN else kinds()[self.name].change(plain)

    def key(self) -> str:
        """What the trained run depends on: seed, steps, model, and the code of the lab that makes it."""
        own = [] if self.name == PLAIN else [f"sismo.lab.{'faults' if self.truth else 'healthy'}.{_module(self.name)}"]
        code = fingerprint.of_modules("sismo.lab.train", f"sismo.lab.tasks.{_module(self.task)}", *own, within="sismo.lab")
        return blake2b(f"{self.id} {self.steps} {torch.__version__} {code}".encode(), digest_size=8).hexdigest()


def plan(names: Sequence[str], models: Sequence[str], seeds: int, steps: int, calm: int = 0) -> list[Trial]:
    """Every trial asked for, plain runs first. Without names all faults and kinds, without models all models.

    ``calm`` is the number of seeds of healthy kinds, where it is more than that of faults.

    Raises ``UsageError`` for a name that is not there.
    """
    known = {**faults(), **kinds()}
    for what, asked, there in (("fault or healthy kind", names, known), ("model", models, tasks())):
        for name in asked:
            if name not in there:
                raise UsageError(f"no {what} is called {name!r}; there are {', '.join(sorted(there))}")
    chosen = [one for name, one in known.items() if not names or name in names]
    places = [(task, seed) for task in tasks() if not models or task in models for seed in range(max(seeds, calm))]
    plain = [Trial(PLAIN, task, seed, steps) for task, seed in places]
    others = [
        Trial(one.id, task, seed, steps)
        for one in chosen
        for task, seed in places
        if task in one.tasks and (seed < seeds or one.id not in faults())
    ]
    return list(dict.fromkeys(plain + others))  # the plain run may be a kind as well


def _module(name: str) -> str:
    return name.replace("-", "_")
