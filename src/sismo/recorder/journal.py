"""From drafts to rows: what has arrived is put together, watched and written down."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from sismo.recorder.draft import Draft
from sismo.recorder.lag import Lag, Landed, Piece
from sismo.recorder.mirror import Mirror
from sismo.recorder.panel import Panel
from sismo.recorder.ranks import Ranks, Rows, combined, no_channels
from sismo.recorder.replicas import Replicas
from sismo.recorder.shield import log
from sismo.recorder.watch import Watch
from sismo.records.channels import LOSS_VAL
from sismo.records.reader import read_run
from sismo.records.schema import MANIFEST
from sismo.records.types import Event, Header
from sismo.records.writer import RunWriter

_IDS = 20
"""Batches whose ids are remembered for when something goes wrong."""
_WAIT, _WAIT_AFTER_CRASH = 10.0, 1.0
"""Seconds that other ranks have to tell of their last steps when the run ends; after a crash they may wait for this one in vain."""


class Journal:
    """The run folder of one recorder; on other ranks than 0 only what goes to rank 0.

    Attributes:
        next_step: the number after the last row of a run that is continued, else 0. watch: what looks for trouble.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        ranks: Ranks,
        replicas: Replicas,
        panels: Sequence[Panel],
        mirrors: Sequence[Mirror],
        *,
        zooms: bool,
        trouble: Callable[[int], None],
    ) -> None:
        self._ranks, self._replicas, self._panels, self._mirrors, self._zooms = ranks, replicas, panels, list(mirrors), zooms
        self._lag = Lag()
        self._ids: deque[tuple[int, object]] = deque(maxlen=_IDS)
        self._trouble = trouble
        self._warned: set[str] = set()
        self.watch = Watch(header)
        self.next_step = 0
        last = _last_step(path)
        self.next_step = last + 1 if last is not None else 0
        self._writer = RunWriter(path, header) if ranks.rank == 0 else None
        self._seam = last

    def send(self, step: int, draft: Draft, ids: object, checksum: Tensor | None) -> None:
        """Takes the draft of a step, and writes the rows of all steps that are complete."""
        if self._seam is not None:  # which step a run goes on at is known when it does: it may go back to a checkpoint
            self.happened(step, "resume", {"after": self._seam})
            self._seam = None
        pieces = draft.pieces()
        if ids is not None:
            self._ids.append((step, ids))
        if checksum is not None:
            pieces.append(Piece(checksum.double().reshape(1), no_channels))
        self._lag.send(step, draft.numbers, pieces)
        self._advance()

    def late(self, step: int, val: Any) -> None:
        """A validation loss for a step whose row may be written already."""
        draft = Draft()
        many = val.items() if isinstance(val, Mapping) else [("", val)]
        for name, value in many:
            channel = f"loss_val/{name}" if name else LOSS_VAL
            said = draft.offer(channel, value)
            if said is not None and channel not in self._warned:
                self._warned.add(channel)
                log.warning("%s", said)
        self._lag.send(max(step, 0), draft.numbers, draft.pieces(), late=True)
        self._advance()

    def happened(self, step: int, kind: str, data: Mapping[str, object]) -> None:
        """Writes an event down."""
        if self._writer is not None:
            self._writer.event(Event(step, kind, data))

    def computes_in(self, dtype: str) -> None:
        """Autocast was seen in the loop."""
        if self._writer is not None and self._writer.header.dtype != dtype:
            self._writer.describe(self._writer.header._replace(dtype=dtype))

    def describe(self, said: Mapping[str, object]) -> None:
        """Facts of the manifest are others now."""
        if self._writer is not None:
            self._note(said)
            self._writer.describe(self._writer.header)

    def finish(self, cadence: Mapping[str, object], error: BaseException | None, step: int) -> None:
        """Waits for what is under way, and closes the run."""
        self._advance(wait=_WAIT if error is None else _WAIT_AFTER_CRASH)
        if self._writer is None:
            return
        said: dict[str, object] = {"cadence": cadence}
        if error is not None:
            said["exception"] = f"{type(error).__name__}: {error}".rstrip(": ")
            if not isinstance(error, KeyboardInterrupt):  # which is somebody's wish
                self.happened(step, "crash", {"line": said["exception"]})
        self._note(said)
        self._writer.close("completed" if error is None else "crashed")

    def broke(self, error: BaseException, step: int) -> None:
        """Recording ends here, and training goes on: what there is stays readable."""
        if self._writer is None:
            return
        try:
            self.happened(step, "warning", {"tag": "recorder-stopped", "line": f"{type(error).__name__}: {error}"})
        finally:
            self._writer.close("stopped")

    def _note(self, said: Mapping[str, object]) -> None:
        assert self._writer is not None
        config = dict(self._writer.header.config)
        known = config.get("sismo")
        config["sismo"] = {**(known if isinstance(known, dict) else {}), **said}
        self._writer.header = self._writer.header._replace(config=config)

    def _advance(self, *, wait: float = 0.0) -> None:
        for landed in self._lag.landed(wait=bool(wait)):
            self._ranks.send(landed, alone=landed.late)
        for landed, rows in self._ranks.ready(wait=wait):
            self._write(landed, rows)

    def _write(self, landed: Landed, rows: Rows | None) -> None:
        if self._writer is None:
            return
        values = combined(landed, rows, self._ranks.world)
        step = landed.step
        if landed.late:
            self._writer.row(step, values)
            return
        events = [event for panel in self._panels for event in panel.landed(step, values)]
        self._writer.row(step, values)
        for mirror in list(self._mirrors):
            try:
                mirror.row(step, values)
            except Exception as error:  # a server that is away, a tracker that was closed: the run folder needs none of them
                self._mirrors.remove(mirror)
                log.warning("%s gets no more rows, the run folder still does: %s", type(mirror).__name__, error or type(error).__name__)
        if self._zooms:
            events += self.watch.see(step, values)
        if rows is not None:
            events += self._replicas.compare(step, rows, self._ranks.world)
        for event in events:
            self._writer.event(event)
        troubled = [int(str(event.data.get("since", event.step))) for event in events if event.kind in ("zoom", "nonfinite")]
        if troubled:
            self._trouble(min(troubled))
            for at, ids in self._ids:
                self._writer.event(Event(at, "batch", {"ids": _listed(ids)}))
            self._ids.clear()


def _listed(ids: Any) -> list[Any]:
    """What tells the samples of a batch apart, as a list; a tensor may be on a device until here."""
    if hasattr(ids, "tolist"):
        ids = ids.tolist()
    return list(ids) if isinstance(ids, Iterable) and not isinstance(ids, (str, bytes)) else [ids]


def _last_step(path: Path) -> int | None:
    """The last step of a run that is there already; -1 for one without rows, None for none."""
    if not (path / MANIFEST).is_file():
        return None
    return max((int(series.steps[-1]) for series in read_run(path).series.values() if len(series)), default=-1)
