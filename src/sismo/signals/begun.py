"""How the weights of a recorded run may begin."""

from __future__ import annotations

from typing import cast

from sismo.signals.view import View

USUAL_LEAST = 0.05
"""Spectral norm that no usual initialisation is under: GPT-2's 0.02 gives 0.2 at a width of 32 and 1 at 768, torch's own 0.5 to 2. What
starts at next to nothing is replaced by any step.
"""


def embeddings(view: View) -> frozenset[str]:
    """The names of the weights of embeddings, as the manifest has them: they may begin at any size. Empty where it does not say."""
    listed = view.fact("embeddings")
    return frozenset(map(str, cast("list[object]", listed))) if isinstance(listed, list) else frozenset()
