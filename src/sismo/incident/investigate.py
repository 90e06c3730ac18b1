"""The seven parts of a post-mortem, put together from a run and its diagnosis."""

from __future__ import annotations

import numpy as np

from sismo import postmortem
from sismo.incident.closing import lesson, root, verification
from sismo.incident.prescribe import prescribe
from sismo.incident.subject import subject_of
from sismo.incident.symptoms import symptoms
from sismo.incident.types import Incident
from sismo.incident.weighing import Bench, PanelOf, bearings, hypotheses, undecided
from sismo.incident.window import pictures
from sismo.records.channels import LOSS_TRAIN
from sismo.records.types import Run
from sismo.signals import registry
from sismo.signals.presets import Preset
from sismo.signals.view import View
from sismo.tree.walk import walk


def investigate(run: Run, limits: Preset, panel_of: PanelOf) -> Incident:
    """Everything that is said about one failure. ``panel_of`` names the panel of the page that draws a channel."""
    seen = registry.observe(View.of(run, limits.values))
    diagnosis = walk(seen)
    detectors = registry.detectors()
    document = postmortem.write(run, diagnosis, detectors, limits.name)
    bench = Bench(run, seen, detectors, panel_of)
    subject = subject_of(diagnosis)
    onset = subject.step if subject else _lost(run)
    weighed = hypotheses(diagnosis, subject, bench)
    prescription = prescribe(run, diagnosis)
    return Incident(
        document=document,
        onset=onset,
        pictures=pictures(run, onset, subject.evidence if subject else (), panel_of) if subject or onset is not None else [],
        symptoms=symptoms(run, onset),
        hypotheses=weighed,
        bearings=bearings(subject, weighed, bench),
        undecided=undecided(subject, bench),
        root=root(document, diagnosis, subject, bench, prescription),
        prescription=prescription,
        verification=verification(run, diagnosis.healthy, subject, prescription),
        lesson=lesson(diagnosis.healthy, subject),
    )


def _lost(run: Run) -> int | None:
    """The first step at which the loss is not finite."""
    loss = run.get(LOSS_TRAIN)
    lost = loss.steps[~np.isfinite(loss.values)] if loss is not None else np.zeros(0)
    return int(lost[0]) if lost.size else None
