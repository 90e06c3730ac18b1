"""Panel 6, attention heads: ``head_entropy/LAYER.HEAD``, ``head_max_logit/LAYER.HEAD``, ``batch/masked_rows`` and ``batch/future_keys``.

Formulas, from the q, k and mask that ``scaled_dot_product_attention`` really got, on a sample of query rows: with s = q k' * scale over
the visible keys and p = softmax(s), the entropy -sum p log p over log(number of visible keys), averaged over the rows that see two keys
or more; max s; the share of rows that see no key at all; and, where there are as many keys as queries, the share of the keys after a
row's own place that it sees, of those that the last row sees (0 where attention is causal, 1 where nothing hides the future; the least of
all layers). Rows: up to 16 of each of up to 2 sequences, evenly spaced, the last one
among them. A head whose entropy is near 0 looks at a single key. Cost: 32 rows instead of all; layers take turns. Attention that is not
worked out by ``scaled_dot_product_attention`` is not seen, which is said where a model has parts of that name. Source: the user's own
panel 6; Kimi K2 (arXiv 2507.20534) for the largest logit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from sismo.recorder import anatomy
from sismo.recorder.draft import Job
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene
from sismo.recorder.shield import log
from sismo.recorder.taps import Taps
from sismo.records.types import Event

ROWS, SEQUENCES = 16, 2
"""Query rows of a sequence, and sequences, that are looked at."""
_SDPA = functional.scaled_dot_product_attention


class AttentionPanel(Panel):
    """What attention heads look at."""

    name: ClassVar[str] = "attention"
    of_modules: ClassVar[bool] = True

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        found = () if scene.compiled else anatomy.attentions(scene.blocks)
        self._layers = {layer.name: layer.module for layer in found}
        self._missed = any(map(anatomy.is_attention, found))
        self._armed: Collection[str] = ()
        self._tried: set[str] = set()
        self._taps = Taps(scene.shield, scene.taps)

    def jobs(self) -> Sequence[Job]:
        return [Job(self.name, layer) for layer in self._layers]

    def arm(self, parts: Collection[str]) -> None:
        self._taps.clear()
        self._armed = parts
        for part in parts:
            listener = _Listener(partial(self._measure, part))
            self._taps.around(self._layers[part], listener.start, listener.stop)

    def on_step(self, loss: object, more: object) -> None:
        """Says so when no layer's attention was worked out in a way that can be seen."""
        if self._missed and self._taps.used:
            self._tried.update(self._armed)
        if self._missed and len(self._tried) == len(self._layers):
            self._missed = False
            log.warning(
                "no attention went through scaled_dot_product_attention: heads are not recorded. They are with attn_implementation="
                '"sdpa" (Hugging Face) or need_weights=False (nn.MultiheadAttention)'
            )

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        # An encoder may see all of its own sequence: that the future is open is said of a model of which no layer hides it.
        for name, of_all in (("batch/masked_rows", max), ("batch/future_keys", min)):
            of_layers = [values.pop(channel) for channel in list(values) if channel.startswith(f"{name}.")]
            if known := [value for value in of_layers if not math.isnan(value)]:
                values[name] = of_all(known)
        return ()

    def _measure(self, layer: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        if not self.scene.shield.alive:
            return
        self._missed = False
        with self.scene.shield, self.timed(layer):
            entropy, logit, masked, future = heads(*_read(arguments, options))
            count = entropy.shape[0]

            def finish(values: Sequence[float]) -> Mapping[str, float]:
                found = {f"head_entropy/{layer}.{head}": value for head, value in enumerate(values[:count]) if not math.isnan(value)}
                found |= {f"head_max_logit/{layer}.{head}": value for head, value in enumerate(values[count:-2])}
                found[f"batch/masked_rows.{layer}"], found[f"batch/future_keys.{layer}"] = values[-2:]
                return found

            self.scene.draft.vector(torch.cat([entropy, logit, masked.reshape(1), future.reshape(1)]), finish)


class _Listener(TorchFunctionMode):
    """Passes the arguments of the first attention on.

    Two ways lead to it: the name in ``torch.nn.functional``, which ``nn.MultiheadAttention`` calls from where no mode is active, and the
    function itself, which some models imported before there was a recorder.
    """

    def __init__(self, use: Callable[[Sequence[Any], Mapping[str, Any]], None]) -> None:
        super().__init__()
        self._use: Callable[[Sequence[Any], Mapping[str, Any]], None] | None = use

    def start(self) -> None:
        self._before = functional.scaled_dot_product_attention
        functional.scaled_dot_product_attention = self._stand_in
        self.__enter__()

    def stop(self) -> None:
        self.__exit__(None, None, None)
        functional.scaled_dot_product_attention = self._before

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        if function is _SDPA:
            self._pass_on(args, options)
        return function(*args, **options)

    def _stand_in(self, *arguments: Any, **options: Any) -> Any:
        self._pass_on(arguments, options)
        return self._before(*arguments, **options)

    def _pass_on(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        if self._use is not None:
            use, self._use = self._use, None
            use(arguments, options)


def _read(arguments: Sequence[Any], options: Mapping[str, Any]) -> tuple[Tensor, Tensor, Tensor | None, bool, float | None]:
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    given = {**dict(zip(names, arguments, strict=False)), **options}
    return given["query"], given["key"], given.get("attn_mask"), bool(given.get("is_causal", False)), given.get("scale")


def heads(query: Tensor, key: Tensor, mask: Tensor | None, causal: bool, scale: float | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Entropy and largest logit of each head, the share of sampled rows that see no key, and that of later keys that are seen.

    That last one is NaN where there is none to see, or where queries and keys are of different sequences.
    """
    q, k = _four(query.detach())[:SEQUENCES], _four(key.detach())[:SEQUENCES]
    rows, keys = q.shape[-2], k.shape[-2]
    picked = torch.arange(rows - 1, -1, -max(1, -(-rows // ROWS)), device=q.device)
    q = q.index_select(-2, picked).float()
    k = k.float()
    if k.shape[-3] != q.shape[-3]:  # grouped queries share their keys
        k = k.repeat_interleave(q.shape[-3] // k.shape[-3], dim=-3)
    logits = (q @ k.mT) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    visible = torch.ones(picked.numel(), keys, dtype=torch.bool, device=q.device)
    if causal:
        visible = torch.arange(keys, device=q.device) <= picked[:, None]
    if mask is not None:
        outer = query.shape[:-3] if query.ndim > 4 and mask.ndim > 2 else mask.shape[:-3]
        mask = mask.detach().expand(*outer, *mask.shape[-3:-2], rows, keys).index_select(-2, picked)
        mask = _four(mask)[:SEQUENCES]
        if mask.dtype == torch.bool:
            visible = visible & mask
        else:
            # Masks that add a number hide a key by minus infinity or by the smallest number of their dtype.
            visible = visible & (mask > torch.finfo(mask.dtype).min / 2)
            logits = logits + mask.float()
    visible = visible.expand_as(logits)
    hidden = logits.masked_fill(~visible, -math.inf)
    count = visible.sum(-1)
    log_p = torch.log_softmax(hidden, -1)
    entropy = -(log_p.exp() * log_p).masked_fill(~visible, 0.0).sum(-1) / count.clamp(min=2).log()
    seen = count >= 2
    mean = entropy.masked_fill(~seen, 0.0).sum((0, 2)) / seen.sum((0, 2))
    later = torch.arange(keys, device=q.device) > picked[:, None]
    to_see = (visible[..., :1, :] & later).sum()
    future = (visible & later).sum() / to_see if rows == keys else to_see * math.nan
    return mean, hidden.amax((0, 2, 3)), (count == 0).float().mean(), future


def _four(tensor: Tensor) -> Tensor:
    """As (sequence, head, row, column), whatever axes are missing before the rows; more of them are sequences."""
    while tensor.ndim < 4:
        tensor = tensor.unsqueeze(0)
    return tensor.flatten(0, tensor.ndim - 4) if tensor.ndim > 4 else tensor


PANEL = AttentionPanel
