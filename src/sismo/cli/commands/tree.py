"""``sismo tree``: the questions that a diagnosis walks."""

from __future__ import annotations

import click

from sismo.cli.options import as_json, lang


@click.command(
    epilog="""\b
Examples:
  sismo tree
  sismo tree stability
  sismo tree preflight --json"""
)
@click.argument("name", required=False, type=click.Choice(["preflight", "stability"]))
@as_json
@lang
def COMMAND(name: str | None, as_json: bool, lang: str | None) -> int:  # noqa: N802 - the name by which commands are found
    """Print the decision trees, both or one.

    Every line has an id that 'sismo explain' takes.
    """
    from sismo import __version__
    from sismo.cli.console import emit, page
    from sismo.report.outline import render, render_json
    from sismo.tree.catalogue import trees

    chosen = [tree for tree in trees().values() if name in {None, tree.name}]
    emit(render_json(chosen, __version__) if as_json else render(chosen, page(lang)))
    return 0
