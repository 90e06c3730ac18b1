"""``batch``: which examples, tokens and n-grams carry the loss of a batch."""

from __future__ import annotations

from sismo.incident.batches import ids as named
from sismo.probes import checkpoints
from sismo.probes.batch import carried
from sismo.probes.case import Case
from sismo.records.probing import ProbeReport
from sismo.records.types import Note

_RECENT = 20


def run(case: Case) -> ProbeReport:
    """Runs every example by itself; the other batches that the run kept are the recent ones."""
    case.restore()
    recent = [checkpoints.batch(path) for at, path in case.batches() if at < case.step][-_RECENT:]
    found = carried(case.built.model, case.batch, case.built.loss_fn, recent).report()
    if not recent:  # nothing was there to find them in
        found = found._replace(data={key: value for key, value in found.data.items() if key != "duplicates"})
    ids = named(case.run, case.step, case.step) if case.run is not None and case.has_batch and case.given_batch is None else []
    places = found.data.get("examples")
    if isinstance(places, list) and len(ids) == len(found.rows):
        said = ", ".join(ids[place] for place in places[:5])
        found = found._replace(notes=(Note("ids", "Their ids: {said}.", {"said": said}), *found.notes), data={**found.data, "ids": said})
    if found.data.get("batch") == "even" and not case.has_batch:
        verdict = Note("even-other", "No example stands out from another batch: that of step {step} was not kept.", {"step": case.step})
        found = found._replace(verdict=verdict, data={key: value for key, value in found.data.items() if key != "batch"}, open=True)
    return case.remarked(found)
