"""What the recorder counts its own time with, in one place."""

from __future__ import annotations

import time
from collections.abc import Callable

seconds: Callable[[], float] = time.perf_counter
"""Seconds on the wall. The bench counts CPU seconds of the thread: where others use the machine, only those say what work costs."""
