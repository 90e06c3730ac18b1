"""``sismo explain``: what an id means."""

from __future__ import annotations

import click

from sismo.cli.options import as_json, lang


@click.command(
    epilog="""\b
Examples:
  sismo explain S2.Q1
  sismo explain missing-warmup
  sismo explain spike-sigma --lang es"""
)
@click.argument("name", metavar="ID")
@as_json
@lang
def COMMAND(name: str, as_json: bool, lang: str | None) -> int:  # noqa: N802 - the name by which commands are found
    """Explain a question, a cause or a threshold.

    ID is one of those that 'sismo tree' and 'sismo diagnose' print.
    """
    from sismo import __version__
    from sismo.cli.console import emit, page
    from sismo.cli.entries import find
    from sismo.report import explain
    from sismo.signals.registry import detectors
    from sismo.signals.types import Threshold
    from sismo.tree.catalogue import causes, nodes
    from sismo.tree.types import Node

    entry, sheet = find(name), page(lang)
    if isinstance(entry, Threshold):
        users = [detector.id for detector in detectors().values() if entry in detector.thresholds]
        emit(explain.render_json("threshold", entry, __version__, used_by=users) if as_json else explain.threshold(entry, users, sheet))
    elif isinstance(entry, Node):
        titles = {**{node.id: node.asks for node in nodes().values()}, **{cause.id: cause.title for cause in causes().values()}}
        emit(explain.render_json("question", entry, __version__) if as_json else explain.question(entry, detectors(), titles, sheet))
    else:
        emit(explain.render_json("cause", entry, __version__) if as_json else explain.cause(entry, detectors(), sheet))
    return 0
