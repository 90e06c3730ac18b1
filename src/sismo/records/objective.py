"""What kind of objective a run has, by the names of what it logs and by the operations that its loss is made of."""

from __future__ import annotations

import re
from collections.abc import Sequence

_REWARDED = frozenset(
    {"reward", "rewards", "rew", "advantages", "completions", "episode", "episodes", "episodic", "exploration", "timesteps"}
)
_RETURNS = frozenset({"return", "returns", "ret"})
_OF_EPISODES = frozenset({"mean", "avg", "average", "ep", "eval", "discounted", "undiscounted", "cumulative"})
"""What a return is told with that is none of money."""
_ACTS = frozenset({"policy", "actor", "td", "bellman"})
"""Losses that only an agent has."""
_ACTION, _VALUE = frozenset({"action"}), frozenset({"value"})
_GENERATES = frozenset({"g", "gen", "generator"})
_JUDGES = frozenset({"d", "disc", "dis", "discr", "discriminator", "critic"})
_HALVES = (frozenset({"real"}), frozenset({"fake"}))
"""What the second network is trained on."""
_ERRORS = frozenset({"loss", "losses", "err", "error"})

_CLIPS = frozenset({"Gather", "Exp", "Clamp", "Minimum"})
_BOXES = frozenset({"Maximum", "NllLoss"})
_PICKS, _PLACES = frozenset({"Gather"}), frozenset({"Index"})
"""What takes one output of each example; and what takes those of a mask as well, as of the values that are not missing."""
_FITS = frozenset({"MseLoss", "SmoothL1Loss", "HuberLoss"})
_PLAIN = re.compile(
    r"^(Addmm|Mm|Bmm|Linear|T|.*Convolution|.*Relu\d?|Elu|Gelu|Silu|Tanh|Sigmoid|Add|Sub|Mul|Div|Neg|Mean|Sum|Min|Minimum|.*View|Reshape"
    r"|Permute|Transpose|Squeeze|Unsqueeze|Select|Slice|Expand|Clone|ToCopy|.*Pool\w*)$"
)
"""A network of layers, which has no other reason to pick one of its numbers: no steps of a sequence, no nodes of a graph, no patches."""


def objective(names: Sequence[frozenset[str]]) -> str | None:
    """``rl`` or ``gan`` where the words of the names show it; those of a loss have ``loss`` among them."""
    everything = frozenset[str]().union(*names)
    acts = any(has & _ACTS and has & _ERRORS for has in names) or _has_losses(names, _ACTION, _VALUE)
    rewarded = everything & _REWARDED or any(has & _RETURNS and has & _OF_EPISODES for has in names)
    if "chosen" not in everything and (rewarded or acts):
        return "rl"
    return "gan" if _has_losses(names, _GENERATES, _JUDGES) or _has_losses(names, *_HALVES) else None


def regresses_a_choice(ops: Sequence[str], *, moving: bool = False) -> bool:
    """Whether one of the outputs of a plain network is picked for each example and drawn to a number, as the value of an action is.

    ``moving``: whether the targets drift. Where outputs are picked by their places, which a mask does too, only that tells an agent.
    """
    made = frozenset(ops)
    picks = made & (_PICKS | _PLACES if moving else _PICKS)
    return bool(picks and made & _FITS) and all(_PLAIN.match(op) for op in made - picks - _FITS)


def clips_a_policy(ops: Sequence[str]) -> bool:
    """Whether a ratio of probabilities is held between bounds and the lesser of two taken, as PPO does; boxes take the greater too."""
    made = frozenset(ops)
    return made >= _CLIPS and not made & _BOXES


def _has_losses(names: Sequence[frozenset[str]], first: frozenset[str], second: frozenset[str]) -> bool:
    return all(any(one & has and has & _ERRORS for has in names) for one in (first, second))
