"""Panel 8, the batch: ``batch/length``, ``fingerprint``, ``repeats``, ``nonfinite``, ``label_share``, ``rarity``, ``ngram_repeats``,
``mode`` and ``training``.

Formulas, over the arguments of the first micro-batch. ``length``: size of axis 1. ``fingerprint``: 48 bits of sum h(x_i * o_i) over the
bits of up to 65,536 entries, with an odd constant o_i for each place; ``repeats``: how often it was seen in the last 20 steps.
``nonfinite``: 1 where the sum of the floating-point inputs is not finite, 0 where all inputs are whole numbers; an input
beside the first that is 0 or less all over, down to minus infinity, is a mask. ``label_share``: share of
labels that are not -100. ``rarity``: mean of 1 / (p V) over the tokens, with p = (n + 1) / (N + V) from the tokens of all batches before:
near 1 or under it for a batch like the others, large for one of rare tokens. ``ngram_repeats``: the largest share of tokens that are
equal to the one 1, 2, ... 13 places earlier, or half of the length in a short sequence. ``mode``, at
steps with a validation loss: 1 where all calls without gradients since the last step were in training mode though the model has dropout
or batch norm, 0 where one was in evaluation mode. ``training``, of such a model: 1 where it was called with gradients in training mode,
0 where only in evaluation mode. Cost: a few passes over token numbers.
Sources: PaLM, OLMo 2 (repeated n-grams), stability tree S2.Q3; the mixing step of ``h`` is MurmurHash3's.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase  # pyright: ignore[reportPrivateUsage]
from torch.nn.modules.dropout import _DropoutNd  # pyright: ignore[reportPrivateUsage]

from sismo.recorder.panel import Job, Panel
from sismo.recorder.scene import Scene
from sismo.records.types import Event

_IGNORED = -100
"""The label that torch's cross-entropy leaves out."""
_PLACES = 1 << 16
_HISTORY = 20
_PERIODS = 13
_MAX_TOKENS = 1 << 16
_LABELS = ("labels", "label", "targets", "target", "y")
_MODE, _TRAINED = "batch/mode", "batch/training"
_LOW, _HIGH = "batch/fingerprint.low", "batch/fingerprint.high"


class BatchPanel(Panel):
    """What goes into the model."""

    name: ClassVar[str] = "batch"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        sizes = [module.num_embeddings for module in scene.root.modules() if isinstance(module, nn.Embedding)]
        self._vocabulary = max(sizes, default=0)
        self._two_faced = any(map(_differs, scene.root.modules()))
        self._counts: Tensor | None = None
        self._seen: deque[float] = deque(maxlen=_HISTORY)
        self._in_training: bool | None = None

    def jobs(self) -> Sequence[Job]:
        return ()

    def arm(self, parts: Collection[str]) -> None:
        pass

    def on_inputs(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Looks at the tensors that the model is called with."""
        named = [*((str(at), tensor) for at, tensor in enumerate(_tensors(arguments))), *_named(options)]
        inputs = [tensor for name, tensor in named if name not in _LABELS and tensor.numel()]
        if not inputs:
            return
        draft = self.scene.draft
        tokens = next((tensor for tensor in inputs if _whole(tensor) and tensor.ndim == 2), None)
        main = inputs[0] if tokens is None else tokens
        if main.ndim > 1:
            draft.add("batch/length", main.shape[1])
        low, high = fingerprint(main)
        draft.add(_LOW, low)
        draft.add(_HIGH, high)
        floats = [tensor.detach() for tensor in inputs if tensor.is_floating_point()]
        if floats:
            sound = torch.stack([_sound(tensor, mask=tensor.data_ptr() != main.data_ptr()) for tensor in floats]).all()
            draft.add("batch/nonfinite", ~sound)
        else:
            draft.add("batch/nonfinite", 0.0)
        labels = next((tensor for name, tensor in named if name in _LABELS and _whole(tensor)), None)
        if labels is None and tokens is not None:
            labels = next((tensor for tensor in inputs if tensor is not tokens and _whole(tensor) and tensor.shape == tokens.shape), None)
            # The second positional argument may also be a mask of ones and zeros: then every entry counts as a label.
        if labels is not None and labels.numel():
            draft.add("batch/label_share", (labels != _IGNORED).float().mean())
        if tokens is not None and self._vocabulary:
            self._tokens(tokens.detach())

    def on_evaluated(self, training: bool) -> None:
        """Notes whether an evaluation runs as training does."""
        self._in_training = training and self._in_training is not False

    def on_step(self, loss: object, more: object) -> None:
        """Training, too, calls a model without gradients: as a teacher, or to make what a critic judges. An evaluation has a loss."""
        if self._two_faced and self._in_training is not None and self.scene.draft.validated:
            self.scene.draft.add(_MODE, float(self._in_training))
        self._in_training = None
        if self._two_faced and self.scene.draft.in_training is not None:
            self.scene.draft.add(_TRAINED, float(self.scene.draft.in_training))

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        if _LOW in values:
            print_ = values.pop(_HIGH) * 2.0**24 + values.pop(_LOW)
            self._seen.append(print_)
            values["batch/fingerprint"] = print_
            values["batch/repeats"] = self._seen.count(print_)
        return ()

    def _tokens(self, tokens: Tensor) -> None:
        draft = self.scene.draft
        if periods := min(_PERIODS, tokens.shape[1] // 2):
            # Every window of a token and the ``periods`` before it, compared at once.
            windows = tokens.unfold(1, periods + 1, 1)
            draft.add("batch/ngram_repeats", (windows[..., :-1] == windows[..., -1:]).float().mean((0, 1)).amax())
        if self._counts is None:
            self._counts = torch.zeros(self._vocabulary, dtype=torch.float32, device=tokens.device)
        # Every token number past the vocabulary is an error of the loop's own, and not one to raise from here.
        flat = tokens.reshape(-1)[:_MAX_TOKENS].clamp(0, self._vocabulary - 1).long()
        share = (self._counts.index_select(0, flat) + 1) / (self._counts.sum() + self._vocabulary)
        draft.add("batch/rarity", (1 / (share * self._vocabulary)).mean())
        self._counts.index_add_(0, flat, torch.ones_like(flat, dtype=torch.float32))


def _sound(tensor: Tensor, *, mask: bool) -> Tensor:
    """Whether the sum of a tensor is finite. A ``mask`` that is added to scores is 0 or less, and may go down for ever."""
    total = tensor.sum(dtype=torch.float32)
    sound = total.isfinite()
    return sound | ((total == -math.inf) & (tensor.amax() <= 0)) if mask else sound


def _differs(module: nn.Module) -> bool:
    """Whether a module does something else in training than in evaluation."""
    dropout = isinstance(module, _DropoutNd) and module.p > 0
    return dropout or (isinstance(module, _NormBase) and module.track_running_stats)


def fingerprint(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """48 bits that tell batches apart, as two numbers of 24 bits."""
    flat = tensor.detach().reshape(-1)
    flat = flat[:: max(1, flat.numel() // _PLACES)]
    if flat.is_floating_point():
        flat = flat.float().view(torch.int32)
    places = torch.arange(flat.numel(), device=flat.device) * 2 + 1
    # An odd multiple of the 64-bit golden ratio for each place; sums wrap round, and only their middle bits are used.
    mixed = (flat.long() + 1) * (places * -7046029254386353131)
    # Without this step of MurmurHash3 the sum is linear, and batches of ones and zeros with the same sum of places have the same print.
    mixed = ((mixed ^ (mixed >> 33)) * -49064778989728563).sum()
    return (mixed >> 8) & 0xFFFFFF, (mixed >> 32) & 0xFFFFFF


def _whole(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() and not tensor.is_complex() and tensor.dtype != torch.bool


def _tensors(values: Any) -> Iterator[Tensor]:
    if isinstance(values, Tensor):
        if values.layout is torch.strided and not values.is_nested:  # others have no places to count
            yield torch.view_as_real(values.resolve_conj()) if values.is_complex() else values
    elif isinstance(values, Mapping):
        for value in values.values():
            yield from _tensors(value)
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _tensors(value)


def _named(options: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    for name, value in options.items():
        for tensor in _tensors(value):
            yield name, tensor


PANEL = BatchPanel
