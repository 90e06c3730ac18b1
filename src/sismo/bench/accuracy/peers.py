"""Other tools on the logs of the same runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sismo.bench import peers
from sismo.bench.accuracy.plan import Trial
from sismo.bench.accuracy.training import LOG


class PeerScore(NamedTuple):
    """One tool: of ``total`` faulty runs, how many it flagged and was right about; alarms on healthy runs; runs that it did not read."""

    name: str
    version: str
    total: int
    flagged: int
    right: int
    alarms: int
    unread: int


def ask(name: str, runs: Sequence[tuple[Trial, Path]]) -> PeerScore:
    """Asks a peer about runs, given their folders."""
    answers = [(trial, peers.ask(name, folder / LOG)) for trial, folder in runs]
    faulty = [(trial, answer) for trial, answer in answers if trial.truth]
    return PeerScore(
        name,
        peers.PEERS[name].version,
        len(faulty),
        sum(bool(answer.checks) for _, answer in faulty),
        sum(peers.is_right(name, answer, trial.truth) for trial, answer in faulty),
        sum(bool(answer.checks) for trial, answer in answers if not trial.truth),
        sum(bool(answer.error) for _, answer in answers),
    )
