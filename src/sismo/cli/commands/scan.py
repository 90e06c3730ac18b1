"""``sismo scan``: what fails among many finished runs."""

from __future__ import annotations

from pathlib import Path

import click

from sismo.cli.batch import LEVELS
from sismo.cli.options import jobs, lang, ray


@click.command(
    short_help="Say what fails among many runs, since when, by which settings.",
    epilog="""\b
Examples:
  sismo scan runs/
  sismo scan runs/ other/train.log -o report --jobs 8
  sismo scan s3://bucket/runs --ray auto

What was read is kept in DIR/seen.jsonl: after Ctrl-C the same command
goes on there, and runs that did not change are not read again.

\b
Exit codes:
  0  scanned, and nothing at the --fail-on level or worse
  1  scanned, and something was found
  2  something could not be read, or nothing was there""",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--output", "-o", default="scan", metavar="DIR", help="Folder for the table and the page.  [default: scan]")
@jobs
@ray
@click.option("--fail-on", default="warning", type=click.Choice(LEVELS), help="Severity that exits 1.  [default: warning]")
@lang
def COMMAND(  # noqa: N802 - the name by which commands are found
    paths: tuple[str, ...], output: str, jobs: int | None, ray: str | None, fail_on: str, lang: str | None
) -> int:
    """Say what fails among many finished runs, since when, and by which settings.

    PATH is a folder of runs, a log, or a URL (s3://bucket/runs). Writes runs.parquet, a line a run, and index.html.
    """
    from sismo.cli.batch import rank
    from sismo.cli.console import Progress, emit, page
    from sismo.cli.pages import save
    from sismo.errors import EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, UsageError
    from sismo.scan import table
    from sismo.scan.page import render as render_page
    from sismo.scan.scanning import scan
    from sismo.scan.summary import render
    from sismo.workers import hire

    sheet, folder = page(lang), Path(output)
    workers = hire(jobs, ray)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}") from error
    progress = Progress()
    scanned = scan(paths, folder, workers, progress.advance)
    progress.clear()
    table.write(scanned.rows, folder / "runs.parquet")
    save(folder / "index.html", render_page(scanned, paths, sheet.language))
    emit(f"{render(scanned, sheet)}\n\n{folder / 'index.html'}\n{folder / 'runs.parquet'}")
    if any(row.error for row in scanned.rows):
        return EXIT_FAILED
    found = fail_on != "never" and any(rank(row.severity) >= rank(fail_on) for row in scanned.rows)
    return EXIT_FINDINGS if found else EXIT_CLEAN
