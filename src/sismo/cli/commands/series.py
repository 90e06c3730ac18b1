"""``sismo series``: what was read from a log, and how."""

from __future__ import annotations

import click

from sismo.cli.options import as_json, lang


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
    from sismo.cli.console import emit, page
    from sismo.report.series import render, render_json
    from sismo.sources import load

    runs = load(path, channel_map(pairs) or None)
    sheet = page(lang)
    emit(render_json(runs, __version__) if as_json else "\n\n".join(render(run, sheet) for run in runs))
    return 0
