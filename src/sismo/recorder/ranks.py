"""Several ranks: each tells rank 0 what it measured, over a group of its own that training never waits for.

Numbers go as doubles through gloo after they have arrived on the host, and nobody waits for them: a rank that is ahead goes on, and one
that has stopped recording only ends the gathering. Rank 0 writes the run.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from sismo.recorder.lag import Landed
from sismo.records.channels import LOSS_TRAIN

MAX_WAITING = 50
"""Steps that may wait for other ranks before rank 0 goes on without them."""
_END = timedelta(seconds=10)


def no_channels(values: Sequence[float]) -> Mapping[str, float]:
    """The finish of a checksum, which is compared and not recorded."""
    return {}


class _Gathering(NamedTuple):
    landed: Landed
    work: Any
    out: list[Tensor] | None


class Ranks:
    """The gathering of one recorder; does nothing on a single process.

    ``room`` is how many numbers of sharded tensors a step may have. Every message has this length, because gloo ends the process over two
    lengths that differ.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self.on = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
        self.rank = dist.get_rank() if self.on else 0
        self.world = dist.get_world_size() if self.on else 1
        self._group: Any = dist.new_group(backend="gloo") if self.on else None
        self._queue: deque[_Gathering] = deque()

    def send(self, landed: Landed, *, alone: bool = False) -> None:
        """Hands a step to rank 0, unless it concerns this rank ``alone``. Every rank sends as many numbers, because all follow one plan."""
        if not self.on or alone:
            self._queue.append(_Gathering(landed, None, None))
            return
        loss = landed.values().get(LOSS_TRAIN, math.nan)
        checksum = next((parcel.values[0] for parcel in landed.parcels if parcel.finish is no_channels), math.nan)
        across = [value for parcel in landed.parcels if parcel.across for value in parcel.values]
        if len(across) > self._room:
            raise ValueError(f"{len(across)} numbers for {self._room} places")
        mine = torch.tensor([loss, checksum, len(across), *across, *[0.0] * (self._room - len(across))], dtype=torch.float64)
        out = [torch.empty_like(mine) for _ in range(self.world)] if self.rank == 0 else None
        work = dist.gather(mine, out, dst=0, group=self._group, async_op=True)
        self._queue.append(_Gathering(landed, work, out))

    def ready(self, *, wait: bool = False) -> list[tuple[Landed, list[list[float]] | None]]:
        """Steps that every rank has told about, in order, with what each said; None where some rank was not waited for."""
        done: list[tuple[Landed, list[list[float]] | None]] = []
        while self._queue:
            landed, work, out = self._queue[0]
            if work is not None and not work.is_completed():
                if wait:
                    try:
                        work.wait(_END)
                    except RuntimeError:
                        self.on, out = False, None
                elif len(self._queue) < MAX_WAITING:
                    break
                else:
                    out = None
            self._queue.popleft()
            done.append((landed, None if out is None else [row.tolist() for row in out]))
        return done


def combined(landed: Landed, rows: list[list[float]] | None) -> dict[str, float]:
    """The row of a step: sums over ranks where a panel asked for them, and the loss of each rank."""
    if rows is None:
        return landed.values()
    # A rank that measured something else cannot be added to the others: then each number is that of rank 0.
    alike = len({row[2] for row in rows}) == 1
    at = 3
    parcels = []
    for parcel in landed.parcels:
        if parcel.across and alike:
            end = at + len(parcel.values)
            parcels.append(parcel._replace(values=[sum(row[column] for row in rows) for column in range(at, end)]))
            at = end
        else:
            parcels.append(parcel)
    values = landed._replace(parcels=parcels).values()
    values.update({f"loss_rank/{rank}": row[0] for rank, row in enumerate(rows)})
    return values


def differ(rows: list[list[float]]) -> bool | None:
    """Whether the replicas have different weights; None where this step has no checksum."""
    sums = [row[1] for row in rows]
    return None if any(map(math.isnan, sums)) else len(set(sums)) > 1
