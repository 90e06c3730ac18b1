"""The same files through other tools, each in its own process as its users run it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TIMEOUT = 120


@dataclass(frozen=True, slots=True)
class PeerVerdict:
    """What a peer flagged at warning or worse, in its own order and words; ``error`` when it could not read the file."""

    checks: tuple[str, ...] = ()
    error: str = ""


ACCEPTED: Mapping[str, frozenset[str]] = {
    "recovered-spike": frozenset({"loss_spikes", "loss_spike"}),
    "persistent-elevation": frozenset({"divergence"}),
    "nan-with-runup": frozenset({"non_finite", "nan_inf", "grad_spikes", "divergence"}),
    "nan-abrupt": frozenset({"non_finite", "nan_inf"}),
    "fp16-overflow": frozenset({"non_finite", "nan_inf"}),
    "slow-rise": frozenset({"divergence"}),
    "lr-zero": frozenset({"no_learning", "stagnation"}),
}
"""Checks whose name states the fault or at least its symptom: the most lenient reading. No check of theirs states the others."""


def installed() -> list[str]:
    """The peers that can be run here."""
    return [name for name in ("losslint", "runmedic") if _command(name)]


def _command(name: str) -> str | None:
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


def ask(name: str, path: Path) -> PeerVerdict:
    """Runs a peer on a file and reads what it flags."""
    arguments = {"losslint": ["check", "--format", "json"], "runmedic": ["diagnose", "--json"]}[name]
    try:
        done = subprocess.run(
            [_command(name) or name, *arguments, str(path)], capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
        answer = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as error:
        return PeerVerdict(error=type(error).__name__)
    if isinstance(answer, list):
        findings: list[dict[str, Any]] = [finding for run in answer for finding in run.get("findings", [])]
    else:
        findings = answer.get("findings", [])
    return PeerVerdict(tuple(finding["check"] for finding in findings if finding.get("severity") != "info"))
