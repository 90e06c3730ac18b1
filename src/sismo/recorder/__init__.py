"""The torch edge: records a training run while it trains. ``Recorder`` is the public door; torch is imported here and nowhere below."""

from __future__ import annotations

from sismo.recorder.session import Recorder

__all__ = ["Recorder"]
