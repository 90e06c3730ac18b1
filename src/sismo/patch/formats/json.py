"""JSON files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from sismo.patch.base import Kind, Pair, Path, Spot, Value, number

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


class Json(Kind):
    suffixes: Sequence[str] = (".json",)

    def spots(self, text: str) -> list[Spot]:
        return [Spot(path, token[0], token.start(), token.end()) for path, token, is_key in _tokens(text) if not is_key]

    def added(self, text: str, pair: Pair) -> str:
        at = next(token.start() for path, token, is_key in _tokens(text) if is_key and path == pair.beside)
        gap = text[len(text[:at].rstrip()) : at] or " "
        return f"{text[:at]}{json.dumps(pair.key)}: {json.dumps(pair.value)},{gap}{text[at:]}"

    def spelled(self, value: Value, raw: str) -> str:
        return number(value) if isinstance(value, float) else json.dumps(value)


def _tokens(text: str) -> Iterator[tuple[Path, re.Match[str], bool]]:
    """Every key and every plain value of an object, with the keys that lead to it, and whether it is a key."""
    json.loads(text)  # what it refuses is none; from here on the tokens are known to fit together
    places: list[str] = []  # key of each open object, index of each open list
    in_object: list[bool] = []
    key = ""
    after_colon = False
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "{[":
            places.append(key if after_colon or not in_object else "[]")
            in_object.append(sign == "{")
            after_colon = False
        elif sign in "}]":
            places.pop()
            in_object.pop()
            after_colon = False
        elif sign == ":":
            after_colon = True
        elif sign == ",":
            after_colon = False
        elif in_object and in_object[-1]:
            key = key if after_colon else json.loads(sign)
            yield (*places[1:], key), token, not after_colon


KIND = Json()
