"""Logs as trainers write them, made for the tests: one writer per trainer, found by being in one of these files."""

from __future__ import annotations

from support.trainers import general, language, speech, vision
from support.trainers.kinds import ALL, Row, Trainer

__all__ = ["ALL", "Row", "Trainer", "general", "language", "speech", "vision"]
