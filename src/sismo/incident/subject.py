"""What a post-mortem is about."""

from __future__ import annotations

from sismo.postmortem import LIKELY
from sismo.tree.catalogue import remedies
from sismo.tree.remedy import Kind
from sismo.tree.types import Diagnosis, Finding


def subject_of(diagnosis: Diagnosis) -> Finding | None:
    """The first finding; for a run that nothing broke, the first note that something could be done about, if it is likely."""
    if diagnosis.healthy is None:
        return None
    if diagnosis.healthy is False:
        return diagnosis.first
    return next(
        (one for one in diagnosis.findings if one.confidence >= LIKELY and remedies()[one.cause.id].kind is not Kind.NOTHING),
        None,
    )
