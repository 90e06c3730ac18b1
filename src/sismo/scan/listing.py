"""What lies under a path, local or remote (``s3://bucket/runs`` and whatever else fsspec knows), without opening any of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sismo.errors import MissingExtra, UsageError

_EXTRAS = {"s3": "s3"}


class File(NamedTuple):
    """What a listing says of a file: bytes, something that changes when its content does, and when it was last written (POSIX seconds)."""

    size: int
    stamp: str
    time: float


@dataclass(frozen=True, slots=True)
class Listing:
    """Every file under a root.

    Attributes:
        root: as it was asked for. files: path relative to the root, with slashes, to what is known; empty where the root is a file.
        closed: folders that could not be entered, and why.
    """

    root: str
    files: Mapping[str, File]
    closed: tuple[tuple[str, str], ...] = ()

    def place(self, name: str) -> str:
        """The path or URL of something in it."""
        return f"{self.root.rstrip('/')}/{name}" if name else self.root


def is_remote(path: str) -> bool:
    """Whether a path is a URL."""
    return "://" in path


def listing(root: str) -> Listing:
    """Lists a root. Raises ``UsageError`` when there is nothing, ``MissingExtra`` when the library for its kind of URL is not installed."""
    return _remote(root) if is_remote(root) else _local(root)


def filesystem(url: str) -> tuple[Any, str]:
    """The filesystem of a URL and the path on it. Keys, regions and endpoints are found where its library looks for them."""
    scheme = url.partition("://")[0]
    try:
        from fsspec.core import url_to_fs

        return url_to_fs(url)
    except ImportError:
        raise MissingExtra(f"reading {scheme}://", _EXTRAS.get(scheme, "s3")) from None
    except ValueError as error:
        raise UsageError(f"{url}: {error}") from None


def _local(root: str) -> Listing:
    try:
        if not os.path.isdir(root):
            return Listing(root, {"": _known(os.stat(root))})
    except (OSError, ValueError) as error:
        raise UsageError(f"{root}: {getattr(error, 'strerror', None) or error}") from None
    found: dict[str, File] = {}
    closed: list[tuple[str, str]] = []
    for prefix, entry in _walk(root, "", closed):
        try:
            found[prefix + entry.name] = _known(entry.stat())
        except OSError:
            continue  # a link that leads nowhere, or a file that went away
    return Listing(root, found, tuple(closed))


def _walk(folder: str, prefix: str, closed: list[tuple[str, str]]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        closed.append((folder, error.strerror or str(error)))
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, f"{prefix}{entry.name}/", closed)
        elif not entry.is_dir():
            yield prefix, entry


def _known(stat: os.stat_result) -> File:
    return File(stat.st_size, str(stat.st_mtime_ns), stat.st_mtime)


def _remote(root: str) -> Listing:
    system, path = filesystem(root)
    try:
        found: dict[str, dict[str, Any]] = system.find(path, detail=True)
    except Exception as error:  # each library has errors of its own: no key, no bucket, no network
        raise UsageError(f"{root}: {_line(error)}") from None
    if not found:
        raise UsageError(f"{root}: nothing lies there")
    start = path.rstrip("/") + "/"
    files = {name.removeprefix(start) if name.startswith(start) else "": _described(facts) for name, facts in sorted(found.items())}
    return Listing(root, {name: file for name, file in files.items() if not _hidden(name)})


def _described(facts: Mapping[str, Any]) -> File:
    written = facts.get("LastModified") or facts.get("mtime") or facts.get("created")
    time = written.timestamp() if isinstance(written, datetime) else float(written or 0.0)
    return File(int(facts.get("size") or 0), str(facts.get("ETag") or time), time)


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
