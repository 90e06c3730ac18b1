"""Whether a run sees the same few batches all along, or each of its batches as often as any other."""

from __future__ import annotations

import numpy as np

from sismo.records.numeric import distinct, median
from sismo.signals.view import View

_FEW = 6
"""Batches of an epoch so short that each is seen three times in 20 steps."""
_ROUNDS = 3
"""Times that all batches have to come in the same order."""
_ALIKE = 0.9
"""Share of the batches that come as often as the usual one; a run begins and ends within a round."""


def sees_few_batches(view: View) -> bool:
    """Whether every batch of a recorded run is one of at most six, or the batches come round in one order, so that each comes again within
    20 steps by design: full-batch training, a graph, a tiny data set. False where nothing tells.
    """
    prints = view.series("batch/fingerprint")
    if prints is None or len(prints) <= _FEW:
        return False
    count = distinct(prints.values).size
    rounds = _ROUNDS * count <= len(prints) and bool((prints.values[count:] == prints.values[:-count]).all())
    return count <= _FEW or rounds


def sees_each_as_often(view: View) -> bool:
    """Whether nearly every batch of a recorded run comes the same number of times, two or more. False where nothing tells."""
    prints = view.series("batch/fingerprint")
    if prints is None or len(prints) <= _FEW:
        return False
    ordered = np.sort(prints.values)
    ends = np.flatnonzero(ordered[1:] != ordered[:-1])
    counts = np.diff(np.concatenate([[-1], ends, [ordered.size - 1]])).astype(np.float64)
    usual = median(counts)
    return usual >= 2 and int(np.count_nonzero(counts == usual)) >= _ALIKE * counts.size
