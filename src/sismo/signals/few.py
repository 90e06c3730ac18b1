"""Whether a run sees the same few batches all along."""

from __future__ import annotations

from sismo.records.numeric import distinct
from sismo.signals.view import View

_FEW = 6
"""Batches of an epoch so short that each is seen three times in 20 steps."""


def sees_few_batches(view: View) -> bool:
    """Whether every batch of a recorded run is one of at most six, so that each comes again within 20 steps by design: full-batch training,
    a graph, a tiny data set. False where nothing tells.
    """
    prints = view.series("batch/fingerprint")
    return prints is not None and len(prints) > _FEW and distinct(prints.values).size <= _FEW
