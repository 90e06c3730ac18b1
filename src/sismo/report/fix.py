"""A prescription as a person reads it, and as JSON that a script can act on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sismo.incident.types import Incident, NewValue, Patch, Prescription
from sismo.report.incident.sections import prescribed
from sismo.report.language import Language
from sismo.report.page import Page

SCHEMA = "sismo.fix/1"


def render(incident: Incident, patch: Patch | None, page: Page) -> str:
    """The recipe, and the patch under it. Without a newline at its end."""
    return "\n".join(line.rstrip() for line in _lines(incident, patch, page))


def _lines(incident: Incident, patch: Patch | None, page: Page) -> Iterator[str]:
    asked, word = incident.prescription, page.word
    yield from page.hang("", page.say(incident.document.verdict))
    yield ""
    if asked.refused is not None:
        yield from page.hang("  ", page.say(asked.refused.what))
        yield from page.hang("  ", page.say(asked.refused.how))
        return
    kinds = {
        "recipe": word("A recipe: values to set"),
        "code": word("A change of code: no setting does it"),
        "probe": word("Look first: one check decides what has to change"),
        "nothing": word("Nothing to do"),
    }
    yield page.heading(kinds[asked.kind])
    rows = [
        (word("Do first"), [page.say(asked.action)] if asked.action else []),
        (word("Recipe"), prescribed(asked, page.language)),
        (word("Expect"), [page.say(incident.verification.expect)]),
        (word("Within"), [page.say(incident.verification.within)]),
        (word("Verify with"), [page.say(incident.verification.check)]),
    ]
    yield from _table(rows, page)
    for label, text in ((word("Check with"), asked.probe), (word("Code"), asked.code)):
        if text:
            yield from ("", f"  {label}", *(f"      {line}" for line in text.splitlines()))
            if text is asked.probe and asked.needs is not None:
                yield from page.hang("      ", page.say(asked.needs))
    if patch is not None:
        yield from _patched(patch, page)


def _patched(patch: Patch, page: Page) -> Iterator[str]:
    yield ""
    if patch.diff:
        yield page.heading(page.language.fill("Patch of {path}", path=patch.path))
        yield from patch.diff.splitlines()
    else:
        yield page.heading(page.language.fill("{path} needs no change, or none that is clear", path=patch.path))
    for left in patch.left:
        yield from page.hang("  ", f"{page.say(left.title)}: {page.say(left.said)}")


def _table(rows: Sequence[tuple[str, Sequence[str]]], page: Page) -> Iterator[str]:
    width = max(len(label) for label, _ in rows)
    for label, texts in rows:
        for place, text in enumerate(texts):
            yield from page.hang(f"  {label if place == 0 else '':<{width}}  ", text)


def render_json(incident: Incident, patch: Patch | None, version: str, language: Language) -> str:
    """The same as one JSON document."""
    asked, say = incident.prescription, language.say
    whole = {
        "schema": SCHEMA,
        "sismo": version,
        "path": incident.document.path,
        "verdict": say(incident.document.verdict),
        "cause": asked.cause or None,
        "confidence": asked.confidence,
        "kind": asked.kind,
        "refused": {"why": say(asked.refused.what), "instead": say(asked.refused.how)} if asked.refused else None,
        "action": say(asked.action) if asked.action else None,
        "restart": _start(asked, language),
        "skip": _skip(asked),
        "settings": {change.setting: _value(change, language) for change in asked.changes},
        "code": asked.code or None,
        "probe": asked.probe or None,
        "probe_needs": say(asked.needs) if asked.needs else None,
        "verify": {
            "run": say(incident.verification.rerun),
            "expect": say(incident.verification.expect),
            "within": say(incident.verification.within),
            "check": say(incident.verification.check),
        },
        "patch": _patch(patch, language),
    }
    return json.dumps(whole, indent=2, allow_nan=False)


def _start(asked: Prescription, language: Language) -> object:
    if asked.start is None:
        return None
    return {"step": asked.start.step, "checkpoint": asked.start.path or None, "text": language.say(asked.start.said)}


def _skip(asked: Prescription) -> object:
    if asked.skip is None:
        return None
    return {key: value for key, value in asked.skip._asdict().items() if key != "said"}


def _value(change: NewValue, language: Language) -> object:
    return {
        "from": change.old,
        "to": change.new,
        "rule": change.rule,
        "operands": list(change.operands),
        "why": language.say(change.why),
        "keys": list(change.keys),
    }


def _patch(patch: Patch | None, language: Language) -> object:
    if patch is None:
        return None
    return {
        "path": patch.path,
        "diff": patch.diff,
        "edits": [{"key": one.key, "from": one.old, "to": one.new, "why": language.say(one.why)} for one in patch.edits],
        "left": [{"setting": language.say(one.title), "why": language.say(one.said)} for one in patch.left],
    }
