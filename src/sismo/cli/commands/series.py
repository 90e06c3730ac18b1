"""``sismo series``: what was read from a log, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sismo.cli.console import visible
from sismo.cli.options import as_json, lang
from sismo.errors import EXIT_CLEAN, EXIT_FAILED, SourceError

if TYPE_CHECKING:
    from sismo.records.types import Run


@click.command(
    epilog="""\b
Examples:
  sismo series metrics.csv
  sismo series train.log --json
  sismo series results.csv --map loss/val=val/box_loss"""
)
@click.argument("path")
@as_json
@click.option("--map", "pairs", multiple=True, metavar="CHANNEL=COLUMN", help="Read a channel from this column; may be repeated.")
@lang
def COMMAND(path: str, as_json: bool, pairs: tuple[str, ...], lang: str | None) -> int:  # noqa: N802 - the name by which commands are found
    """Show what was read from a log, and how.

    One line per channel, under which key the log had it, what is known of the run, its events, and every guess that was made.
    """
    from sismo import __version__
    from sismo.cli.batch import channel_map
    from sismo.cli.console import complain, emit, page
    from sismo.report.series import render, render_json
    from sismo.sources import load

    refused: list[SourceError] = []
    runs = load(path, channel_map(pairs) or None, refused)
    sheet = page(lang)
    emit(render_json(runs, __version__) if as_json else "\n\n".join(render(_shown(run), sheet) for run in runs))
    for error in refused:
        complain(str(error))
    return EXIT_FAILED if refused else EXIT_CLEAN


def _shown(run: Run) -> Run:
    """The run with its names fit for a terminal."""
    from sismo.records.types import Run

    return Run(visible(run.path), run.header._replace(name=visible(run.header.name)), run.series, run.events, run.notes)
