"""``sismo bench accuracy``: how often the right cause comes first."""

from __future__ import annotations

from pathlib import Path

import click

from sismo.cli.options import jobs, ray, write


@click.command(
    short_help="Train the lab's runs, judge each, count what is right.",
    epilog="""\b
Examples:
  sismo bench accuracy --seeds 5 --jobs 8
  sismo bench accuracy --faults bad-init,no-warmup --steps 600
  sismo bench accuracy --peers runmedic,losslint,pytscope

Trained runs are kept in DIR/runs and not trained again while seed, steps
and the code that made them are the same: after Ctrl-C the same command
goes on.

Exit codes: 0 all bars are met, 1 one is missed, 2 it could not be done""",
)
@click.option("--faults", default="", metavar="NAMES", help="Faults and healthy kinds, with commas.  [default: all]")
@click.option("--models", default="", metavar="NAMES", help="Models, with commas.  [default: all]")
@click.option("--seeds", type=click.IntRange(min=1), default=3, metavar="N", help="Seeds of each.  [default: 3]")
@click.option("--healthy-seeds", type=click.IntRange(min=1), default=1, metavar="N", help="Seeds of healthy kinds, if more.")
@click.option("--steps", type=click.IntRange(min=100), default=2000, metavar="N", help="Optimizer steps of each run.  [default: 2000]")
@click.option("--peers", default="", metavar="NAMES", help="Other tools on the same logs: runmedic, losslint, pytscope.")
@click.option("--split", type=click.Choice(["tune", "report"]), help="Only this half of seeds and models.")
@click.option("--output", "-o", default="accuracy", metavar="DIR", help="Folder for runs and report.  [default: accuracy]")
@jobs
@ray
@write
def COMMAND(  # noqa: N802 - the name by which commands are found
    faults: str,
    models: str,
    seeds: int,
    healthy_seeds: int,
    steps: int,
    peers: str,
    split: str | None,
    output: str,
    jobs: int | None,
    ray: str | None,
    write: bool,
) -> int:
    """Train the lab's faults and healthy runs, judge each, and say how often the right cause came first.

    Each run is judged three times: from its log alone, from what the recorder kept, and with what the probes found.
    """
    import importlib.util
    from typing import cast

    from sismo.cli.console import Progress, emit
    from sismo.cli.pages import save
    from sismo.errors import EXIT_CLEAN, EXIT_FINDINGS, MissingExtra

    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("the lab", "torch")
    from sismo.bench.accuracy.bench import Asked, measure
    from sismo.bench.accuracy.plan import Half
    from sismo.bench.accuracy.report import markdown
    from sismo.bench.tables import RESULTS, plain
    from sismo.workers import hire

    progress = Progress()
    asked = Asked(_names(faults), _names(models), seeds, steps, _names(peers), cast("Half | None", split), healthy_seeds)
    made = measure(asked, Path(output), hire(jobs, ray), progress.advance)
    progress.clear()
    for section in made.sections:
        emit(f"\n{section.title}\n{plain(section.header, section.rows)}")
    emit(f"\n{made.made}\n{Path(output) / 'accuracy.html'}")
    if write:
        save(RESULTS.with_name("accuracy.md"), markdown(made))
    return EXIT_CLEAN if made.met else EXIT_FINDINGS


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
