"""``sismo watch``: a verdict that follows a run while it trains."""

from __future__ import annotations

from contextlib import ExitStack, closing

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
    from sismo.cli.follow import follow
    from sismo.cli.screen import Screen
    from sismo.errors import EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS
    from sismo.signals.presets import preset

    sheet, limits = page(lang), preset("robust")
    healthy, seen, address = None, False, ""
    with ExitStack() as stack:
        server = None
        if serve is not None:
            from sismo.dashboard.server import PageServer

            server = stack.enter_context(closing(PageServer(serve)))
            address = server.address
            emit(address)
        screen = stack.enter_context(Screen(sheet))
        for state in follow(path, limits, every, screen.rest):
            if isinstance(state, str):
                screen.wait(sheet.language.fill("{line}; waiting until it can be read (Ctrl-C ends)", line=state))
                continue
            run, document = state
            healthy, seen = document.healthy, True
            if server:
                from sismo.dashboard.page import render

                server.show(render(document, run, sheet.language, limits.values, live=True))
            last = max((int(series.steps[-1]) for series in run.series.values() if len(series)), default=0)
            parts = (f"{sheet.word(document.step_unit)} {last:,}", sheet.word(run.header.status or ""), address)
            screen.show(document, "  ".join(part for part in parts if part))
    if not seen:
        return EXIT_FAILED
    return EXIT_FINDINGS if healthy is False else EXIT_CLEAN
