"""TOML files."""

# pyright: basic, reportUnknownMemberType=false
# The library of this format is an extra that ships no complete types.

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sismo.errors import MissingExtra
from sismo.patch.base import Kind, Pair, Path, Spot, Value, number


class Toml(Kind):
    suffixes: Sequence[str] = (".toml",)

    def spots(self, text: str) -> list[Spot]:
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(str(error)) from error
        return list(_walk(document, ()))

    def spelled(self, value: Value, raw: str) -> str:
        return str(value).lower() if isinstance(value, bool) else number(value) if isinstance(value, float) else str(value)

    def replaced(self, text: str, values: Mapping[Spot, Value]) -> str:
        """Through tomlkit, which keeps comments and layout: tables may be written in too many ways to find a value by its place."""
        return _rewritten(text, [(spot.path, value) for spot, value in values.items()])

    def added(self, text: str, pair: Pair) -> str:
        return _rewritten(text, [((*pair.beside[:-1], pair.key), pair.value)])


def _rewritten(text: str, values: Sequence[tuple[Path, Value | Mapping[str, bool]]]) -> str:
    try:
        import tomlkit
    except ModuleNotFoundError as error:
        raise MissingExtra("patching a TOML file", "config") from error
    document: Any = tomlkit.parse(text)
    for path, value in values:
        table = document
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = value
    return tomlkit.dumps(document)


def _walk(table: Mapping[str, Any], path: Path) -> Iterator[Spot]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _walk(value, (*path, key))
        elif isinstance(value, (bool, int, float, str)):
            yield Spot((*path, key), str(value).lower() if isinstance(value, bool) else str(value), 0, 0)


KIND = Toml()
