"""``sismo bench scan``: how long a scan of many runs takes."""

from __future__ import annotations

import click

from sismo.cli.options import write


@click.command(short_help="Scan many recorded runs: joblib, again, and Ray.")
@click.option("--runs", type=click.IntRange(min=1), default=10_000, metavar="N", help="Run folders.  [default: 10000]")
@click.option("--jobs", "-j", type=click.IntRange(min=1), default=2, metavar="N", help="Processes, and Ray workers.  [default: 2]")
@write
def COMMAND(runs: int, jobs: int, write: bool) -> int:  # noqa: N802 - the name by which commands are found
    """Scan many recorded runs with joblib, again with nothing changed, and with Ray where it is installed.

    Exit codes: 0 all targets are met, 1 one is missed.
    """
    from sismo.bench.fleet import run
    from sismo.errors import EXIT_CLEAN, EXIT_FINDINGS

    return EXIT_CLEAN if run(runs, jobs, write=write) else EXIT_FINDINGS
