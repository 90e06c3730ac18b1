"""``leakage``: what training and validation data share, and which labels carry loss."""

from __future__ import annotations

from itertools import islice

from sismo.errors import SismoError, UsageError
from sismo.probes.case import Case
from sismo.probes.leakage import leakage
from sismo.probes.step import one_line
from sismo.records.probing import ProbeReport

_BATCHES = 10_000
"""Batches of each loader that are looked at: a stream has no end."""


def run(case: Case) -> ProbeReport:
    """Compares the two loaders that ``build()`` returns; no model is run."""
    train, val = case.built.train, case.built.val
    if train is None or val is None:
        raise UsageError(
            "leakage compares two loaders: build() has to return them, for training and validation, as the fifth and the sixth"
        )
    try:
        return leakage(islice(train, _BATCHES), islice(val, _BATCHES)).report()
    except SismoError:
        raise
    except Exception as error:
        raise UsageError(f"a loader failed: {one_line(error)}") from error
