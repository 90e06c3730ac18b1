"""What kind of objective a run has, by the names of what it logs."""

from __future__ import annotations

from collections.abc import Sequence

_REWARDED = frozenset({"reward", "rewards", "rew", "advantages", "completions", "episode", "episodes", "exploration", "timesteps"})
_ACTING = (("policy", "value"), ("action", "value"), ("actor", "critic"))
_PLAYING = (("g", "d"), ("gen", "disc"), ("generator", "discriminator"))


def objective(names: Sequence[frozenset[str]]) -> str | None:
    """``rl`` or ``gan`` where the words of the names show it; those of a loss have ``loss`` among them."""
    everything = frozenset[str]().union(*names)
    if "chosen" not in everything and (everything & _REWARDED or any(_has_losses(names, *pair) for pair in _ACTING)):
        return "rl"
    return "gan" if any(_has_losses(names, *pair) for pair in _PLAYING) else None


def _has_losses(names: Sequence[frozenset[str]], first: str, second: str) -> bool:
    return all(any(one in has and "loss" in has for has in names) for one in (first, second))
