"""``sismo bench speed``: how fast logs are read and judged."""

from __future__ import annotations

import click

from sismo.cli.options import beside, write


@click.command(short_help="Time reading and judging, and starting.")
@click.option("--rows", type=click.IntRange(min=1000), default=1_000_000, metavar="N", help="Rows of the long log.  [default: 1000000]")
@click.option("--repeats", type=click.IntRange(min=1), default=5, metavar="N", help="Rounds; all commands take turns.  [default: 5]")
@click.option("--formats", is_flag=True, help="Instead: a log of so many lines in each format, once.")
@beside
@write
def COMMAND(rows: int, repeats: int, formats: bool, beside: bool, write: bool) -> int:  # noqa: N802 - the name by which commands are found
    """Time whole processes: reading and judging a long and a short log, beside losslint, and starting.

    Exit codes: 0 all targets are met, 1 one is missed.
    """
    from sismo.bench import formats as by_format
    from sismo.bench import speed
    from sismo.errors import EXIT_CLEAN, EXIT_FINDINGS

    met = by_format.run(rows, write=write) if formats else speed.run(rows, repeats, beside=beside, write=write)
    return EXIT_CLEAN if met else EXIT_FINDINGS
