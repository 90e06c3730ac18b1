"""Panel 8, the batch: ``batch/length``, ``fingerprint``, ``repeats``, ``nonfinite``, ``label_share``, ``rarity``, ``ngram_repeats``,
``mode`` and ``training``.

Formulas, over the arguments of the first micro-batch. ``length``: size of axis 1. ``fingerprint``: see ``fingerprint.py``; ``repeats``: how
often it was seen in the last 20 steps.
``nonfinite``: 1 where the sum of the floating-point inputs is not finite, 0 where all inputs are whole numbers; an input
beside the first that is 0 or less all over, down to minus infinity, is a mask. ``label_share``: share of
labels that are not -100. ``rarity``: mean of 1 / (p V) over the tokens, with p = (n + 1) / (N + V) from the tokens of all batches before:
near 1 or under it for a batch like the others, large for one of rare tokens. ``ngram_repeats``: the largest share of tokens that are
equal to the one 1, 2, ... 13 places earlier, or half of the length in a short sequence. ``mode``, at
steps with a validation loss: 1 where all calls without gradients since the last step were in training mode though the model has dropout
or batch norm, 0 where one was in evaluation mode. ``training``, of such a model: 1 where it was called with gradients in training mode,
0 where only in evaluation mode. Cost: a few passes over token numbers.
Sources: PaLM, OLMo 2 (repeated n-grams), stability tree S2.Q3.
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

from sismo.recorder.draft import Job, wide
from sismo.recorder.fingerprint import Fingerprint, number
from sismo.recorder.inputs import tensors, whole
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene
from sismo.records.types import Event

_IGNORED = -100
"""The label that torch's cross-entropy leaves out."""
_HISTORY = 20
_PERIODS = 13
_MAX_TOKENS = 1 << 16
_LABELS = ("labels", "label", "targets", "target", "y")
_MODE, _TRAINED = "batch/mode", "batch/training"
_PRINT = "batch/fingerprint"


class BatchPanel(Panel):
    """What goes into the model."""

    name: ClassVar[str] = "batch"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        sizes = [module.num_embeddings for module in scene.root.modules() if isinstance(module, nn.Embedding)]
        self._vocabulary = max(sizes, default=0)
        self._two_faced = any(map(_differs, scene.root.modules()))
        self._fingerprint = Fingerprint()
        self._counts: Tensor | None = None
        self._counted, self._ones = 0, torch.ones(0, device="cpu")
        self._seen: deque[float] = deque(maxlen=_HISTORY)
        self._in_training: bool | None = None

    def jobs(self) -> Sequence[Job]:
        return ()

    def arm(self, parts: Collection[str]) -> None:
        pass

    def on_inputs(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Looks at the tensors that the model is called with."""
        named = [*((str(at), tensor) for at, tensor in enumerate(tensors(arguments))), *_named(options)]
        inputs = [tensor for name, tensor in named if name not in _LABELS and tensor.numel()]
        if not inputs:
            return
        draft = self.scene.draft
        tokens = next((tensor for tensor in inputs if whole(tensor) and tensor.ndim == 2), None)
        main = inputs[0] if tokens is None else tokens
        if main.ndim > 1:
            draft.add("batch/length", main.shape[1])
        draft.vector(self._fingerprint.of(main), lambda parts: {_PRINT: number(parts)})
        floats = [tensor.detach() for tensor in inputs if tensor.is_floating_point()]
        if floats:
            sound = torch.stack([_sound(tensor, mask=tensor.data_ptr() != main.data_ptr()) for tensor in floats]).all()
            draft.add("batch/nonfinite", ~sound)
        else:
            draft.add("batch/nonfinite", 0.0)
        labels = next((tensor for name, tensor in named if name in _LABELS and whole(tensor)), None)
        if labels is None and tokens is not None:
            labels = next((tensor for tensor in inputs if tensor is not tokens and whole(tensor) and tensor.shape == tokens.shape), None)
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
        if _PRINT in values:
            self._seen.append(values[_PRINT])
            values["batch/repeats"] = self._seen.count(values[_PRINT])
        return ()

    def _tokens(self, tokens: Tensor) -> None:
        draft = self.scene.draft
        if periods := min(_PERIODS, tokens.shape[1] // 2):
            # Every window of a token and the ``periods`` before it, compared at once.
            windows = tokens.unfold(1, periods + 1, 1)
            draft.add("batch/ngram_repeats", (windows[..., :-1] == windows[..., -1:]).float().mean((0, 1)).amax())
        # Every token number past the vocabulary is an error of the loop's own, and not one to raise from here.
        flat = tokens.reshape(-1)[:_MAX_TOKENS].long().clamp(0, self._vocabulary - 1)
        if self._counts is None:
            # In single precision a common token is counted no further than to 2^24, which takes some thousand steps.
            self._counts = torch.ones(self._vocabulary, dtype=wide(tokens), device=tokens.device)
        if len(self._ones) < len(flat) or self._ones.device != flat.device:
            self._ones = torch.ones(len(flat), dtype=wide(flat), device=flat.device)
        # 1 / (p V), with one more of every token than was seen.
        seen = self._counts.index_select(0, flat).float()
        draft.add("batch/rarity", seen.reciprocal_().mean() * ((self._counted + self._vocabulary) / self._vocabulary))
        self._counts.index_add_(0, flat, self._ones[: len(flat)])
        self._counted += len(flat)


def _sound(tensor: Tensor, *, mask: bool) -> Tensor:
    """Whether the sum of a tensor is finite. A ``mask`` that is added to scores is 0 or less, and may go down for ever."""
    total = tensor.sum(dtype=wide(tensor))  # two of the largest numbers of single precision, as padding may be, are no infinity
    sound = total.isfinite()
    return sound | ((total == -math.inf) & (tensor.amax() <= 0)) if mask else sound


def _differs(module: nn.Module) -> bool:
    """Whether a module does something else in training than in evaluation."""
    dropout = isinstance(module, _DropoutNd) and module.p > 0
    return dropout or (isinstance(module, _NormBase) and module.track_running_stats)


def _named(options: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    for name, value in options.items():
        for tensor in tensors(value):
            yield name, tensor


PANEL = BatchPanel
