"""Logs as trainers write them, for tests and for measuring: one writer per trainer, found by being in one of these files."""

from __future__ import annotations

from sismo.bench.trainers import general, language, speech, vision
from sismo.bench.trainers.kinds import ALL, Row, Trainer

__all__ = ["ALL", "Row", "Trainer", "general", "language", "speech", "vision"]
