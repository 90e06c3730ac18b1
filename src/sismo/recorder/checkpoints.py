"""Checkpoints that can be gone back to: whole or not there, with everything that a step depends on."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sismo.recorder.local import local
from sismo.recorder.scene import Scene

FOLDER = "checkpoints"


class Checkpoints:
    """Writes a checkpoint every ``every`` steps and keeps the last ``keep`` that ``every`` healthy steps followed.

    A checkpoint that trouble followed sooner is kept until enough good ones are there: it may be the only one. The last of those whose
    weights are finite is kept besides: it is the state from which the trouble can be tried again. Those of an earlier life of the run are
    kept until good ones take their places.
    """

    def __init__(self, scene: Scene, folder: Path, *, every: int, keep: int, parts: Mapping[str, Any]) -> None:
        self._scene, self._folder, self._every, self._keep = scene, folder / FOLDER, every, keep
        self._parts = {name: part for name, part in parts.items() if part is not None}
        self._pending: list[tuple[int, Path, bool]] = []
        self._good: list[Path] = []
        self._bad: list[Path] = []
        self._before: Path | None = None
        self._earlier: list[Path] | None = None

    def step(self, step: int, healthy_for: Callable[[int], int]) -> Path | None:
        """Writes one when it is time; returns its path."""
        while self._pending and step - self._pending[0][0] >= self._every:
            at, path, finite = self._pending.pop(0)
            self._sort(path, finite, good=healthy_for(step) >= step - at)
        if (step + 1) % self._every:
            return None
        path, state = self._folder / f"step-{step:09d}.pt", self.state(step)
        if self._earlier is None:
            found = sorted(self._folder.glob("step-*.pt"))
            self._earlier = [*(one for one in found if one > path), *(one for one in found if one < path)]  # the first ones go first
        elif path in self._earlier:
            self._earlier.remove(path)
        save(path, state)
        self._pending.append((step, path, _finite(state["model"])))
        while len(self._good) > self._keep:
            self._good.pop(0).unlink(missing_ok=True)
        while self._bad and len(self._good) + len(self._bad) > self._keep:
            self._bad.pop(0).unlink(missing_ok=True)
        while self._good and self._earlier and len(self._good) + len(self._earlier) > self._keep:
            self._earlier.pop(0).unlink(missing_ok=True)
        return path

    def _sort(self, path: Path, finite: bool, *, good: bool) -> None:
        if good or not finite:
            (self._good if good else self._bad).append(path)
            return
        if self._before is not None:
            self._bad.append(self._before)
        self._before = path

    def state(self, step: int) -> dict[str, Any]:
        """Model, optimizers, scheduler, scaler, loader, random numbers and the step."""
        found: dict[str, Any] = {
            "step": step,
            "model": self._scene.root.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self._scene.optimizers],
            "parts": {name: part.state_dict() for name, part in self._parts.items() if hasattr(part, "state_dict")},
            "random": {"python": random.getstate(), "numpy": _numpy_state(), "torch": torch.get_rng_state()},
        }
        if self._scene.scaler is not None and "scaler" not in found["parts"]:
            found["parts"]["scaler"] = self._scene.scaler.state_dict()
        if torch.cuda.is_available():
            found["random"]["cuda"] = torch.cuda.get_rng_state_all()
        return found


def save(path: Path, state: Any) -> None:
    """Writes a checkpoint, or a batch, so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with open(temporary, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, OSError):
            cause = cause.__context__
        if cause is not None:  # of a full disk torch says only where in its file it noticed
            raise cause from None
        raise


def load(path: str | Path, scene: Scene, parts: Mapping[str, Any]) -> int:
    """Puts everything back as it was; returns the step that the checkpoint was written after."""
    # What a scheduler or a loader put into its own state may be of any kind, and it is the loop's own file.
    state = torch.load(path, map_location="cpu", weights_only=False)
    scene.root.load_state_dict(state["model"])
    for optimizer, one in zip(scene.optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(one)
    for name, part in parts.items():
        if part is not None and name in state["parts"]:
            part.load_state_dict(state["parts"][name])
    random.setstate(state["random"]["python"])
    kind, keys, *rest = state["random"]["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["random"]["torch"])
    if "cuda" in state["random"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["random"]["cuda"])
    return int(state["step"])


def _finite(weights: Mapping[str, Any]) -> bool:
    return all(bool(torch.isfinite(local(value)).all()) for value in weights.values() if isinstance(value, torch.Tensor))


def _numpy_state() -> tuple[Any, ...]:
    """The state with a tensor for its array: a checkpoint of tensors and plain values can be read without running code from it."""
    kind, keys, *rest = np.random.get_state()
    return (kind, torch.from_numpy(np.asarray(keys).astype(np.int64)), *rest)
