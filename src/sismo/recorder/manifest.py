"""What a run was: everything that its manifest can know before the first step."""

from __future__ import annotations

import dataclasses
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from sismo.recorder.scene import Scene
from sismo.records.types import RECORDED, Header

DTYPES = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}
_OF_MODULES, _OF_WEIGHTS = ["activations", "units", "attention", "batch"], ["gradients", "weights", "spectral"]
"""Panels that are off where modules cannot be tapped, or weights not be seen."""
_SECRET = re.compile(r"token$|secret|password|api_?key", re.IGNORECASE)
_KNOWN = {
    "total_steps": ("total_steps", "max_steps", "max_iters", "num_steps"),
    "warmup_steps": ("warmup_steps", "warmup_iters", "warmup"),
    "accumulation": ("gradient_accumulation_steps", "accumulation", "grad_accum"),
    "entropy": ("entropy", "corpus_entropy"),
    "clip": ("grad_clip", "max_grad_norm", "clip"),
    "schedule": ("lr_scheduler_type", "schedule", "lr_schedule"),
}


def header(scene: Scene, config: object, *, save_every: int | None, scheduler: object) -> Header:
    """The header of a new run. Settings are taken from ``config`` where it has one of the usual names."""
    settings = as_mapping(config)
    found = {name: _first(settings, keys) for name, keys in _KNOWN.items()}
    vocabulary = _first(settings, ("vocab_size",))
    return Header(
        source=RECORDED,
        dtype=dtype(scene),
        total_steps=_whole(found["total_steps"]),
        warmup_steps=_whole(found["warmup_steps"]),
        checkpoint_every=save_every,
        vocab_size=_whole(vocabulary) or _vocabulary(scene.root),
        accumulation=_whole(found["accumulation"]),
        entropy=_number(found["entropy"]),
        clip=_number(found["clip"]),
        schedule=str(found["schedule"]) if found["schedule"] else (type(scheduler).__name__ if scheduler is not None else None),
        config={**settings, "sismo": facts(scene)},
    )


def facts(scene: Scene) -> dict[str, object]:
    """Versions, machine, code and layers."""
    first = next(scene.root.parameters())
    return {
        "version": getattr(sys.modules["sismo"], "__version__", None),
        "seed": torch.initial_seed(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__, "cuda": torch.version.cuda},
        "device": torch.cuda.get_device_name(first.device) if first.device.type == "cuda" else str(first.device),
        "threads": torch.get_num_threads(),
        "git": git(Path.cwd()),
        "model": type(scene.root).__name__,
        "parameters": sum(parameter.numel() for parameter in scene.root.parameters()),
        "weights_dtype": DTYPES.get(_trained(scene).dtype),
        "blocks": list(scene.blocks),
        "optimizers": [type(optimizer).__name__ for optimizer in scene.optimizers],
        **off(scene),
        **trained(scene),
    }


def off(scene: Scene) -> dict[str, object]:
    """The panels that are off."""
    return {"off": [*_OF_MODULES * scene.compiled, *_OF_WEIGHTS * scene.cut]}


def trained(scene: Scene) -> dict[str, object]:
    """What the optimizers hold and what they do not, which may change on the way."""
    return {
        "trained": sum(weight.tensor.numel() for weight in scene.weights),
        "embeddings": [weight.name for weight in scene.weights if weight.embeds],
        "unheld": [name for name, parameter in _left(scene) if parameter.requires_grad],
        "frozen": [name for name, parameter in _left(scene) if not parameter.requires_grad],
        "groups": [
            {key: _plain(value) for key, value in group.items() if key != "params"}
            | {"tensors": len(group["params"])}
            | _entries(scene, number)
            for number, group in scene.groups
        ],
    }


def _entries(scene: Scene, group: str) -> dict[str, int]:
    """How many numbers a group trains, and how many of them are those of embeddings."""
    mine = [weight for weight in scene.weights if weight.group == group]
    return {
        "entries": sum(weight.tensor.numel() for weight in mine),
        "embedded": sum(weight.tensor.numel() for weight in mine if weight.embeds),
    }


def _vocabulary(model: nn.Module) -> int | None:
    """The size of the largest embedding that the model has an output for as well; None where none has one.

    An embedding alone is not what a model predicts: users, positions and time steps are embedded too.
    """
    outputs = {module.out_features for module in model.modules() if isinstance(module, nn.Linear)}
    sizes = [module.num_embeddings for module in model.modules() if isinstance(module, nn.Embedding)]
    return max((size for size in sizes if size in outputs), default=None)


def _left(scene: Scene) -> list[tuple[str, nn.Parameter]]:
    """The parameters that no optimizer trains."""
    held = {id(parameter) for _, group in scene.groups for parameter in group["params"] if parameter.requires_grad}
    return [(name, parameter) for name, parameter in scene.root.named_parameters() if id(parameter) not in held]


def dtype(scene: Scene) -> str | None:
    """What the model computes in: autocast's dtype where it is on, that of the weights elsewhere."""
    first = _trained(scene)
    kind = first.device.type
    if kind in ("cpu", "cuda") and torch.is_autocast_enabled(kind):
        return DTYPES.get(torch.get_autocast_dtype(kind))
    return DTYPES.get(first.dtype)


def _trained(scene: Scene) -> nn.Parameter:
    """The first parameter that is trained; of the model where none is, yet."""
    return scene.weights[0].tensor if scene.weights else next(scene.root.parameters())


def git(folder: Path) -> dict[str, object] | None:
    """The commit of the code and whether it was changed since; None outside a repository."""

    def ask(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=5, check=True)
        return done.stdout.strip()

    try:
        return {"commit": ask("rev-parse", "HEAD"), "dirty": bool(ask("status", "--porcelain", "--untracked-files=no"))}
    except (OSError, subprocess.SubprocessError):
        return None


def as_mapping(config: Any) -> dict[str, Any]:
    """A configuration of any usual kind as plain values, without anything that is named like a secret."""
    if config is None:
        return {}
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        config = dataclasses.asdict(config)
    elif hasattr(config, "to_dict"):
        config = config.to_dict()  # pyright: ignore[reportAttributeAccessIssue]
    elif not isinstance(config, Mapping):
        config = vars(config) if hasattr(config, "__dict__") else {"config": config}
    return _told(config)


def _told(settings: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): _plain(value) for key, value in settings.items() if not _SECRET.search(str(key))}


def _plain(value: object) -> object:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return _told(value)
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, torch.Tensor) and value.device.type != "cpu":
        return "(on the device)"
    return str(value)


def _first(settings: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((settings[key] for key in keys if settings.get(key) is not None), None)


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None
