"""Numbers come over from the device late, so that no step waits for them.

The values of a step are copied into pinned memory without blocking, and read once the device says that the copy is done. On the CPU
they are there at once, and the row is written within the step. Nothing here calls ``item()``, ``tolist()`` or ``cpu()`` on a tensor.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Finish = Callable[[Sequence[float]], Mapping[str, float]]

MAX_WAITING = 64
"""Steps that may be under way. When a device is that far behind its host, the next step waits for the oldest."""


class Piece(NamedTuple):
    """Values on a device, and what turns them into channels. ``across`` averages them over the ranks before that."""

    values: Tensor
    finish: Finish
    across: bool = False


class Parcel(NamedTuple):
    """The same on the host."""

    values: list[float]
    finish: Finish
    across: bool


class Landed(NamedTuple):
    """What one step measured, as numbers; ``late`` where it adds to a row that may be written."""

    step: int
    numbers: dict[str, float]
    parcels: list[Parcel]
    late: bool

    def values(self) -> dict[str, float]:
        """The channels of the step."""
        done = dict(self.numbers)
        for parcel in self.parcels:
            done.update(parcel.finish(parcel.values))
        return done


class _Flight(NamedTuple):
    step: int
    numbers: dict[str, float]
    pieces: list[Piece]
    arrivals: list[torch.cuda.Event]
    late: bool


class Lag:
    """The queue of steps whose numbers are on their way."""

    def __init__(self) -> None:
        self._flights: deque[_Flight] = deque()

    def send(self, step: int, numbers: Mapping[str, float], pieces: Sequence[Piece], *, late: bool = False) -> None:
        """Starts the copy of everything that a step measured."""
        devices = {piece.values.device for piece in pieces if piece.values.device.type == "cuda"}
        moved = [piece._replace(values=_to_host(piece.values)) for piece in pieces]
        arrivals = [_mark(device) for device in devices]
        self._flights.append(_Flight(step, dict(numbers), moved, arrivals, late))

    def landed(self, *, wait: bool = False) -> list[Landed]:
        """The steps that have arrived, oldest first and none left out; ``wait`` for all of them."""
        done: list[Landed] = []
        while self._flights:
            flight = self._flights[0]
            if not all(arrival.query() for arrival in flight.arrivals):
                if not wait and len(self._flights) < MAX_WAITING:
                    break
                for arrival in flight.arrivals:
                    arrival.synchronize()
            self._flights.popleft()
            parcels = [Parcel(piece.values.numpy().tolist(), piece.finish, piece.across) for piece in flight.pieces]
            done.append(Landed(flight.step, flight.numbers, parcels, flight.late))
        return done


def _to_host(values: Tensor) -> Tensor:
    if values.device.type == "cpu":
        return values.to(torch.float64)
    buffer = torch.empty(values.shape, dtype=values.dtype, device="cpu", pin_memory=values.device.type == "cuda")
    # Only CUDA says when a copy is done; other devices copy before they go on.
    return buffer.copy_(values, non_blocking=values.device.type == "cuda")


def _mark(device: torch.device) -> torch.cuda.Event:
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(device))
    return event
