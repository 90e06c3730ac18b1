"""Everything that has an id: questions, causes and thresholds, looked up by it."""

from __future__ import annotations

from difflib import get_close_matches

from sismo.errors import UsageError
from sismo.signals.registry import thresholds
from sismo.signals.types import Threshold
from sismo.tree.catalogue import causes, lookup, nodes
from sismo.tree.types import Cause, Node


def find(name: str) -> Node | Cause | Threshold:
    """The entry of an id, current or retired. Raises ``UsageError`` naming the ids that are close to it."""
    limits = thresholds()
    if name.lower() in limits:
        return limits[name.lower()]
    try:
        return lookup(name)
    except UsageError as error:
        ids = {key.lower(): key for key in [*nodes(), *causes(), *limits]}
        close = [ids[key] for key in get_close_matches(name.lower(), ids, n=3, cutoff=0.5)]
        if not close:
            raise
        raise UsageError(f"no question, cause or threshold is called {name!r}; did you mean {', '.join(close)}?") from error
