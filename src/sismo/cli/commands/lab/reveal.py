"""``sismo lab reveal``: the truth, and the score."""

from __future__ import annotations

from pathlib import Path

import click

from sismo.cli.options import as_json, lang, root


@click.command(
    epilog="""\b
Examples:
  sismo lab reveal
  sismo lab reveal --json"""
)
@root
@as_json
@lang
def COMMAND(root: str, as_json: bool, lang: str | None) -> int:  # noqa: N802 - the name by which commands are found
    """Open the seal and mark the answers; each run must have one. From then on no answer is taken.

    Names the panel that would have told, and puts the verdicts into the pages. Exits 0 when every answer is right, else 1.
    """
    from sismo.cli.console import emit, page
    from sismo.cli.marks import as_text, to_json
    from sismo.errors import EXIT_CLEAN, EXIT_FINDINGS
    from sismo.lab.exam import reveal

    sheet = page(lang)
    marks = reveal(Path(root), sheet.language)
    emit(to_json(marks) if as_json else as_text(marks, sheet))
    return EXIT_CLEAN if all(mark.right for mark in marks) else EXIT_FINDINGS
