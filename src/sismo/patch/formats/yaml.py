"""YAML files."""

# pyright: basic, reportUnknownMemberType=false
# The library of this format is an extra that ships no complete types.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sismo.errors import MissingExtra
from sismo.patch.base import Kind, Pair, Path, Spot, Value, number


class Yaml(Kind):
    suffixes: Sequence[str] = (".yaml", ".yml")

    def spots(self, text: str) -> list[Spot]:
        found: dict[int, Spot] = {}
        for spot in (spot for root in _roots(text) for spot in _walk(root, (), text)):
            found.setdefault(spot.start, spot)  # a value that an alias repeats stands in the file once
        return list(found.values())

    def added(self, text: str, pair: Pair) -> str:
        place, in_line = next(found for root in _roots(text) for found in _places(root, (), pair.beside))
        said = f"{pair.key}: {_flow(pair.value)}"
        end = "\r\n" if "\r\n" in text else "\n"
        gap = ", " if in_line else end + " " * place.column
        return text[: place.index] + said + gap + text[place.index :]

    def spelled(self, value: Value, raw: str) -> str:
        said = str(value).lower() if isinstance(value, bool) else number(value) if isinstance(value, float) else str(value)
        quote = raw[:1] if raw[:1] in ("'", '"') and isinstance(value, str) else ""
        return f"{quote}{said}{quote}"


def _roots(text: str) -> list[Any]:
    """The documents of a file as nodes, which know their places."""
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise MissingExtra("patching a YAML file", "config") from error
    try:
        return list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def _flow(value: bool | Mapping[str, bool]) -> str:
    """A value on one line."""
    return str(value).lower() if isinstance(value, bool) else f"{{{', '.join(f'{key}: {_flow(one)}' for key, one in value.items())}}}"


def _places(node: Any, path: Path, wanted: Path) -> Iterator[tuple[Any, bool]]:
    """Where the key at a path stands, and whether its table is written on one line."""
    if node is None or node.id == "scalar":
        return
    if node.id == "mapping":
        for key, value in node.value:
            here = (*path, str(key.value))
            if here == wanted:
                yield key.start_mark, bool(node.flow_style)
            yield from _places(value, here, wanted)
    else:
        for one in node.value:
            yield from _places(one, (*path, "[]"), wanted)


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
