"""Finds every detector that lies in ``detectors/`` and runs them over a view."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

import numpy as np

from sismo.signals import detectors as _folder
from sismo.signals.types import Detector, Observation, Threshold
from sismo.signals.view import View


@cache
def detectors() -> Mapping[str, Detector]:
    """Every detector by signal id. A module in ``detectors/`` takes part by having a ``DETECTORS`` tuple."""
    found: dict[str, Detector] = {}
    for module in pkgutil.iter_modules(_folder.__path__):
        for detector in importlib.import_module(f"{_folder.__name__}.{module.name}").DETECTORS:
            if detector.id in found:
                raise ValueError(f"two detectors claim the signal {detector.id!r}")
            found[detector.id] = detector
    return found


@cache
def thresholds() -> Mapping[str, Threshold]:
    """Every threshold by name. Two detectors may share one only when they agree on every field."""
    found: dict[str, Threshold] = {}
    for detector in detectors().values():
        for threshold in detector.thresholds:
            if found.setdefault(threshold.name, threshold) != threshold:
                raise ValueError(f"two different thresholds are called {threshold.name!r}")
    return found


def observe(view: View) -> dict[str, Observation]:
    """Runs every detector. Returns one observation per signal id."""
    with np.errstate(all="ignore"):  # a loss of 1e300 overflows a square on the way to a verdict: no reason to warn on standard error
        return {name: Observation(*detector.look(view)[:-1], signal=name) for name, detector in detectors().items()}
