"""JSON files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from sismo.patch.base import Kind, Spot, Value, number

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


class Json(Kind):
    suffixes: Sequence[str] = (".json",)

    def spots(self, text: str) -> list[Spot]:
        json.loads(text)  # what it refuses is none; from here on the tokens are known to fit together
        found: list[Spot] = []
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
            elif in_object and in_object[-1] and not after_colon:
                key = json.loads(sign)
            elif in_object and in_object[-1]:
                found.append(Spot((*(place for place in places[1:]), key), sign, token.start(), token.end()))
        return found

    def spelled(self, value: Value, raw: str) -> str:
        return number(value) if isinstance(value, float) else json.dumps(value)


KIND = Json()
