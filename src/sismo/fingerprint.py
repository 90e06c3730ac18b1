"""Digests of code: what was worked out with other code is worked out again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

_ROOT = Path(__file__).parent


def of_code(*parts: str) -> str:
    """A digest of the source of some parts of sismo (``signals``, ``judge.py``), each a package or a module."""
    return _digest(parts)


@cache
def _digest(parts: Sequence[str]) -> str:
    total = blake2b(digest_size=16)
    for part in parts:
        root = _ROOT / part
        for file in [root] if root.is_file() else sorted(root.rglob("*.py")):
            total.update(str(file.relative_to(_ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return total.hexdigest()
