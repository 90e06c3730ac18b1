"""``sismo lab faults``: what can be trained."""

from __future__ import annotations

import click

from sismo.cli.options import as_json, lang


@click.command(
    short_help="List every fault with its truth, and every healthy kind.",
    epilog="""\b
Examples:
  sismo lab faults
  sismo lab faults --json | jq -r '.faults[].id'""",
)
@as_json
@lang
def COMMAND(as_json: bool, lang: str | None) -> int:  # noqa: N802 - the name by which commands are found
    """List every fault with its truth, and every healthy run that looks odd."""
    import json

    from sismo.cli.console import emit, page
    from sismo.lab.catalogue import faults, kinds

    if as_json:
        broken = [
            {"id": one.id, "title": one.title, "truth": list(one.truth), "onset": one.onset, "tasks": list(one.tasks), "panel": one.panel}
            for one in faults().values()
        ]
        well = [{"id": one.id, "title": one.title, "tasks": list(one.tasks)} for one in kinds().values()]
        emit(json.dumps({"faults": broken, "healthy": well}, indent=2))
        return 0
    sheet = page(lang)
    width = max(len(name) for name in (*faults(), *kinds())) + 2
    lines = [sheet.heading(sheet.word("Faults"))]
    for one in faults().values():
        truth = f"{sheet.word(one.title)} ({', '.join(one.truth)}; {', '.join(one.tasks)})"
        lines += sheet.hang(f"{one.id:{width}}", truth)
    if kinds():
        lines += ["", sheet.heading(sheet.word("Healthy runs that look odd"))]
        for one in kinds().values():
            lines += sheet.hang(f"{one.id:{width}}", f"{sheet.word(one.title)} ({', '.join(one.tasks)})")
    emit("\n".join(lines))
    return 0
