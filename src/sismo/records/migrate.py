"""Brings the manifest of an older run folder up to the current schema, one version at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sismo.errors import RunFormatError
from sismo.records.schema import SCHEMA_VERSION

Migration = Callable[[dict[str, object]], dict[str, object]]

MIGRATIONS: Mapping[int, Migration] = {}
"""From version to the function that gives the next one. Version 1 is the first, so there is none yet."""


def migrate(manifest: dict[str, object], path: str) -> dict[str, object]:
    """The manifest in the current schema. Raises ``RunFormatError`` for a version that this sismo doesn't know."""
    version = manifest["schema"]
    assert isinstance(version, int)
    if version > SCHEMA_VERSION or version < 1:
        raise RunFormatError(path, f"schema {SCHEMA_VERSION} or older, found {version}: upgrade sismo to read it")
    while version < SCHEMA_VERSION:
        manifest = MIGRATIONS[version](manifest)
        version += 1
    return manifest
