"""YAML files."""

# pyright: basic, reportUnknownMemberType=false
# The library of this format is an extra that ships no complete types.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sismo.errors import MissingExtra
from sismo.patch.base import Kind, Path, Spot, Value, number


class Yaml(Kind):
    suffixes: Sequence[str] = (".yaml", ".yml")

    def spots(self, text: str) -> list[Spot]:
        try:
            import yaml
        except ModuleNotFoundError as error:
            raise MissingExtra("patching a YAML file", "config") from error
        try:
            roots = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
        except yaml.YAMLError as error:
            raise ValueError(" ".join(str(error).split())) from error
        found: dict[int, Spot] = {}
        for spot in (spot for root in roots for spot in _walk(root, (), text)):
            found.setdefault(spot.start, spot)  # a value that an alias repeats stands in the file once
        return list(found.values())

    def spelled(self, value: Value, raw: str) -> str:
        said = str(value).lower() if isinstance(value, bool) else number(value) if isinstance(value, float) else str(value)
        quote = raw[:1] if raw[:1] in ("'", '"') and isinstance(value, str) else ""
        return f"{quote}{said}{quote}"


def _walk(node: Any, path: Path, text: str) -> Iterator[Spot]:
    """Plain values under mappings; a list is a place of its own, whose values have no name."""
    if node is None or node.id == "scalar":
        if node is not None and path and path[-1] != "[]":
            yield Spot(path, text[node.start_mark.index : node.end_mark.index], node.start_mark.index, node.end_mark.index)
    elif node.id == "mapping":
        for key, value in node.value:
            if key.id == "scalar":
                yield from _walk(value, (*path, str(key.value)), text)
    else:
        for one in node.value:
            yield from _walk(one, (*path, "[]"), text)


KIND = Yaml()
