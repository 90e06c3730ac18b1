"""Digests of code: what was worked out with other code is worked out again."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator, Sequence
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


def of_modules(*names: str, within: str) -> str:
    """A digest of the source of some modules, and of those that they import, directly or not, of the package ``within``."""
    found: dict[str, bytes] = {}
    pending = list(names)
    while pending:
        name = pending.pop()
        if name in found:
            continue
        source = _source(name)
        found[name] = source
        pending += [one for one in _imports(source) if one == within or one.startswith(f"{within}.")]
    total = blake2b(digest_size=16)
    for name, source in sorted(found.items()):
        total.update(name.encode() + b"\0" + source + b"\0")
    return total.hexdigest()


@cache
def _source(name: str) -> bytes:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).read_bytes() if spec is not None and spec.origin is not None else b""


def _imports(source: bytes) -> Iterator[str]:
    """The modules that a source imports; of ``from package import name``, both may be one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            for alias in node.names:
                if _is_module(f"{node.module}.{alias.name}"):
                    yield f"{node.module}.{alias.name}"


@cache
def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False  # its parent is a module and no package
