"""Every tree, question, cause and remedy, found by being in ``nodes/``, ``causes/`` and ``remedies/``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import ModuleType

from sismo.errors import UsageError
from sismo.tree import causes as _causes
from sismo.tree import nodes as _nodes
from sismo.tree import remedies as _remedies
from sismo.tree.redirects import REDIRECTS
from sismo.tree.remedy import Remedy
from sismo.tree.types import Cause, Node, Tree

TREES = {
    "preflight": "Preflight: was the run set up right? (walk it first)",
    "stability": "Stability: what broke in flight?",
}
"""Tree name to title; a question belongs to the tree that the module of its branch names in ``TREE``."""


def _modules(package: ModuleType) -> list[ModuleType]:
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


@cache
def trees() -> Mapping[str, Tree]:
    """Every tree by name. Questions stand in the order of their ids; a branch starts at the root that its module names."""
    found: dict[str, Tree] = {}
    branches = _modules(_nodes)
    for name, title in TREES.items():
        mine = sorted((b for b in branches if b.TREE == name), key=lambda b: b.NODES[0].id)
        roots = tuple(b.NODES[0].id for b in mine if b.ROOT)
        found[name] = Tree(name, title, roots, tuple(node for b in mine for node in b.NODES))
    return found


@cache
def nodes() -> Mapping[str, Node]:
    """Every question by id."""
    found: dict[str, Node] = {}
    for tree in trees().values():
        for node in tree.nodes:
            if node.id in found:
                raise ValueError(f"two questions are called {node.id!r}")
            found[node.id] = node
    return found


@cache
def causes() -> Mapping[str, Cause]:
    """Every cause by id."""
    found: dict[str, Cause] = {}
    for module in _modules(_causes):
        for cause in module.CAUSES:
            if cause.id in found:
                raise ValueError(f"two causes are called {cause.id!r}")
            found[cause.id] = cause
    return found


@cache
def remedies() -> Mapping[str, Remedy]:
    """Every remedy by the id of its cause."""
    found: dict[str, Remedy] = {}
    for module in _modules(_remedies):
        for remedy in module.REMEDIES:
            if remedy.cause in found:
                raise ValueError(f"two remedies for {remedy.cause!r}")
            found[remedy.cause] = remedy
    return found


def lookup(name: str) -> Node | Cause:
    """The question or cause of an id, current or retired. Raises ``UsageError`` naming the closest ids."""
    wanted = REDIRECTS.get(name, name)
    for known in (nodes(), {key.lower(): value for key, value in nodes().items()}, causes()):
        for key in (wanted, wanted.lower()):
            if key in known:
                return known[key]
    import difflib

    close = difflib.get_close_matches(wanted, [*nodes(), *causes()], n=3, cutoff=0.5)
    hint = f"; did you mean {', '.join(close)}?" if close else "; 'sismo tree' prints every id"
    raise UsageError(f"no question, cause or threshold is called {name!r}{hint}")
