"""The one place where the stages meet: a run goes in, the document about it comes out."""

from __future__ import annotations

from dataclasses import replace

from sismo import postmortem
from sismo.postmortem import PostMortem
from sismo.records.types import Run
from sismo.signals import registry
from sismo.signals.presets import Preset, preset
from sismo.signals.view import View
from sismo.tree.types import Diagnosis
from sismo.tree.walk import walk


def judge(run: Run, limits: Preset | None = None) -> Diagnosis:
    """Walks the trees over a run. ``limits`` defaults to the preset ``robust``."""
    return walk(registry.observe(View.of(run, (limits or preset("robust")).values)))


def first_alarm(run: Run) -> int | None:
    """The step at which the leading cause began, or None on a run without one. What probes said of the run does not count."""
    bare = replace(run, events=tuple(event for event in run.events if event.kind != "probe"))
    return next((finding.step for finding in judge(bare).findings if finding.severity.rank and finding.step is not None), None)


def diagnose(run: Run, limits: Preset | None = None) -> PostMortem:
    """What is wrong with a run, since when, why, and what to do first, as one document."""
    limits = limits or preset("robust")
    return postmortem.write(run, judge(run, limits), registry.detectors(), limits.name)
