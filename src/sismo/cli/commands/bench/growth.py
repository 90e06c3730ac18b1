"""``sismo bench growth``: how time and memory grow with steps and series."""

from __future__ import annotations

import click

from sismo.cli.options import write


@click.command(short_help="Judge and draw runs of ever more steps and series.")
@write
def COMMAND(write: bool) -> int:  # noqa: N802 - the name by which commands are found
    """Judge and draw runs of 10,000 to 10,000,000 steps, and of 10 to 10,000 series."""
    from sismo.bench.growth import run

    run(write=write)
    return 0
