"""sismo: a seismograph for neural-network training runs.

run = sismo.load("trainer_state.json")
print(sismo.diagnose(run).verdict)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sismo.postmortem import PostMortem
    from sismo.recorder import Recorder
    from sismo.records.types import Run
    from sismo.signals.presets import Preset

__all__ = ["Recorder", "diagnose", "load"]
__version__ = "0.1.0"


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
    # Recording needs torch, which costs seconds to import and is not installed where logs are only read.
    if name != "Recorder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from sismo.recorder import Recorder as _Recorder
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from sismo.errors import MissingExtra

        raise MissingExtra("recording a run", "torch") from error
    return _Recorder


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
