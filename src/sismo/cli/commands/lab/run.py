"""``sismo lab run``: trains the exam, or one run with one fault."""

from __future__ import annotations

from pathlib import Path

import click

from sismo.cli.options import lang, root


@click.command(
    epilog="""\b
Examples:
  sismo lab run                         the healthy run and the exam
  sismo lab run --naive-loss --scale 30 --init xavier
  sismo lab run --lr 0.1                no warmup shows on panels 1 and 3
  sismo lab run --fault bad-init --seed 3 --steps 600"""
)
@click.option("--fault", metavar="NAME", help="Only this fault, not sealed; see sismo lab faults.")
@click.option("--healthy", metavar="NAME", help="Only this healthy run that looks odd.")
@click.option("--task", metavar="NAME", help="The model of --fault or --healthy.  [default: the first that it shows on]")
@click.option("--seed", type=click.IntRange(min=0), help="Of weights, data and order.  [default: a new one for the exam, 0 else]")
@click.option("--steps", type=click.IntRange(min=100), default=2000, help="Optimizer steps of each run.  [default: 2000]")
@click.option("--lr", type=click.FloatRange(min=0, min_open=True), default=3e-3, help="Peak learning rate of the exam.  [default: 0.003]")
@click.option("--layout", type=click.Choice(["rows", "chunks"]), default="rows", help="A sentence a row, or fixed chunks.  [default: rows]")
@click.option("--norm", type=click.Choice(["pre", "post"]), default="pre", help="Where the norms of the exam stand.  [default: pre]")
@click.option("--init", type=click.Choice(["gpt2", "xavier", "torch"]), default="gpt2", help="How weights are drawn.  [default: gpt2]")
@click.option("--naive-loss", is_flag=True, help="log(softmax) instead of log-softmax: its log(0) can be seen.")
@click.option("--scale", type=click.FloatRange(min=1), default=100.0, help="Factor of the bad initialisation.  [default: 100]")
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
    import sys

    from sismo.cli.console import emit, page
    from sismo.errors import UsageError
    from sismo.lab import exam, single

    if fault and healthy:
        raise UsageError("--fault and --healthy exclude each other")
    sheet = page(lang)
    say = sheet.language
    if name := fault or healthy:
        job = single.find(name, task, seed or 0, steps)
        with click.progressbar(length=steps, label=name, file=sys.stderr) as bar:
            folder, document = single.run(Path(root), job, say, lambda: bar.update(1), again=again)
        emit(f"{sheet.say(document.verdict)}\n{say.fill('truth: {truth}', truth=', '.join(job.truth) or say.word('healthy'))}\n{folder}")
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
    with click.progressbar(length=4 * steps, label=say.word("four runs"), file=sys.stderr) as bar:
        exam.make(Path(root), options, say, lambda: bar.update(1), again=again)
    folder = Path(root) / exam.EXAM
    emit("\n".join(str(path / exam.PAGE) for path in (Path(root) / exam.HEALTHY, *(folder / f"{at:02}" for at in (1, 2, 3)))))
    emit(say.word("One thing is wrong with each of 01, 02 and 03. Look at the pages, then: sismo lab answer 01 NAME --because ..."))
    return 0
