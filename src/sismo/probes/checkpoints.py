"""Reads checkpoints and batches without running what may be hidden in them: tensors and plain values, or nothing."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sismo.errors import MissingExtra, UsageError
from sismo.probes.tensors import finite, tensors

_MODELS = ("model", "state_dict", "model_state_dict", "module")
_OPTIMIZERS = ("optimizers", "optimizer", "optimizer_state_dict", "optimizer_states")
"""The names under which the recorder, plain loops, Lightning and DeepSpeed keep the two."""
_WRAPPERS = ("module.", "_orig_mod.")
_SHOWN = 3


class Checkpoint(NamedTuple):
    """What a probe needs of a checkpoint. ``step`` is None where it does not say; ``loss_scale`` is 1 without a scaler."""

    path: Path
    weights: Mapping[str, Tensor]
    optimizer: Mapping[str, Any] | None = None
    step: int | None = None
    loss_scale: float = 1.0

    @property
    def finite(self) -> bool:
        """Whether every weight is a number."""
        return all(finite(tensor) for tensor in self.weights.values())


def read(path: str | Path) -> Any:
    """What a file of ``torch.save`` or of safetensors holds.

    Raises ``UsageError`` for one that is not there, that is neither, or that would have to run code to be read.
    """
    path = Path(path)
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    try:
        if path.suffix == ".safetensors":
            return _safetensors(path)
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UsageError(f"{path} is refused: {_reason(error)}; save tensors and plain values only, or as safetensors") from None
    except KeyError:
        raise UsageError(f"{path} is no checkpoint of torch.save or safetensors: it does not begin as one") from None
    except (OSError, RuntimeError, ValueError, EOFError) as error:
        raise UsageError(f"{path} is no checkpoint of torch.save or safetensors: {_first_line(error)}") from None


def checkpoint(path: str | Path) -> Checkpoint:
    """A checkpoint of the recorder, of a plain loop, of Lightning, or bare weights. Raises ``UsageError`` as ``read`` does."""
    state = read(path)
    if not isinstance(state, Mapping):
        raise UsageError(f"{path} holds a {type(state).__name__}, not the weights of a model by name")
    weights = next((state[name] for name in _MODELS if isinstance(state.get(name), Mapping)), state)
    weights = {_bare(str(name)): value for name, value in weights.items() if isinstance(value, Tensor)}
    if not weights:
        raise UsageError(f"{path} holds no weights: looked for tensors by name, at the top and under {', '.join(_MODELS)}")
    optimizer = next((state[name] for name in _OPTIMIZERS if state.get(name)), None)
    if isinstance(optimizer, list):
        optimizer = optimizer[0]
    step = next((state[name] for name in ("step", "global_step", "iter_num") if isinstance(state.get(name), int)), None)
    scale = _inside(state, "parts", "scaler", "scale") or _inside(state, "scaler", "scale") or 1.0
    return Checkpoint(Path(path), weights, cast("Mapping[str, Any] | None", optimizer), step, float(scale))


def put_into(found: Checkpoint, model: nn.Module, optimizer: Optimizer | None) -> None:
    """Loads weights and optimizer state. Raises ``UsageError`` where they are of another model."""
    own = model.state_dict()
    missing = [name for name in own if name not in found.weights]
    other = [name for name in found.weights if name not in own]
    shapes = [name for name, tensor in own.items() if name in found.weights and found.weights[name].shape != tensor.shape]
    for what, names in (("it lacks", missing), ("it has besides", other), ("of another shape are", shapes)):
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            raise UsageError(f"{found.path} does not fit the model: {what} {', '.join(names[:_SHOWN])}{more}")
    model.load_state_dict(dict(found.weights))
    if optimizer is not None and found.optimizer is not None:
        try:
            # An optimizer keeps the tensors that it is given, and its next step would write into the checkpoint.
            optimizer.load_state_dict(copy.deepcopy(dict(found.optimizer)))
        except (ValueError, KeyError) as error:
            raise UsageError(f"{found.path}: its optimizer state does not fit: {_first_line(error)}") from None


def batch(path: str | Path) -> Any:
    """A batch: a tensor, or tensors in lists and mappings. Raises ``UsageError`` for a file without any."""
    found = read(path)
    if next(tensors(found), None) is None:
        raise UsageError(f"{path} holds no tensor, so it is no batch")
    return found


def _safetensors(path: Path) -> Mapping[str, Tensor]:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ModuleNotFoundError:
        raise MissingExtra(f"reading {path.name}", "torch") from None
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(str(error)) from error


def _bare(name: str) -> str:
    for wrapper in _WRAPPERS:
        name = name.removeprefix(wrapper)
    return name.replace("._orig_mod.", ".")


def _inside(state: Any, *path: str) -> Any:
    for name in path:
        state = state.get(name) if isinstance(state, Mapping) else None
    return state


def _reason(error: BaseException) -> str:
    """What torch says it met, without its advice to switch the check off."""
    text = str(error)
    at = text.find("GLOBAL ")
    return f"it would run {text[at + 7 :].split()[0]} when read" if at >= 0 else "it is no file that can be read without running code"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
