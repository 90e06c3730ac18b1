"""The trees as an outline: every question with its id, and where each answer leads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from sismo.report.page import Page
from sismo.report.plain import plain
from sismo.tree.types import Node, Tree

SCHEMA = "sismo.tree/1"


def render(trees: Sequence[Tree], page: Page) -> str:
    """The trees one after the other."""
    return "\n\n".join("\n".join(_tree(tree, page)) for tree in trees)


def render_json(trees: Sequence[Tree], version: str) -> str:
    """The trees as data, with every field of every question."""
    return json.dumps({"schema": SCHEMA, "sismo": version, "trees": [plain(tree) for tree in trees]}, indent=2, allow_nan=False)


def _tree(tree: Tree, page: Page) -> Iterator[str]:
    count = page.language.fill("{count} {count:question|questions}", count=len(tree.nodes))
    yield page.heading(page.word(tree.title), count)
    for (prefix, section), nodes in groupby(tree.nodes, key=lambda node: (node.id.partition(".")[0], node.section)):
        yield ""
        title = page.word(section)
        yield "  " + page.paint(title if title.startswith(prefix) else f"{prefix} {title}", "bold")
        for node in nodes:
            yield from _question(node, page)


def _question(node: Node, page: Page) -> Iterator[str]:
    yield from page.hang(f"    {node.id:<7} ", page.word(node.asks))
    edges = [(page.word(name), follow) for name, follow in (("yes", node.yes), ("no", node.no), ("unknown", node.unknown)) if follow]
    column = max((len(name) for name, _ in edges), default=0)
    for name, follow in edges:
        lines = page.hang(f"            {name:<{column}}  ", ", ".join(follow))
        yield from (page.paint(line, "dim") for line in lines)
