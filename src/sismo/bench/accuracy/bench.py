"""The bench as a whole: plan, train and judge on the workers, score, and write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from sismo.bench import peers
from sismo.bench.accuracy.answers import LEVELS, Examined, examine
from sismo.bench.accuracy.peers import ask
from sismo.bench.accuracy.plan import PLAIN, Half, plan
from sismo.bench.accuracy.report import Report, as_json, html, markdown, report
from sismo.bench.accuracy.scores import score, without_effect
from sismo.bench.accuracy.training import Order
from sismo.workers import Workers


class Asked(NamedTuple):
    """What to measure: names of faults and healthy kinds and of models (all of them when empty), seeds, steps, other tools, which half.

    ``calm``: the seeds of healthy kinds, where they are more than those of faults.
    """

    names: Sequence[str] = ()
    models: Sequence[str] = ()
    seeds: int = 3
    steps: int = 2000
    peers: Sequence[str] = ()
    half: Half | None = None
    calm: int = 0


def measure(asked: Asked, folder: Path, workers: Workers, advance: Callable[[str, int], None]) -> Report:
    """Trains what was not trained yet, judges everything and writes the report into a folder.

    Raises ``UsageError`` for names that are not there.
    """
    for name in asked.peers:
        peers.command(name)
    planned = plan(asked.names, asked.models, asked.seeds, asked.steps, asked.calm)
    trials = [trial for trial in planned if asked.half in (None, trial.half) or trial.name == PLAIN]
    root = folder / "runs"
    root.mkdir(parents=True, exist_ok=True)
    orders = [Order(trial, root) for trial in trials]
    found: list[Examined] = []
    lost = 0
    for done in workers.map(examine, orders):
        if done.result is None:
            lost += 1
        else:
            found.append(done.result)
        advance(done.task.trial.id, len(orders))
    place = {trial: at for at, trial in enumerate(trials)}
    found.sort(key=lambda one: place[one.trial])
    made = _report(asked, found, root, lost)
    for name, text in (("accuracy.md", markdown(made)), ("accuracy.html", html(made)), ("accuracy.json", as_json(made))):
        (folder / name).write_text(text, encoding="utf-8")
    return made


def _report(asked: Asked, found: Sequence[Examined], root: Path, lost: int) -> Report:
    # The noise of plain runs is that of all of them; what is scored is the half that was asked for.
    idle = {one.trial for one in without_effect(found)}
    chosen = [one for one in found if asked.half in (None, one.trial.half)]
    twins = [one for one in found if one.trial == one.trial.twin and one not in chosen]
    scores = {level: score([*chosen, *twins], level) for level in LEVELS}
    runs = [(one.trial, Order(one.trial, root).folder) for one in chosen if one.trial not in idle]
    others = [ask(name, runs) for name in asked.peers]
    half = f", the half *{asked.half}*" if asked.half else ""
    missing = f"; {lost} runs were lost with their workers" if lost else ""
    calm = f" ({asked.calm} of healthy kinds)" if asked.calm > asked.seeds else ""
    what = f"{len(chosen)} runs of {asked.steps} steps, {asked.seeds} seeds{calm}{half}{missing}"
    return report(chosen, scores, others, what)
