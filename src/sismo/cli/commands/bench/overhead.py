"""``sismo bench overhead``: what recording costs."""

from __future__ import annotations

import click

from sismo.cli.options import beside, write


@click.command()
@click.option("--steps", type=click.IntRange(min=10), default=100, metavar="N", help="Steps of each loop.  [default: 100]")
@click.option("--wall", is_flag=True, help="The clock on the wall instead of the CPU seconds of the thread.")
@beside
@write
def COMMAND(steps: int, wall: bool, beside: bool, write: bool) -> int:  # noqa: N802 - the name by which commands are found
    """Train with and without the recorder, step by step in turn, beside other recorders that are installed.

    Exit codes: 0 all targets are met, 1 one is missed.
    """
    import importlib.util

    from sismo.errors import EXIT_CLEAN, EXIT_FINDINGS, MissingExtra

    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("recording", "torch")
    from sismo.bench.overhead import run

    return EXIT_CLEAN if run(steps, beside=beside, wall=wall, write=write) else EXIT_FINDINGS
