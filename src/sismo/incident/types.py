"""The seven parts of a post-mortem, and the prescription that ``sismo fix`` prints: plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sismo.postmortem import PostMortem, Text
from sismo.records.types import Series


class Gap(NamedTuple):
    """What a part lacks, and how to get it."""

    what: Text
    how: Text


class Symptom(NamedTuple):
    """One measured number. ``value`` is None where it is not there; ``gap`` then says what is missing."""

    name: Text
    value: Text | None
    gap: Gap | None = None


class Picture(NamedTuple):
    """One pair of axes over the steps around the onset. ``mark`` is the step of the onset."""

    title: Text
    curves: Sequence[Series]
    span: tuple[int, int]
    mark: int | None


class Hypothesis(NamedTuple):
    """One explanation that was weighed.

    Attributes:
        id, title: the cause. confidence: None where it is not named. step: where it would begin.
        origin: id of the cause that it follows from. panels: where its evidence is drawn.
        reason: the strongest sentence for it; for one that is not named, what keeps it from being.
    """

    id: str
    title: Text
    confidence: float | None
    step: int | None
    origin: str
    panels: Sequence[Text]
    reason: Text


class Bearing(NamedTuple):
    """One observation, and what it does to the hypotheses: ids of those that it favours, weakens and rules out."""

    said: Text
    favours: Sequence[str]
    weakens: Sequence[str]
    rules_out: Sequence[str]


class NewValue(NamedTuple):
    """A setting with its present and its new value.

    ``old`` is None where it is not known, and ``new`` where it follows from ``old`` only; ``keys`` are names for it in configuration files.
    ``rule`` and ``operands`` say how the new one follows.
    """

    setting: str
    title: Text
    old: float | str | bool | None
    new: float | str | bool | None
    said: Text
    why: Text
    keys: Sequence[str]
    rule: str
    operands: Sequence[float | str | bool]


class Start(NamedTuple):
    """From where to go on: ``step`` None is the very beginning. ``path`` is the checkpoint where one is known."""

    step: int | None
    path: str
    said: Text


class Skip(NamedTuple):
    """Batches to leave out: first and last step, and what tells them apart where it was recorded."""

    said: Text
    first: int
    last: int
    fingerprints: Sequence[str]
    ids: Sequence[str]


class Prescription(NamedTuple):
    """What to do about a run.

    Attributes:
        cause: id, empty where nothing is prescribed. kind: ``recipe``, ``code``, ``probe`` or ``nothing``; ``none`` where it is refused.
        refused: why nothing is prescribed, and what would change that. action: the first action in words.
        start, skip, changes, code: the recipe. probe: the command that settles the question. needs: what that lacks, and how it is had.
    """

    cause: str
    kind: str
    confidence: float | None
    refused: Gap | None
    action: Text | None
    start: Start | None = None
    skip: Skip | None = None
    changes: Sequence[NewValue] = ()
    code: str = ""
    probe: str = ""
    needs: Text | None = None


class Verification(NamedTuple):
    """How one sees that the change worked: what to run again, what to expect, within what, and the command that checks it."""

    rerun: Text
    expect: Text
    within: Text
    check: Text


class Root(NamedTuple):
    """The root cause in one sentence, what it rests on, and what followed from it (ids). ``gap`` is what would make it sure."""

    said: Text
    rests_on: Sequence[Text]
    brought: Sequence[str]
    gap: Gap | None


class Incident(NamedTuple):
    """A post-mortem: the document of the diagnosis, the pictures, and the seven parts."""

    document: PostMortem
    onset: int | None
    pictures: Sequence[Picture]
    symptoms: Sequence[Symptom]
    hypotheses: Sequence[Hypothesis]
    bearings: Sequence[Bearing]
    undecided: Sequence[Gap]
    root: Root
    prescription: Prescription
    verification: Verification
    lesson: Text


class Edit(NamedTuple):
    """One value of a configuration file that gets another one: its key, both as they are written, and why."""

    key: str
    old: str
    new: str
    why: Text


class Left(NamedTuple):
    """A setting that was left to a person, and why."""

    title: Text
    said: Text


class Patch(NamedTuple):
    """What was done about a configuration file.

    ``diff`` is a unified diff, empty where nothing was changed; ``changes`` are those of the prescription with the numbers of the file.
    """

    path: str
    diff: str
    edits: Sequence[Edit]
    left: Sequence[Left]
    changes: Sequence[NewValue]
