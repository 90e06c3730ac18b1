"""``sismo bench overhead``: what recording costs."""

from __future__ import annotations

import click

from sismo.cli.options import beside, write


@click.command(short_help="Train with and without the recorder, step by step.")
@click.option("--steps", type=click.IntRange(min=10), default=60, metavar="N", help="Steps of each loop.  [default: 60]")
@click.option(
    "--passes", type=click.IntRange(min=1), default=3, metavar="N", help="How often the same steps are trained again.  [default: 3]"
)
@click.option("--wall", is_flag=True, help="The clock on the wall instead of the CPU seconds of the thread.")
@beside
@write
def COMMAND(steps: int, passes: int, wall: bool, beside: bool, write: bool) -> int:  # noqa: N802 - the name by which commands are found
    """Train with and without the recorder, step by step in turn, beside other recorders that are installed.

    Exit codes: 0 all targets are met, 1 one is missed.
    """
    import importlib.util

    from sismo.errors import EXIT_CLEAN, EXIT_FINDINGS, MissingExtra

    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("recording", "torch")
    from sismo.bench.overhead import run

    return EXIT_CLEAN if run(steps, passes, beside=beside, wall=wall, write=write) else EXIT_FINDINGS
