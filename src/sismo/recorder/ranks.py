"""Several ranks: each tells rank 0 what it measured, through the store that they met in, and nobody waits for anybody.

There is no collective in here, so that nothing can be out of step with those of the training: a rank that has no recorder, that stopped
recording or that died is only not heard of any more. Every rank has a ring of places in the store, one a step. Rank 0 writes the run.
"""

from __future__ import annotations

import math
import time
from array import array
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch.distributed as dist

from sismo.recorder.lag import Landed
from sismo.recorder.shield import log
from sismo.records.channels import LOSS_TRAIN

MAX_WAITING = 50
"""Steps that may wait for other ranks before rank 0 goes on without them."""
_RING = 2 * MAX_WAITING
"""Places of a rank in the store: more than rank 0 can be behind."""
_PAUSE = 0.01
"""Seconds between two looks at the end of a run."""

Rows = Mapping[int, "Told"]
"""What each rank that was heard of said about a step."""

# The recorders of one path, one after the other: a continued run must not read what an earlier one left in the store.
_made: Counter[str] = Counter()


class Told(NamedTuple):
    """What a rank says about a step: which model it has, its loss, a checksum of weights, and its parts of what is averaged over ranks."""

    step: int
    model: int
    loss: float
    checksum: float
    parts: tuple[float, ...]

    def packed(self) -> bytes:
        """As doubles, for the store."""
        return array("d", [self.step, self.model, self.loss, self.checksum, *self.parts]).tobytes()

    @staticmethod
    def unpacked(data: bytes) -> Told:
        """Out of the store again."""
        step, model, loss, checksum, *parts = array("d", data)
        return Told(int(step), int(model), loss, checksum, tuple(parts))


def no_channels(values: Sequence[float]) -> Mapping[str, float]:
    """The finish of a checksum, which is compared and not recorded."""
    return {}


class Ranks:
    """The gathering of one recorder, told apart by its ``path``; does nothing on one process. ``model``: the likeness of what it trains."""

    def __init__(self, path: str, model: int) -> None:
        self.model = model
        together = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
        self.rank = dist.get_rank() if together else 0
        self.world = dist.get_world_size() if together else 1
        self._store = _store(path) if together else None
        self._queue: deque[tuple[Landed, Told | None]] = deque()

    @property
    def on(self) -> bool:
        """Whether there are other ranks to tell or to hear."""
        return self._store is not None

    def send(self, landed: Landed, *, alone: bool = False) -> None:
        """Hands a step to rank 0, unless it concerns this rank ``alone``."""
        if self._store is None or alone:
            self._queue.append((landed, None))
            return
        checksum = next((parcel.values[0] for parcel in landed.parcels if parcel.finish is no_channels), math.nan)
        parts = tuple(value for parcel in landed.parcels if parcel.across for value in parcel.values)
        told = Told(landed.step, self.model, landed.values().get(LOSS_TRAIN, math.nan), checksum, parts)
        self._queue.append((landed, told))
        if self.rank:
            self._ask(lambda store: store.set(self._key(self.rank, landed.step), told.packed()))

    def ready(self, *, wait: float = 0.0) -> list[tuple[Landed, Rows | None]]:
        """Steps that every rank has told about, or was waited for long enough, in order; with what was said, None for a step of one rank.

        ``wait``: seconds that the others have at most; then everything is ready.
        """
        done: list[tuple[Landed, Rows | None]] = []
        until = time.monotonic() + wait
        while self._queue:
            landed, told = self._queue[0]
            rows = None if told is None else {self.rank: told, **({} if self.rank else self._heard(landed.step))}
            # Other ranks write nothing, and have nobody to wait for.
            if rows is not None and not self.rank and self._store is not None and len(rows) < self.world:
                if time.monotonic() < until:
                    time.sleep(_PAUSE)
                    continue
                if not wait and len(self._queue) < MAX_WAITING:
                    break
            self._queue.popleft()
            done.append((landed, rows))
        return done

    def _heard(self, step: int) -> dict[int, Told]:
        keys = {rank: self._key(rank, step) for rank in range(1, self.world)}
        there = {rank: key for rank, key in keys.items() if self._ask(lambda store, key=key: store.check([key]))}
        said = self._ask(lambda store: store.multi_get(list(there.values()))) if there else None
        told = {rank: Told.unpacked(data) for rank, data in zip(there, said or (), strict=False)}
        # A place may still hold a step of the last round, or hold one of the next already.
        return {rank: one for rank, one in told.items() if one.step == step}

    def _ask(self, what: Any) -> Any:
        """One word with the store, which goes down with the process that holds it: nobody is heard of from then on."""
        if self._store is None:
            return None
        try:
            return what(self._store)
        except RuntimeError as error:
            log.debug("the other ranks are out of reach: %s", error)
            self._store = None
            return None

    @staticmethod
    def _key(rank: int, step: int) -> str:
        return f"{rank}/{step % _RING}"


def _store(path: str) -> Any:
    _made[path] += 1
    try:
        # torch has no public name for the store that the processes of a job met in.
        found: Any = dist.distributed_c10d
        return found.PrefixStore(f"sismo/{_made[path]}/{path}", found._get_default_store())
    except Exception as error:
        log.warning("other ranks are not recorded, as this version of torch does not say how they met: %s", error)
        return None


def combined(landed: Landed, rows: Rows | None, world: int) -> dict[str, float]:
    """The row of a step: means over the ranks with this model where a panel asked for them, and the loss of each rank.

    A mean that a rank is missing from, or that a rank measured otherwise, is left out: a part of it would pass for the whole.
    """
    if rows is None:
        return landed.values()
    parts = [told.parts for told in rows.values() if told.model == rows[0].model]
    alike = len(rows) == world and len(set(map(len, parts))) == 1
    means = iter([sum(column) / len(parts) for column in zip(*parts, strict=True)] if alike else ())
    parcels = []
    for parcel in landed.parcels:
        if not parcel.across:
            parcels.append(parcel)
        elif alike:
            parcels.append(parcel._replace(values=[next(means) for _ in parcel.values]))
    values = landed._replace(parcels=parcels).values()
    values.update({f"loss_rank/{rank}": told.loss for rank, told in rows.items()})
    return values
