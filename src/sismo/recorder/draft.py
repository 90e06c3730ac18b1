"""The draft of a row, which panels write into: tensors that are not numbers yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from sismo.recorder.lag import Finish, Piece
from sismo.recorder.local import local


class Job(NamedTuple):
    """A piece of work that need not be done at every step: ``part`` of ``panel`` (a layer, a matrix, a slice of the weights)."""

    panel: str
    part: str


class Draft:
    """What has been measured since the last step: tensors stay where they are, and become numbers later."""

    def __init__(self) -> None:
        self._numbers: dict[str, float] = {}
        self._channels: list[str] = []
        self._tensors: list[Tensor] = []
        self._pieces: list[Piece] = []
        self.spent: dict[Job, float] = {}
        self.validated = False
        """Whether the loop told of a validation loss."""
        self.in_training: bool | None = None
        """Whether the model was called with gradients in training mode; False where only in evaluation mode, None where not at all."""

    def add(self, channel: str, value: Tensor | float) -> None:
        """One value of one channel: a number, or a tensor of one element that is not read now."""
        if isinstance(value, Tensor):
            self._channels.append(channel)
            self._tensors.append(value.detach())
        else:
            self._numbers[channel] = float(value)

    def offer(self, channel: str, value: object) -> str | None:
        """Adds what the loop gave for a channel, where it is a number; returns what there is to say about it. None is nothing."""
        said = None
        if isinstance(value, Tensor):
            value = local(value)
            if value.numel() != 1:
                said = f"{channel} has the shape {tuple(value.shape)}, not that of a scalar: its mean is recorded"
                value = value.to(wide(value)).mean()
            self.add(channel, value)
        elif value is not None:
            try:
                self.add(channel, float(value))  # pyright: ignore[reportArgumentType]
            except (TypeError, ValueError):
                said = f"{channel} is a {type(value).__name__}, not a number or a tensor: it is left out"
        return said

    def vector(self, values: Tensor | Sequence[Tensor], finish: Finish, *, across: bool = False) -> None:
        """Many values at once; ``finish`` makes channels of them when they are there, averaged over the ranks if ``across``."""
        flat = values.detach().reshape(-1) if isinstance(values, Tensor) else gathered(values)
        self._pieces.append(Piece(flat, finish, across))

    def pieces(self) -> list[Piece]:
        """Everything that has to come over from the device."""
        pieces = list(self._pieces)
        if self._tensors:
            channels = tuple(self._channels)
            pieces.append(Piece(gathered(self._tensors), lambda values: dict(zip(channels, values, strict=True))))
        return pieces

    @property
    def numbers(self) -> Mapping[str, float]:
        """What is known already."""
        return self._numbers


def gathered(values: Sequence[Tensor]) -> Tensor:
    """Scalars as one vector of double precision, on the first device among theirs: to bring one to the host would be to wait for it."""
    values = [value.reshape(()) if value.ndim else value for value in values]
    home = next((value for value in values if value.device.type != "cpu"), values[0])
    if any(value.dtype is not home.dtype or value.device != home.device for value in values):
        away = home.device.type != "cpu"
        values = [value.to(device=home.device, dtype=wide(home), non_blocking=away) for value in values]
    return torch.stack(values).to(wide(home))


def wide(value: Tensor) -> torch.dtype:
    """The widest numbers that the device of a tensor has."""
    return torch.float32 if value.device.type == "mps" else torch.float64
