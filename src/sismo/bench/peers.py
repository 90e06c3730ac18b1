"""The same runs through other tools, each in an environment of its own and in its own process, as its users run it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sismo.errors import UsageError

WORDS = Path(__file__).with_name("peers.toml")
"""Which of our causes each word of each tool may be taken for."""
_TIMEOUT = 120


@dataclass(frozen=True, slots=True)
class PeerVerdict:
    """What a peer flagged at warning or worse, in its own order and words; ``error`` when it could not read the file."""

    checks: tuple[str, ...] = ()
    error: str = ""


class Peer(ABC):
    """Another tool: its name on PyPI, the version that is measured, and how it is asked about a log of JSON lines."""

    name: str
    version: str

    @abstractmethod
    def ask(self, command: str, log: Path) -> tuple[str, ...]:
        """The words for what it flags. Raises ``ValueError`` when its answer cannot be read."""


class _Losslint(Peer):
    name, version = "losslint", "0.4.1"

    def ask(self, command: str, log: Path) -> tuple[str, ...]:
        return _flagged(json.loads(_run([command, "check", "--format", "json", str(log)]))["findings"])


class _Runmedic(Peer):
    name, version = "runmedic", "0.1.1"

    def ask(self, command: str, log: Path) -> tuple[str, ...]:
        runs = json.loads(_run([command, "diagnose", "--json", str(log)]))
        return _flagged([finding for run in runs for finding in run["findings"]])


class _Pytscope(Peer):
    """It reads only folders of its own; the log is written as one, without the timings that it has none of."""

    name, version = "pytscope", "0.2.1"

    def ask(self, command: str, log: Path) -> tuple[str, ...]:
        with tempfile.TemporaryDirectory() as folder:
            rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line]
            records = [{"step": row.pop("step"), "timestamp": float(at), "scalars": row} for at, row in enumerate(rows)]
            (Path(folder) / "run.json").write_text("{}", encoding="utf-8")
            (Path(folder) / "steps.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
            said = _run([command, "--color", "never", "analyze", folder])
        return tuple(re.findall(r"\[(?:HIGH|MEDIUM|CRITICAL|WARNING)\].*\(([A-Z]+\.[A-Z_]+)\)", said))


PEERS: dict[str, Peer] = {peer.name: peer for peer in (_Losslint(), _Runmedic(), _Pytscope())}


@cache
def command(name: str) -> str:
    """The executable of a peer, in an environment that is made for it where there is none yet.

    Raises ``UsageError`` for a peer that is not known or cannot be installed.
    """
    if name not in PEERS:
        raise UsageError(f"no peer is called {name!r}; there are {', '.join(PEERS)}")
    peer = PEERS[name]
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache_home / "sismo" / "peers" / f"{name}-{peer.version}-py{sys.version_info.major}.{sys.version_info.minor}"
    executable = home / "bin" / name
    if not executable.exists():
        venv.create(home, with_pip=True, clear=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*pip, f"{name}=={peer.version}"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise UsageError(f"{name} {peer.version} cannot be installed: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}")
    return str(executable)


def ask(name: str, log: Path) -> PeerVerdict:
    """Asks a peer about a log."""
    try:
        return PeerVerdict(PEERS[name].ask(command(name), log))
    except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        return PeerVerdict(error=type(error).__name__)


@cache
def words(name: str) -> dict[str, frozenset[str]]:
    """What each word of a peer stands for, as ``peers.toml`` has it."""
    return {word: frozenset(causes) for word, causes in tomllib.loads(WORDS.read_text(encoding="utf-8")).get(name, {}).items()}


def is_right(name: str, verdict: PeerVerdict, truth: Sequence[str]) -> bool:
    """Whether the first thing that a peer flagged may stand for a true cause."""
    return bool(verdict.checks) and bool(words(name).get(verdict.checks[0], frozenset()) & set(truth))


def _run(arguments: Sequence[str]) -> str:
    return subprocess.run(arguments, capture_output=True, text=True, timeout=_TIMEOUT, check=False).stdout


def _flagged(findings: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(finding["check"] for finding in findings if finding.get("severity") != "info")
