"""Whether gradients still carry the loss scale, and how much of it."""

from __future__ import annotations

from torch import Tensor
from torch.amp.grad_scaler import OptState
from torch.optim import Optimizer

from sismo.recorder.scene import Scene


def at_clip(scene: Scene, optimizer: Optimizer) -> Tensor | None:
    """What the gradients must be divided by when they are clipped; None where nothing scaled them or somebody has unscaled them."""
    scaler = scene.scaler
    if scaler is None or scaler._scale is None:
        return None
    state = scaler._per_optimizer_states
    return scaler._scale if id(optimizer) not in state or state[id(optimizer)]["stage"] is OptState.READY else None


def overflow(optimizer: Optimizer) -> Tensor | None:
    """1 where the step that an optimizer takes changes nothing, as the gradients overflowed: only a fused one is called all the same."""
    handed = getattr(optimizer, "found_inf", None)
    return handed if isinstance(handed, Tensor) else None


def at_update(optimizer: Optimizer) -> Tensor | None:
    """The same when the optimizer takes its step: only a fused one unscales by itself, and is handed the factor for so long."""
    handed = getattr(optimizer, "grad_scale", None)
    return handed if isinstance(handed, Tensor) else None
