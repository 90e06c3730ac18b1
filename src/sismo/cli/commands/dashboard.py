"""``sismo dashboard``: a run and its verdict as one page."""

from __future__ import annotations

from pathlib import Path

import click

from sismo.cli.options import lang


@click.command(
    epilog="""\b
Examples:
  sismo dashboard trainer_state.json
  sismo dashboard runs/latest -o today.html --lang es
  sismo dashboard runs/broken --baseline runs/good"""
)
@click.argument("path", metavar="RUN_OR_LOG")
@click.option("--output", "-o", default="dashboard.html", metavar="FILE", help="Where it is written.  [default: dashboard.html]")
@click.option("--baseline", metavar="RUN", help="A run that went well, laid under this one.")
@click.option("--preset", default="robust", type=click.Choice(["robust", "literal"]), help="Which thresholds.  [default: robust]")
@click.option("--map", "pairs", multiple=True, metavar="CHANNEL=COLUMN", help="Read a channel from this column; may be repeated.")
@lang
def COMMAND(  # noqa: N802 - the name by which commands are found
    path: str, output: str, baseline: str | None, preset: str, pairs: tuple[str, ...], lang: str | None
) -> int:
    """Draw a run and its verdict as one HTML file.

    The file opens from disk and needs no network. Where a log holds several runs, the worst one is drawn.
    """
    from sismo.cli.batch import channel_map
    from sismo.cli.console import emit, page
    from sismo.cli.pages import one, save, worst
    from sismo.dashboard.page import render
    from sismo.signals.presets import preset as limits

    sheet = page(lang)
    chosen = limits(preset)
    run, document, others = worst(path, channel_map(pairs), chosen)
    under = one(baseline) if baseline is not None else None
    save(Path(output), render(document, run, sheet.language, chosen.values, baseline=under))
    emit(f"{sheet.say(document.verdict)}\n{output}")
    if others:
        emit(sheet.language.fill("{count} other runs in it are not drawn", count=others))
    return 0
