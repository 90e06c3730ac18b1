"""Writing a document again without losing a word that a person put into it.

Each part stands between two comments; the first one holds a digest of what was written there::

    <!-- sismo:symptoms 1a2b3c4d -->
    ...
    <!-- /sismo:symptoms -->

A part that still has its digest is replaced. One that was changed is its author's and stays, and so does everything outside the parts.
A part that was deleted is written again, after the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

_PART = re.compile(
    r"<!-- sismo:(?P<name>[a-z]+) (?P<digest>[0-9a-f]{8}) -->(?P<body>(?:(?!<!-- sismo:).)*?)<!-- /sismo:(?P=name) -->", re.DOTALL
)

Parts = Sequence[tuple[str, str]]
"""Name and text of each part, in order."""


class Merged(NamedTuple):
    """The document, and the names of the parts that were left as a person had changed them."""

    text: str
    kept: Sequence[str]


def compose(parts: Parts) -> str:
    """A document that nobody has touched yet."""
    return "\n\n".join(_part(name, text) for name, text in parts) + "\n"


def merge(old: str, parts: Parts) -> Merged:
    """The old document with every part in it that nobody changed written anew."""
    new = dict(parts)
    pieces: list[str] = []
    places: dict[str, int] = {}
    kept: list[str] = []
    end = 0
    for found in _PART.finditer(old):
        name = found["name"]
        pieces.append(old[end : found.start()])
        end = found.end()
        if name not in new or name in places:  # retired, or copied by a person: theirs
            pieces.append(found[0])
            continue
        places[name] = len(pieces)
        if _digest(found["body"]) == found["digest"]:
            pieces.append(_part(name, new[name]))
        else:
            pieces.append(found[0])
            kept.append(name)
    pieces.append(old[end:])
    return Merged("".join(_with_missing(pieces, places, parts)), kept)


def touched(old: str) -> bool:
    """Whether a document holds anything that ``compose`` did not write."""
    bare = _PART.sub(lambda found: "" if _digest(found["body"]) == found["digest"] else found[0], old)
    return bool(bare.strip())


def _with_missing(pieces: list[str], places: dict[str, int], parts: Parts) -> list[str]:
    """The pieces with the parts that are not there put behind the ones before them, the first of all at the beginning."""
    behind: dict[int, list[str]] = {}
    place = -1
    for name, text in parts:
        if name in places:
            place = places[name]
        else:
            behind.setdefault(place, []).append(_part(name, text))
    whole = [f"{part}\n\n" for part in behind.get(-1, [])]
    for number, piece in enumerate(pieces):
        whole += [piece, *(f"\n\n{part}" for part in behind.get(number, []))]
    return whole


def _part(name: str, text: str) -> str:
    # A path or a line of a log may hold anything, so also what ends a part.
    safe = text.strip().replace("<!-- sismo:", "<!- sismo:").replace("<!-- /sismo:", "<!- /sismo:")
    return f"<!-- sismo:{name} {_digest(safe)} -->\n{safe}\n<!-- /sismo:{name} -->"


def _digest(text: str) -> str:
    """Of the words alone: line ends and blanks at the end of lines are an editor's doing, not a person's."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    return sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:8]
