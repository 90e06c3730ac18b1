"""``sismo compare``: where two runs part."""

from __future__ import annotations

from pathlib import Path

import click

from sismo.cli.options import lang


@click.command(
    short_help="Say where two runs part, and what was configured differently.",
    epilog="""\b
Examples:
  sismo compare runs/good runs/broken
  sismo compare before.jsonl after.jsonl -o compare.html""",
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--output", "-o", metavar="FILE", help="A page with B's panels over those of A.")
@lang
def COMMAND(a: str, b: str, output: str | None, lang: str | None) -> int:  # noqa: N802 - the name by which commands are found
    """Say from which step on two runs differ, and what was configured differently.

    A is the run to compare with, B the one in question. Exits 1 when anything differs, 0 when both are the same.
    """
    from sismo.cli.console import emit, page
    from sismo.cli.pages import one, save
    from sismo.compare import compare
    from sismo.errors import EXIT_CLEAN, EXIT_FINDINGS
    from sismo.report.comparison import render, verdict

    sheet = page(lang)
    base, run = one(a), one(b)
    found = compare(base, run)
    emit(render(found, sheet))
    if output:
        from sismo.dashboard.comparison import comparison
        from sismo.dashboard.page import render as render_page
        from sismo.judge import diagnose
        from sismo.signals.presets import preset

        extra = [comparison(found, verdict(found, sheet), sheet.language)]
        limits = preset("robust")
        save(Path(output), render_page(diagnose(run, limits), run, sheet.language, limits.values, baseline=base, extra=extra))
        emit(output)
    return EXIT_CLEAN if found.first is None and not (found.settings or found.only_a or found.only_b) else EXIT_FINDINGS
