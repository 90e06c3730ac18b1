"""``sismo lab answer``: a diagnosis, before the truth is known."""

from __future__ import annotations

from pathlib import Path

import click

from sismo.cli.options import lang, root


@click.command(
    short_help="Write down what is wrong with a run.",
    epilog="""\b
Examples:
  sismo lab answer 01 bad-init --because "panel 4 is huge at step 0"
  sismo lab answer 03 unknown --because "the causality probe decides"\n""",
)
@click.argument("number", metavar="RUN")
@click.argument("name", metavar="DIAGNOSIS")
@click.option("--because", required=True, metavar="TEXT", help="What it rests on.")
@root
@lang
def COMMAND(number: str, name: str, because: str, root: str, lang: str | None) -> int:  # noqa: N802 - the name by which commands are found
    """Write down what is wrong with a run: bad-init, no-warmup, broken-mask, or the id of a cause.

    "unknown" is right where the page does not show it (a broken mask under --layout chunks) and the reason names the probe that decides.
    An answer can be replaced until the exam is revealed.
    """
    from sismo.cli.console import emit, page
    from sismo.lab import exam, sealed

    number = exam.answer(Path(root), number, name, because)
    folder = Path(root) / exam.EXAM
    paper = sealed.read(folder)
    left = [other for other in paper.numbers if other not in paper.answers]
    say = page(lang).language
    emit(say.fill("{number}: {name}, written into {path}", number=number, name=f"“{name}”", path=folder / sealed.DIAGNOSES))
    emit(say.fill("still to answer: {runs}", runs=", ".join(left)) if left else say.word("all answered: sismo lab reveal"))
    return 0
