"""``sismo lab run``: trains the exam, or one run with one fault."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from sismo.cli.options import Finite, lang, root
from sismo.errors import UsageError

_OF_THE_EXAM = ("lr", "layout", "norm", "init", "naive_loss", "scale")


@click.command(
    short_help="Train a healthy run and three sealed ones that fail.",
    epilog="""\b
Examples:
  sismo lab run                         the healthy run and the exam
  sismo lab run --naive-loss --scale 30 --init xavier
  sismo lab run --lr 0.1                no warmup shows on panels 1 and 3
  sismo lab run --fault bad-init --seed 3 --steps 600
  sismo lab run --fault past-convergence    the gap opens: overfitting""",
)
@click.option("--fault", metavar="NAME", help="Only this fault, not sealed; see sismo lab faults.")
@click.option("--healthy", metavar="NAME", help="Only this healthy run that looks odd.")
@click.option("--task", metavar="NAME", help="The model of --fault or --healthy.  [default: the first that it shows on]")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Of weights, data and order.  [default: a new one for the exam, 0 else]")
@click.option("--steps", type=click.IntRange(min=300), default=2000, help="Steps of each run, 100 of them warmup.  [default: 2000]")
@click.option("--lr", type=Finite(min=0, min_open=True), default=3e-3, help="Peak learning rate of the exam.  [default: 0.003]")
@click.option("--layout", type=click.Choice(["rows", "chunks"]), default="rows", help="A sentence a row, or fixed chunks.  [default: rows]")
@click.option("--norm", type=click.Choice(["pre", "post"]), default="pre", help="Where the norms of the exam stand.  [default: pre]")
@click.option("--init", type=click.Choice(["gpt2", "xavier", "torch"]), default="gpt2", help="How weights are drawn.  [default: gpt2]")
@click.option("--naive-loss", is_flag=True, help="log(softmax) instead of log-softmax: its log(0) can be seen.")
@click.option("--scale", type=Finite(min=1, min_open=True), default=100.0, help="Factor of the bad initialisation.  [default: 100]")
@click.option("--again", is_flag=True, help="Throw away what is there.")
@root
@lang
def COMMAND(  # noqa: N802 - the name by which commands are found
    fault: str | None,
    healthy: str | None,
    task: str | None,
    seed: int | None,
    steps: int,
    lr: float,
    layout: str,
    norm: str,
    init: str,
    naive_loss: bool,
    scale: float,
    again: bool,
    root: str,
    lang: str | None,
) -> int:
    """Train four runs of two minutes in all: a healthy one, and three that fail.

    They lie in FOLDER/19-healthy and FOLDER/19-break-it/01 to 03, each with manifest.json and dashboard.html. Which is which is sealed:
    their pages show the panels and no verdict. --fault and --healthy train one run, in FOLDER/NAME-seedN, with its verdict.
    """
    import secrets

    from sismo.cli.console import Progress, emit, page
    from sismo.lab import exam, single

    if fault and healthy:
        raise UsageError("--fault and --healthy exclude each other")
    if fault or healthy:
        _refuse(_OF_THE_EXAM, "for the exam only, not with --fault or --healthy")
    else:
        _refuse(("task",), "only with --fault or --healthy")
    sheet = page(lang)
    say, progress = sheet.language, Progress()
    if name := fault or healthy:
        job = single.find(name, task, seed or 0, steps)
        try:
            folder, document = single.run(Path(root), job, say, lambda: progress.advance(name, steps), again=again)
        finally:
            progress.clear()
        emit(f"{sheet.say(document.verdict)}\n{say.fill('truth: {truth}', truth=', '.join(job.truth) or say.word('healthy'))}\n{folder}")
        if job.truth and {cause.id for cause in document.causes}.isdisjoint(job.truth):
            emit(say.word("The verdict does not name what was done: on this model, seed and length it may have had no effect."))
        return 0
    options = exam.Options(
        seed=secrets.randbelow(1_000_000) if seed is None else seed,
        steps=steps,
        lr=lr,
        layout=layout,
        norm=norm,
        init=init,
        naive_loss=naive_loss,
        scale=scale,
    )
    label = say.word("four runs")
    try:
        exam.make(Path(root), options, say, lambda: progress.advance(label, 4 * steps), again=again)
    finally:
        progress.clear()
    folder = Path(root) / exam.EXAM
    emit("\n".join(str(path / exam.PAGE) for path in (Path(root) / exam.HEALTHY, *(folder / f"{at:02}" for at in (1, 2, 3)))))
    emit(say.word("One thing is wrong with each of 01, 02 and 03. Look at the pages, then: sismo lab answer 01 NAME --because ..."))
    return 0


def _refuse(options: tuple[str, ...], why: str) -> None:
    """An option that would be passed over in silence is an error."""
    given = click.get_current_context().get_parameter_source
    if typed := [f"--{option.replace('_', '-')}" for option in options if given(option) is ParameterSource.COMMANDLINE]:
        raise UsageError(f"{', '.join(typed)}: {why}")
