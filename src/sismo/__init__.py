"""sismo: a seismograph for neural-network training runs.

run = sismo.load("trainer_state.json")
print(sismo.diagnose(run).verdict)
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sismo.postmortem import PostMortem
    from sismo.probes.causality import causality
    from sismo.probes.nan_origin import nan_origin
    from sismo.probes.replay import replay
    from sismo.recorder import Recorder
    from sismo.records.types import Run
    from sismo.signals.presets import Preset

__all__ = ["Recorder", "causality", "diagnose", "load", "nan_origin", "replay"]
__version__ = "0.1.0"

_TORCH = {
    "Recorder": ("sismo.recorder", "recording a run"),
    "causality": ("sismo.probes.causality", "a probe"),
    "nan_origin": ("sismo.probes.nan_origin", "a probe"),
    "replay": ("sismo.probes.replay", "a probe"),
}
"""Public names that need torch: the module that each is in, and what it is for."""


def load(path: str | Path, mapping: Mapping[str, str] | None = None) -> Run | list[Run]:
    """Reads a log, a folder or a recorded run, whatever its format.

    Returns one ``Run``, or a list when there are several in it. ``mapping`` is channel to column (``{"loss/train": "my_col"}``).
    Raises ``SourceError`` when nothing in it can be read as a training run.
    """
    from sismo.sources import load as _load

    runs = _load(path, mapping)
    return runs[0] if len(runs) == 1 else runs


def diagnose(run: Run, limits: Preset | None = None) -> PostMortem:
    """What is wrong with a run, since when, why, and what to do first. See ``sismo.postmortem.PostMortem``."""
    from sismo.errors import UsageError
    from sismo.judge import diagnose as _diagnose
    from sismo.records.types import Run

    if not isinstance(run, Run):
        raise UsageError(f"one Run is wanted, not {type(run).__name__}; load() gives a list where a log holds several: loop over it")

    return _diagnose(run, limits)


def __getattr__(name: str) -> object:
    # These need torch, which costs seconds to import and is not installed where logs are only read.
    if name not in _TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, what = _TORCH[name]
    try:
        return getattr(_import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from sismo.errors import MissingExtra

        raise MissingExtra(what, "torch") from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
