"""Finds the parts of a model that are worth watching: blocks, attention, MLPs, norms, units."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import nn

_ATTENTION = re.compile(r"attn|attention", re.IGNORECASE)
_MLP = re.compile(r"mlp|ffn|feed_?forward|linear2$|^moe$|experts", re.IGNORECASE)
_NORM = re.compile(r"norm|^ln(_|$)", re.IGNORECASE)
_FIRING = re.compile(r"(relu|gelu|silu|swish|mish|elu|softplus)", re.IGNORECASE)
_WRAPPING = re.compile(r"(^|\.)(module|_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)(?=\.|$)")


class Layer(NamedTuple):
    """A module whose output is watched. ``kind`` is embedding, attention, mlp, block, norm or logits."""

    name: str
    module: nn.Module
    kind: str


class Units(NamedTuple):
    """A place where units fire or do not: the output of an activation module, or the input of the matrix after an activation function.

    ``axis`` is the axis of the units, where the graph of an output does not tell it: 1 after a convolution, the last one elsewhere.
    """

    name: str
    module: nn.Module
    reads_input: bool
    axis: int


def clean(name: str) -> str:
    """A module's or parameter's name without what wrappers put into it."""
    return _WRAPPING.sub("", name).strip(".")


def unwrapped(model: nn.Module) -> nn.Module:
    """The model inside DDP, DataParallel or ``torch.compile``."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and type(model).__name__ in ("DistributedDataParallel", "DataParallel"):
            inner = getattr(model, "module", None)
        if not isinstance(inner, nn.Module):
            return model
        model = inner


def is_compiled(model: nn.Module) -> bool:
    """Whether ``torch.compile`` has the model or a part of it: hooks set now would break its graph or be left out of it; or the model is
    a script, which takes no hooks.
    """
    compiled = (hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None for module in model.modules())
    return isinstance(model, torch.jit.ScriptModule) or any(compiled)


def is_cut(model: nn.Module) -> bool:
    """Whether FSDP1 or DeepSpeed's third stage has the weights: a rank has a piece of them, which does not say so, and of changing size."""
    wrapped = any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules())
    return wrapped or any(hasattr(parameter, "ds_id") for parameter in model.parameters())


def blocks(model: nn.Module) -> dict[str, nn.Module]:
    """The repeated blocks by name, in order; the children that have weights where nothing repeats."""
    found: dict[str, nn.Module] = {}
    for name, module in model.named_modules():
        if not isinstance(module, (nn.ModuleList, nn.Sequential)) or any(_within(clean(name), known) for known in found):
            continue
        children = [(f"{name}.{key}", child) for key, child in module.named_children() if _has_weights(child)]
        kinds = {type(child) for _, child in children}
        if len(children) >= 2 and len(kinds) == 1 and not isinstance(children[0][1], (nn.Linear, nn.Embedding)):
            found.update((clean(key), child) for key, child in children)
    if not found:
        holder = model
        # A model that is a shell round one child: look inside.
        while len(inner := [child for child in holder.children() if _has_weights(child)]) == 1 and list(inner[0].children()):
            holder = inner[0]
        names = {id(module): clean(name) for name, module in model.named_modules()}
        found = {names[id(child)]: child for child in holder.children() if _has_weights(child)}
    return found or {"model": model}


def layers(model: nn.Module, parts: dict[str, nn.Module]) -> list[Layer]:
    """Embeddings, the attention and MLP output of each block, the final norm and the logits, in the order of the model."""
    found: list[Layer] = []
    outside = [(clean(name), module) for name, module in model.named_modules() if not any(_within(clean(name), part) for part in parts)]
    found += [Layer(name, module, "embedding") for name, module in outside if isinstance(module, nn.Embedding)]
    for name, block in parts.items():
        inner = [
            Layer(f"{name}.{clean(key)}", module, kind)
            for kind, pattern in (("attention", _ATTENTION), ("mlp", _MLP))
            for key, module in _topmost(block, pattern)
        ]
        if inner and all(layer.kind == "attention" for layer in inner):
            inner += [Layer(f"{name}.{key}", module, "mlp") for key, module in _narrowing(block)]
        found += inner or [Layer(name, block, "block")]
    found += [
        Layer(name, module, "norm") for name, module in outside[-8:] if _NORM.search(name.rpartition(".")[2]) and _has_weights(module)
    ][-1:]
    heads = [(name, module) for name, module in outside if isinstance(module, nn.Linear)]
    found.append(Layer(heads[-1][0], heads[-1][1], "logits") if heads else Layer("logits", model, "logits"))
    taken: set[int] = set()
    return [layer for layer in found if not (id(layer.module) in taken or taken.add(id(layer.module)))]


def attentions(parts: dict[str, nn.Module]) -> list[Layer]:
    """The modules within which attention is worked out: the attention part of each block, or the block where it has none by name."""
    found: list[Layer] = []
    for name, block in parts.items():
        inner = [Layer(f"{name}.{clean(key)}", module, "attention") for key, module in _topmost(block, _ATTENTION)]
        found += inner or ([Layer(name, block, "attention")] if len(list(block.modules())) > 1 else [])
    return found


def is_attention(layer: Layer) -> bool:
    """Whether a module is called attention, or is torch's own."""
    return isinstance(layer.module, nn.MultiheadAttention) or bool(_ATTENTION.search(layer.name.rpartition(".")[2]))


def units(model: nn.Module) -> list[Units]:
    """Where units can be dead: after each activation module, and before the second matrix of an MLP that calls a function."""
    found: list[Units] = []
    axis = -1
    covered: set[str] = set()
    for raw, module in model.named_modules():
        name = clean(raw)
        parent = name.rpartition(".")[0]
        if isinstance(module, nn.modules.conv._ConvNd):
            axis = 1
        elif isinstance(module, nn.Linear):
            axis = -1
        elif _FIRING.search(type(module).__name__) and not list(module.children()):
            found.append(Units(name, module, False, axis))
            covered.add(parent)
    for raw, module in model.named_modules():
        name = clean(raw)
        parent, _, last = name.rpartition(".")
        narrows = isinstance(module, nn.Linear) and module.in_features >= 2 * module.out_features
        in_mlp = bool(_MLP.search(parent.rpartition(".")[2]) or _MLP.search(last))
        if narrows and in_mlp and parent not in covered:
            found.append(Units(name, module, True, -1))
    return found


def _topmost(block: nn.Module, pattern: re.Pattern[str]) -> Iterator[tuple[str, nn.Module]]:
    """Modules whose own name matches, with weights, and none inside another of them."""
    last = ""
    for name, module in block.named_modules():
        own = name.rpartition(".")[2]
        if not name or (last and _inside(name, last)) or not pattern.search(own) or _NORM.search(own) or not _has_weights(module):
            continue
        last = name
        yield name, module


def _narrowing(block: nn.Module) -> list[tuple[str, nn.Module]]:
    """The last matrix of an MLP whose parts lie in the block under names of their own: the last outside attention that narrows."""
    linear = ((name, module) for name, module in block.named_modules() if isinstance(module, nn.Linear) and not _ATTENTION.search(name))
    narrowing: list[tuple[str, nn.Module]] = [(clean(name), module) for name, module in linear if module.in_features > module.out_features]
    return narrowing[-1:]


def _has_weights(module: nn.Module) -> bool:
    return next(module.parameters(), None) is not None


def _inside(name: str, other: str) -> bool:
    return name.startswith(other + ".")


def _within(name: str, other: str) -> bool:
    return name == other or _inside(name, other)
