"""``sismo watch``: a verdict that follows a run while it trains."""

from __future__ import annotations

from contextlib import closing, nullcontext

import click

from sismo.cli.options import lang


@click.command(
    epilog="""\b
Examples:
  sismo watch runs/latest
  sismo watch train.log --every 10
  sismo watch runs/latest --serve 8000"""
)
@click.argument("path", metavar="RUN")
@click.option("--serve", type=click.IntRange(0, 65535), metavar="PORT", help="Serve the page on this machine too; 0 takes a free port.")
@click.option("--every", default=2.0, type=click.FloatRange(0.1), metavar="SECONDS", help="How often to look.  [default: 2]")
@lang
def COMMAND(path: str, serve: int | None, every: float, lang: str | None) -> int:  # noqa: N802 - the name by which commands are found
    """Follow a run while it trains: the verdict stays up to date.

    RUN is a run folder or a log that grows. Ends when the run does, or with Ctrl-C. With --serve the page is at
    http://127.0.0.1:PORT/, for this machine only, and updates by itself.
    """
    from sismo.cli.console import emit, page
    from sismo.cli.follow import Screen, follow
    from sismo.errors import EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS
    from sismo.signals.presets import preset

    sheet, limits = page(lang), preset("robust")
    screen, healthy, seen = Screen(sheet), None, False
    if serve is not None:
        from sismo.dashboard.server import PageServer

        server = PageServer(serve)
        emit(server.address)
    else:
        server = None
    with closing(server) if server else nullcontext():
        for state in follow(path, limits, every):
            if isinstance(state, str):
                screen.wait(state)
                continue
            run, document = state
            healthy, seen = document.healthy, True
            last = max((int(series.steps[-1]) for series in run.series.values() if len(series)), default=0)
            screen.show(document, f"{sheet.word(document.step_unit)} {last:,} {run.header.status or ''}".rstrip())
            if server:
                from sismo.dashboard.page import render

                server.show(render(document, run, sheet.language, limits.values, live=True))
    if not seen:
        return EXIT_FAILED
    return EXIT_FINDINGS if healthy is False else EXIT_CLEAN
