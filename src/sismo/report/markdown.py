"""A post-mortem as Markdown, to paste into an issue tracker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sismo.postmortem import CauseItem, EvidenceItem, PostMortem
from sismo.report.escape import markdown as escaped
from sismo.report.language import Language


def render(document: PostMortem, language: Language) -> str:
    """The report, without a newline at its end."""
    return "\n".join(_lines(document, language))


def _lines(document: PostMortem, language: Language) -> Iterator[str]:
    say, word = language.say, language.word
    yield f"## {escaped(say(document.verdict))}"
    yield ""
    run = f"`{document.path}`" + (f" [{document.name}]" if document.name else "")
    yield f"{run} ({document.source}, {document.preset})"
    for fact in document.facts:
        yield f"- {escaped(say(fact))}"
    for position, cause in enumerate(document.causes):
        yield ""
        yield from _cause(cause, language, first=position == 0)
    yield from _walk(document, language)
    if document.unknown:
        yield from ("", f"### {word('Not checked')}", "")
        for how in dict.fromkeys(say(item.how) for item in document.unknown):
            missing = dict.fromkeys(say(item.missing) for item in document.unknown if say(item.how) == how)
            yield f"- {escaped(how)}: {escaped(', '.join(missing))}"
    if document.notes:
        yield from ("", f"### {word('Notes on the reading')}", "")
        yield from (f"- {escaped(say(note))}" for note in document.notes)


def _cause(cause: CauseItem, language: Language, *, first: bool) -> Iterator[str]:
    say, word = language.say, language.word
    where = "" if cause.step is None else language.fill(", step {step}", step=cause.step)
    after = " " + language.fill("(follows from {id})", id=cause.consequence_of) if cause.consequence_of else ""
    yield f"### {escaped(say(cause.title))} (`{cause.id}`, {word(cause.severity)}, {cause.confidence:.2f}{where}){after}"
    yield ""
    yield escaped(say(cause.statement))
    yield from _bullets(word("Evidence"), cause.evidence, language)
    yield from _bullets(word("Against"), cause.against, language)
    if not first:
        yield ""
        yield f"**{word('Do first')}:** {escaped(say(cause.first_action))}"
        return
    yield from _bullets(word("Ruled out"), cause.looked_for, language)
    yield ""
    yield f"**{word('Do first')}:** {escaped(say(cause.first_action))}"
    yield ""
    yield f"**{word('To confirm')}:** {escaped(say(cause.confirm))}"
    if cause.fixes:
        yield from ("", f"**{word('Other fixes')}**", "")
        yield from (f"- {escaped(say(fix))}" for fix in cause.fixes)


def _bullets(label: str, items: Sequence[EvidenceItem], language: Language) -> Iterator[str]:
    if items:
        yield from ("", f"**{label}**", "")
        yield from (f"- {escaped(language.say(item.text))}" for item in items)


def _walk(document: PostMortem, language: Language) -> Iterator[str]:
    """The whole path in a fold: an issue should not open with sixty lines of it."""
    if not document.walk:
        return
    say, word = language.say, language.word
    yield from ("", f"<details><summary>{word('The path')}</summary>", "", f"| | {word('question')} | |", "|---|---|---|")
    for item in document.walk:
        said = escaped(say(item.evidence[0].text)) if item.evidence else ""
        yield f"| {item.id} | {escaped(say(item.asks))} | **{word(item.answer)}** {said} |"
    yield from ("", "</details>")
