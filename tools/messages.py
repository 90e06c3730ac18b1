"""Gathers every sentence that sismo can say into the Spanish catalogue, and compiles it. Translations that are there stay.

python tools/messages.py           write sismo.po and sismo.mo
python tools/messages.py --check   say whether they are what would be written, and what is not translated
"""

from __future__ import annotations

import ast
import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from sismo.lab.catalogue import faults, kinds, tasks
from sismo.records.channels import FAMILIES, panel_of
from sismo.report.language import LOCALE
from sismo.signals.registry import detectors, thresholds
from sismo.tree.catalogue import causes, remedies, trees
from sismo.tree.remedy import SETTINGS

SOURCE = Path(__file__).parent.parent / "src" / "sismo"
FOLDER = LOCALE / "es" / "LC_MESSAGES"
PO, MO = FOLDER / "sismo.po", FOLDER / "sismo.mo"

_CALLS = {"word": 0, "fill": 0, "Text": 0, "unknown": 0, "Note": 1}
"""Functions that take a sentence, and which argument it is."""

_SPEAKING = (
    "report", "dashboard", "scan", "cli", "incident", "patch", "sources", "signals/detectors", "probes", "lab", "postmortem.py",
)  # fmt: skip
"""Packages and modules whose code holds sentences."""

_WORDS = (
    "yes",
    "no",
    "unknown",
    "broken",
    "warning",
    "note",
    "none",
    "step",
    "epoch",
    "training loss",
    "validation loss",
    "running",
    "completed",
    "crashed",
)
"""Words that reach a report as a value rather than as a sentence."""


def sentences() -> Iterator[tuple[str, str]]:
    """Every message id, with where it comes from. Sorted by where, so that a translator meets what belongs together."""
    for word in _WORDS:
        yield word, "words"
    for name in _SPEAKING:
        path = SOURCE / name
        for file in [path] if path.suffix else sorted(path.rglob("*.py")):
            for text in _in_code(file):
                yield text, str(file.relative_to(SOURCE))
    yield from ((text, "postmortem.py") for text in verdicts())
    for tree in trees().values():
        yield tree.title, f"tree {tree.name}"
        for node in tree.nodes:
            for text in (node.section, node.asks, node.why, node.confused_with, node.try_next):
                yield text, f"question {node.id}"
    for cause in causes().values():
        for text in (
            cause.title, cause.statement, cause.first_action, *cause.fixes, cause.otherwise, cause.confirm, cause.counter, cause.decider,
        ):  # fmt: skip
            yield text, f"cause {cause.id}"
    for remedy in remedies().values():
        for text in (remedy.expect, remedy.lesson, *(change.why for change in remedy.changes)):
            yield text, f"remedy {remedy.cause}"
    for name, setting in SETTINGS.items():
        yield setting.title, f"setting {name}"
    for detector in detectors().values():
        for text in (detector.present, detector.absent, detector.how):
            yield text, f"signal {detector.id}"
    for threshold in thresholds().values():
        yield threshold.about, f"threshold {threshold.name}"
    for family in FAMILIES.values():
        yield family.record, f"channel {family.name}"
    for name in dict.fromkeys(map(panel_of, FAMILIES)):
        yield name, "panel"
    for task in tasks().values():
        yield task.title, f"task {task.id}"
    for fault in faults().values():
        for text in (fault.title, fault.sign):
            yield text, f"fault {fault.id}"
    for kind in kinds().values():
        yield kind.title, f"healthy kind {kind.id}"


def verdicts() -> Iterator[str]:
    """The verdicts that are put together from a beginning and an end."""
    for start in ("{title} ({id})", "Probably: {title} ({id})", "Possibly: {title} ({id})"):
        for end in (", from {unit} {step}.", "."):
            yield start + end


def _in_code(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = _CALLS.get(name)
            if place is not None and place < len(node.args):
                yield from _constants(node.args[place])


def _constants(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _constants(node.body)
        yield from _constants(node.orelse)


def catalogue() -> Catalog:
    """The catalogue as it should be: every sentence once, with the translation that the old one had."""
    old = read_po(io.BytesIO(PO.read_bytes()), locale="es") if PO.exists() else Catalog(locale="es")
    stamp = datetime(2026, 1, 1, tzinfo=UTC)  # a date that changes would make every run a diff
    about = {"project": "sismo", "version": "1", "msgid_bugs_address": "-", "last_translator": "-", "language_team": "es"}
    comment = "# Spanish sentences of sismo. The message ids are written by `make messages`."
    new = Catalog(locale="es", **about, header_comment=comment, charset="utf-8", fuzzy=False, creation_date=stamp, revision_date=stamp)
    where: dict[str, list[str]] = {}
    for text, place in sentences():
        if text.strip() and any(letter.isalpha() for letter in text):
            where.setdefault(text, []).append(place)
    for text, places in where.items():
        known = old.get(text)
        new.add(text, known.string if known else "", auto_comments=list(dict.fromkeys(places))[:3])
    return new


def written(catalog: Catalog) -> tuple[bytes, bytes]:
    """The two files as bytes."""
    po, mo = io.BytesIO(), io.BytesIO()
    write_po(po, catalog, width=0, sort_output=False)
    write_mo(mo, catalog)
    return po.getvalue(), mo.getvalue()


def untranslated(catalog: Catalog) -> list[str]:
    """The sentences without a translation."""
    return [str(message.id) for message in catalog if message.id and not message.string]


def main() -> int:
    """Returns 0, or with ``--check`` 1 when the files are out of date or a sentence has no translation."""
    wanted = catalogue()
    po, mo = written(wanted)
    missing = untranslated(wanted)
    print(f"{len(wanted)} sentences, {len(missing)} without a translation")
    if "--check" in sys.argv[1:]:
        print(*(f"  {text}" for text in missing), sep="\n", end="\n" if missing else "")
        return 0 if not missing and PO.exists() and MO.exists() and (po, mo) == (PO.read_bytes(), MO.read_bytes()) else 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    PO.write_bytes(po)
    MO.write_bytes(mo)
    return 0


if __name__ == "__main__":
    sys.exit(main())
