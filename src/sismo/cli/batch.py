"""Reading and judging many paths: one that cannot be read is noted, and the others go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sismo.errors import EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, SismoError, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sismo.postmortem import PostMortem
    from sismo.signals.presets import Preset

LEVELS = ("broken", "warning", "note", "never")
"""What ``--fail-on`` takes."""

_RANK = {"none": -1, "note": 0, "warning": 1, "broken": 2}


def rank(severity: str) -> int:
    """Where a severity stands: -1 for none, 2 for broken."""
    return _RANK[severity]


class Batch(NamedTuple):
    """What came of a list of paths: a document per run, and a message per path that could not be read."""

    documents: Sequence[PostMortem]
    errors: Sequence[tuple[str, str]]

    def exit_code(self, level: str) -> int:
        """2 when something could not be read, else 1 when something at the level or worse was found, else 0."""
        if self.errors:
            return EXIT_FAILED
        if level == "never":
            return EXIT_CLEAN
        found = any(rank(document.severity) >= rank(level) for document in self.documents)
        return EXIT_FINDINGS if found else EXIT_CLEAN


def examine(paths: Sequence[str], mapping: Mapping[str, str], limits: Preset, advance: Callable[[str], None]) -> Batch:
    """Loads and diagnoses every run behind the paths. ``advance`` is called with each path before it is read."""
    from sismo.judge import diagnose
    from sismo.sources import load

    documents: list[PostMortem] = []
    errors: list[tuple[str, str]] = []
    for path in paths:
        advance(path)
        refused: list[SourceError] = []
        try:
            documents += [diagnose(run, limits) for run in load(path, mapping or None, refused)]
            errors += [(error.path, str(error)) for error in refused]
        except SismoError as error:
            errors.append((path, str(error)))
        except OSError as error:
            errors.append((path, f"{path}: {error.strerror or error}"))
    return Batch(documents, errors)


def channel_map(pairs: Sequence[str]) -> dict[str, str]:
    """``["loss/train=my_col"]`` as a mapping. Raises ``UsageError`` for a pair without ``=`` or an unknown channel."""
    from sismo.errors import UsageError
    from sismo.records.channels import FAMILIES, is_channel

    mapping: dict[str, str] = {}
    for pair in pairs:
        channel, equals, column = pair.partition("=")
        if not equals or not column:
            raise UsageError(f"--map {pair!r} has no column; write it as CHANNEL=COLUMN, for example loss/train=my_loss")
        if not is_channel(channel):
            raise UsageError(f"--map {pair!r}: {channel!r} is no channel; the first part is one of {', '.join(FAMILIES)}")
        mapping[channel] = column
    return mapping
