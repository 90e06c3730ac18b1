"""MLflow as a mirror: ``Recorder(..., mirrors=[MlflowMirror(mlflow)])``, or an ``MlflowClient`` with a run id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_ALLOWED = re.compile(r"[^\w\-. /]")


class MlflowMirror:
    """Passes every row on to the active run of the ``mlflow`` module that it is given."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def row(self, step: int, values: Mapping[str, float]) -> None:
        """One call a row, with what MLflow allows in a name."""
        self._module.log_metrics({_ALLOWED.sub("_", channel): value for channel, value in values.items()}, step=step)
