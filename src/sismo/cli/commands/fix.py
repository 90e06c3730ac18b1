"""``sismo fix``: the first action against a failure, as something that runs."""

from __future__ import annotations

from pathlib import Path

import click

from sismo.cli.options import as_json, lang

RECIPE, PATCH = "fix.json", "fix.patch"


@click.command(
    short_help="Print what to change: checkpoint, batches, settings, code.",
    epilog="""\b
Examples:
  sismo fix runs/latest
  sismo fix runs/latest --config train.yaml
  sismo fix train.log --config args.json --write fixes/ \\
      && patch -p0 < fixes/fix.patch

\b
Exit codes:
  0  there is something to change, or to look at first
  1  nothing is prescribed: healthy, or not sure enough; it says why
  2  something could not be read or written""",
)
@click.argument("path", metavar="RUN_OR_LOG")
@as_json
@click.option("--config", metavar="FILE", help="A YAML, TOML or JSON file with the settings of the run: print a patch for it.")
@click.option("--write", metavar="DIR", help=f"Save the recipe as DIR/{RECIPE}, and the patch as DIR/{PATCH}.")
@click.option("--preset", default="robust", type=click.Choice(["robust", "literal"]), help="Which thresholds.  [default: robust]")
@click.option("--map", "pairs", multiple=True, metavar="CHANNEL=COLUMN", help="Read a channel from this column; may be repeated.")
@lang
def COMMAND(  # noqa: N802 - the name by which commands are found
    path: str, as_json: bool, config: str | None, write: str | None, preset: str, pairs: tuple[str, ...], lang: str | None
) -> int:
    """Print what to change: checkpoint, batches to skip, new settings, code.

    Nothing is changed by it: a patch is printed or saved for you to read. A change that no setting makes is given as a line of code.
    Where the verdict is not sure enough to act on, it says what to look at first.
    """
    from sismo import __version__
    from sismo.cli.batch import channel_map
    from sismo.cli.console import emit, page
    from sismo.cli.pages import worst
    from sismo.dashboard.registry import panel_of
    from sismo.errors import EXIT_CLEAN, EXIT_FINDINGS
    from sismo.incident.investigate import investigate
    from sismo.patch.make import patch
    from sismo.report.fix import render, render_json
    from sismo.report.language import language
    from sismo.signals.presets import preset as limits

    sheet, chosen = page(lang), limits(preset)
    run, _, _ = worst(path, channel_map(pairs), chosen)
    incident = investigate(run, chosen, panel_of)
    asked = incident.prescription
    made = patch(config, asked, run.header.total_steps) if config and asked.refused is None else None
    if made is not None:  # one number for each setting: that of the file
        incident = incident._replace(prescription=asked._replace(changes=made.changes))
    recipe = render_json(incident, made, __version__, language(lang or "en"))
    emit(recipe if as_json else render(incident, made, sheet))
    if write is not None and asked.refused is None:
        _save(Path(write), recipe, made.diff if made else "")
    return EXIT_FINDINGS if asked.refused is not None else EXIT_CLEAN


def _save(folder: Path, recipe: str, diff: str) -> None:
    from sismo.cli.pages import save
    from sismo.errors import UsageError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}") from error
    save(folder / RECIPE, recipe + "\n")
    if diff:
        save(folder / PATCH, diff)
