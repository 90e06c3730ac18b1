"""Post-mortems as one JSON document, strict: no token that only Python reads. The schema stands in docs/diagnosis.schema.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sismo.postmortem import CauseItem, EvidenceItem, PostMortem
from sismo.report.language import Language

SCHEMA = "sismo.diagnosis/1"


def render(documents: Sequence[PostMortem], errors: Sequence[tuple[str, str]], version: str, language: Language) -> str:
    """One document over all runs and all paths that could not be read. ASCII only, so that any stream can carry it."""
    whole = {
        "schema": SCHEMA,
        "sismo": version,
        "runs": [_run(document, language) for document in documents],
        "errors": [{"path": path, "error": error} for path, error in errors],
    }
    return json.dumps(whole, indent=2, allow_nan=False)


def _run(document: PostMortem, language: Language) -> Mapping[str, object]:
    return {
        "path": document.path,
        "name": document.name,
        "source": document.source,
        "preset": document.preset,
        "healthy": document.healthy,
        "verdict": language.say(document.verdict),
        "severity": document.severity,
        "step": _step(document.step),
        "causes": [_cause(cause, language) for cause in document.causes],
        "walk": [
            {
                "id": item.id,
                "section": language.say(item.section),
                "asks": language.say(item.asks),
                "answer": item.answer,
                "evidence": _evidence(item.evidence, language),
            }
            for item in document.walk
        ],
        "unknown": [
            {"id": item.id, "asks": language.say(item.asks), "missing": language.say(item.missing), "how": language.say(item.how)}
            for item in document.unknown
        ],
        "notes": [{"code": code, "text": language.say(note)} for code, note in zip(document.note_codes, document.notes, strict=True)],
        "facts": [language.say(fact) for fact in document.facts],
    }


def _cause(cause: CauseItem, language: Language) -> Mapping[str, object]:
    return {
        "id": cause.id,
        "title": language.say(cause.title),
        "severity": cause.severity,
        "step": _step(cause.step),
        "confidence": float(cause.confidence),
        "evidence": _evidence(cause.evidence, language),
        "against": _evidence(cause.against, language),
        "looked_for": _evidence(cause.looked_for, language),
        "open": _evidence(cause.open, language),
        "consequence_of": cause.consequence_of or None,
        "twins": list(cause.twins),
        "statement": language.say(cause.statement),
        "first_action": language.say(cause.first_action),
        "fixes": [language.say(fix) for fix in cause.fixes],
        "confirm": language.say(cause.confirm),
        "counter": language.say(cause.counter),
        "decider": language.say(cause.decider) if cause.decider is not None else None,
    }


def _evidence(items: Sequence[EvidenceItem], language: Language) -> list[Mapping[str, object]]:
    return [
        {
            "signal": item.signal,
            "text": language.say(item.text),
            "channel": item.channel,
            "start": _step(item.start),
            "end": _step(item.end),
        }
        for item in items
    ]


def _step(step: int | None) -> int | None:
    """A plain integer: detectors may leave one of numpy's, which JSON does not know."""
    return None if step is None else int(step)
