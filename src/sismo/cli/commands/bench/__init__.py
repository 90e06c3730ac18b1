"""``sismo bench``: how right, how fast and how light sismo is. One subcommand per file, as in the folder above."""

from __future__ import annotations

import sys

import click

from sismo.cli.group import group_of


@click.group(
    cls=group_of(sys.modules[__name__]),
    short_help="Measure sismo: how often it is right, what it costs, how fast.",
    epilog="""\b
Examples:
  sismo bench accuracy --seeds 3 --jobs 8
  sismo bench overhead
  sismo bench speed""",
)
def COMMAND() -> None:  # noqa: N802 - the name by which commands are found
    """Measure sismo: how often it is right, what recording costs, and how fast it reads."""
