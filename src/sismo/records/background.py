"""A part that is written beside the loop, which must not wait for it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from sismo.records.parts import write_part
from sismo.records.tail import Row


class PartInWriting:
    """Writes rows as a part in a thread of its own. ``done`` says whether it has ended; ``rows`` is how many it was."""

    def __init__(self, metrics: Path, rows: Sequence[Row]) -> None:
        self.rows = len(rows)
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._write, args=(metrics, tuple(rows)), name="sismo-part")
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether the thread has ended."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Waits for the end. Raises what went wrong there."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _write(self, metrics: Path, rows: Sequence[Row]) -> None:
        try:
            write_part(metrics, rows)
        except Exception as error:
            self._error = error
