"""``sismo postmortem``: what happened at a failure, in seven parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sismo.cli.options import lang

if TYPE_CHECKING:
    from sismo.report.incident.keep import Parts


@click.command(
    short_help="Write what happened, in seven parts, with pictures.",
    epilog="""\b
Examples:
  sismo postmortem runs/latest
  sismo postmortem runs/latest --edit-in-place
  sismo postmortem train.log -o incident.html --lang es
  sismo postmortem train.log > incident.md

\b
Exit codes:
  0  written
  2  something could not be read or written""",
)
@click.argument("path", metavar="RUN_OR_LOG")
@click.option(
    "--output", "-o", metavar="FILE", help="Where it is written.  [default: postmortem.md in a run folder; standard output for a log]"
)
@click.option("--format", "form", type=click.Choice(["md", "html"]), help="How it is written.  [default: html for FILE.html, else md]")
@click.option("--edit-in-place", is_flag=True, help="Write a file again and keep every word that a person wrote or changed in it.")
@click.option("--preset", default="robust", type=click.Choice(["robust", "literal"]), help="Which thresholds.  [default: robust]")
@click.option("--map", "pairs", multiple=True, metavar="CHANNEL=COLUMN", help="Read a channel from this column; may be repeated.")
@lang
def COMMAND(  # noqa: N802 - the name by which commands are found
    path: str, output: str | None, form: str | None, edit_in_place: bool, preset: str, pairs: tuple[str, ...], lang: str | None
) -> int:
    """Write what happened: symptoms, hypotheses, evidence, cause, change, check, lesson.

    Pictures of the window around the onset are in it. Where a log holds several runs, it is about the worst one.
    """
    from sismo.cli.batch import channel_map
    from sismo.cli.console import emit, page
    from sismo.cli.pages import save, worst
    from sismo.dashboard.registry import panel_of
    from sismo.incident.investigate import investigate
    from sismo.report.incident import html, markdown, picture
    from sismo.report.incident.keep import compose
    from sismo.signals.presets import preset as limits

    sheet, chosen = page(lang), limits(preset)
    run, document, others = worst(path, channel_map(pairs), chosen)
    form = form or ("html" if output and Path(output).suffix in (".html", ".htm") else "md")
    if output is None and run.header.source == "sismo-run":
        output = str(Path(run.path) / f"postmortem.{form}")
    target = None if output in (None, "-") else Path(str(output))
    incident = investigate(run, chosen, panel_of)
    drawn = target.with_suffix(".svg") if target and form == "md" and incident.pictures else None
    parts = (
        html.render(incident, sheet.language) if form == "html" else markdown.render(incident, sheet.language, drawn.name if drawn else "")
    )
    if target is None:
        emit(compose(parts).rstrip("\n"))
        return 0
    kept = _write(target, parts, edit_in_place)
    if drawn:
        save(drawn, picture.sheet(incident.pictures, sheet.language))
    emit(f"{sheet.say(document.verdict)}\n{target}")
    if kept:
        emit(sheet.language.fill("Kept as you changed them: {names}. Delete a part to have it written again.", names=", ".join(kept)))
    if others:
        emit(sheet.language.fill("{count} other runs in it are not told", count=others))
    return 0


def _write(target: Path, parts: Parts, edit_in_place: bool) -> Sequence[str]:
    """Writes the document; returns the parts that stay as a person changed them."""
    from sismo.cli.pages import save
    from sismo.errors import UsageError
    from sismo.report.incident.keep import compose, merge, touched

    try:
        with target.open(encoding="utf-8", newline="") as file:
            old = file.read()
    except FileNotFoundError:
        old = ""
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise UsageError(f"{target}: {reason}") from error
    if edit_in_place and old:
        merged = merge(old, parts)
        save(target, merged.text)
        return merged.kept
    if touched(old):
        raise UsageError(f"{target} holds words that sismo did not write; --edit-in-place keeps them, -o FILE writes elsewhere")
    save(target, compose(parts))
    return ()
