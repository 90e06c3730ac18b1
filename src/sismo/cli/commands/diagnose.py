"""``sismo diagnose``: what broke these runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sismo.cli.batch import LEVELS, Batch, channel_map, examine
from sismo.cli.console import visible
from sismo.cli.options import as_json, lang

if TYPE_CHECKING:
    from sismo.postmortem import PostMortem
    from sismo.report.page import Page

_IN_FULL = 3
"""Reports printed in full when there are many runs and no ``--verbose``."""


@click.command(
    epilog="""\b
Examples:
  sismo diagnose trainer_state.json
  sismo diagnose runs/ --fail-on broken
  python train.py 2>&1 | tee train.log | sismo diagnose -
  sismo diagnose metrics.csv --map loss/train=my_loss --json

\b
Exit codes:
  0  read, and nothing at the --fail-on level or worse; also when
     there was too little to judge
  1  read, and something was found
  2  something could not be read"""
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@as_json
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", help="How it is written.  [default: text]"
)
@click.option("--preset", default="robust", type=click.Choice(["robust", "literal"]), help="Which thresholds.  [default: robust]")
@click.option("--thresholds", metavar="FILE", help="TOML file that overrides thresholds by name.")
@click.option("--fail-on", default="warning", type=click.Choice(LEVELS), help="Severity that exits 1.  [default: warning]")
@click.option("--map", "pairs", multiple=True, metavar="CHANNEL=COLUMN", help="Read a channel from this column; may be repeated.")
@lang
@click.option("--verbose", "-v", is_flag=True, help="Everything: all evidence, every question, a full report for every run.")
def COMMAND(  # noqa: N802 - the name by which commands are found
    paths: tuple[str, ...],
    as_json: bool,
    form: str,
    preset: str,
    thresholds: str | None,
    fail_on: str,
    pairs: tuple[str, ...],
    lang: str | None,
    verbose: bool,
) -> int:
    """Say what broke a run, since when, why, and what to do first.

    PATH is a log, a checkpoint or output folder, a folder of logs, or - for standard input. The format is recognised by itself.
    """
    from sismo.cli.console import Progress, complain, emit, page
    from sismo.report.language import language
    from sismo.signals.presets import preset as limits
    from sismo.signals.presets import read_overrides

    chosen = limits(preset, read_overrides(Path(thresholds)) if thresholds else None)
    progress = Progress()
    batch = examine(paths, channel_map(pairs), chosen, lambda path: progress.advance(path, len(paths)))
    progress.clear()
    if as_json or form == "json":
        from sismo import __version__
        from sismo.report.json import render as render_json

        # A program reads this, so the environment has no say in its language.
        emit(render_json(batch.documents, batch.errors, __version__, language(lang or "en")))
    elif form == "markdown":
        from sismo.report.markdown import render as render_markdown

        sheet = page(lang)
        emit("\n\n".join(render_markdown(_shown(document), sheet.language) for document in batch.documents))
    elif batch.documents:
        shown = Batch([_shown(document) for document in batch.documents], batch.errors)
        emit(_text(shown, page(lang, verbose=verbose)))
    for _, error in batch.errors:
        complain(error)
    return batch.exit_code(fail_on)


def _shown(document: PostMortem) -> PostMortem:
    """The document with its names fit for a terminal."""
    return document._replace(path=visible(document.path), name=visible(document.name))


def _text(batch: Batch, sheet: Page) -> str:
    """One report; or for many runs a table of all and the reports of the worst."""
    from sismo.report.summary import state, table, worst_first
    from sismo.report.text import render

    if len(batch.documents) == 1:
        return render(batch.documents[0], sheet)
    ranked = worst_first(batch.documents)
    unwell = [document for document in ranked if state(document) not in {"none", "note"}]
    chosen = ranked if sheet.verbose else unwell[:_IN_FULL]
    parts = [table(ranked, sheet)]
    if len(unwell) > len(chosen):
        parts.append(
            sheet.language.fill(
                "Full reports for the worst {count} of {total}; --verbose prints all.", count=len(chosen), total=len(ranked)
            )
        )
    rule = sheet.paint(("─" if sheet.unicode else "-") * sheet.width, "dim")
    return "\n\n".join([*parts, *(f"{rule}\n\n{render(document, sheet)}" for document in chosen)])
