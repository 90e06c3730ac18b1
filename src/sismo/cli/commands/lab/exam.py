"""``sismo lab exam``: sismo sits the exam itself."""

from __future__ import annotations

from pathlib import Path

import click

from sismo.cli.options import as_json, lang, root


@click.command(
    epilog="""\b
Examples:
  sismo lab exam --auto
  sismo lab exam                  how far your own exam is"""
)
@click.option("--auto", is_flag=True, help="Let sismo answer and reveal.")
@root
@as_json
@lang
def COMMAND(auto: bool, root: str, as_json: bool, lang: str | None) -> int:  # noqa: N802 - the name by which commands are found
    """Say how far the exam is, or let sismo sit it.

    With --auto sismo reads the three run folders, which is what a learner sees, writes its diagnoses and reveals. Exits 0 when all are
    right, else 1.
    """
    from sismo.cli.console import emit, page
    from sismo.cli.marks import as_text, to_json
    from sismo.errors import EXIT_CLEAN, EXIT_FINDINGS, UsageError
    from sismo.lab import exam, sealed

    sheet = page(lang)
    paper = sealed.read(Path(root) / exam.EXAM)
    if not auto:
        if paper.revealed and not as_json:
            emit(as_text(exam.marks(paper), sheet))
            return EXIT_CLEAN
        said = {number: paper.answers[number].name if number in paper.answers else None for number in paper.numbers}
        if as_json:
            import json

            emit(json.dumps({"answers": said, "revealed": paper.revealed}, indent=2))
        else:
            emit("\n".join(f"{number}  {name or sheet.word('no answer yet')}" for number, name in said.items()))
        return EXIT_CLEAN
    if paper.answers and not paper.revealed:
        raise UsageError(f"{', '.join(sorted(paper.answers))}: answered already, and --auto would write over it; sismo lab reveal marks it")
    exam.sit(Path(root))
    marks = exam.reveal(Path(root), sheet.language)
    emit(to_json(marks) if as_json else as_text(marks, sheet))
    return EXIT_CLEAN if all(mark.right for mark in marks) else EXIT_FINDINGS
