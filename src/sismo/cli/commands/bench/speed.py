"""``sismo bench speed``: how fast logs are read and judged."""

from __future__ import annotations

import click

from sismo.cli.options import beside, write


@click.command()
@click.option("--rows", type=click.IntRange(min=1000), default=1_000_000, metavar="N", help="Rows of the long log.  [default: 1000000]")
@click.option("--repeats", type=click.IntRange(min=1), default=5, metavar="N", help="Rounds; all commands take turns.  [default: 5]")
@beside
@write
def COMMAND(rows: int, repeats: int, beside: bool, write: bool) -> int:  # noqa: N802 - the name by which commands are found
    """Time whole processes: reading and judging a long and a short log, beside losslint, and starting.

    Exit codes: 0 all targets are met, 1 one is missed.
    """
    from sismo.bench.speed import run
    from sismo.errors import EXIT_CLEAN, EXIT_FINDINGS

    return EXIT_CLEAN if run(rows, repeats, beside=beside, write=write) else EXIT_FINDINGS
