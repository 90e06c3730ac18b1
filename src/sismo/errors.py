"""Every error that sismo raises, and the exit code that each one means.

    SismoError                exit 2   the root: catch this to catch all of them
    ├── UsageError            exit 2   the call itself makes no sense (an unknown id, a bad option)
    ├── SourceError           exit 2   a log that could not be turned into a run
    │   ├── UnrecognisedLog            nothing in it looks like a training log
    │   └── MalformedLog               a known format, but broken beyond reading
    ├── RunFormatError        exit 2   a sismo run folder that breaks its own format
    ├── MissingExtra          exit 2   an optional library is needed and not installed
    └── TrainingStopped       exit 1   raised into the training loop by the guard, or by a recorder that was told to

Exit codes of the command line: 0 nothing found at the level asked for, 1 something found, 2 it could not be done.
"""

from __future__ import annotations

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
EXIT_FAILED = 2


class SismoError(Exception):
    """Root of the tree. ``str()`` of any of these is one line that a person can act on."""

    exit_code = EXIT_FAILED


class UsageError(SismoError):
    """The call makes no sense as it stands: an unknown id, a threshold that is not a number."""


class SourceError(SismoError):
    """A log that could not be turned into a run.

    Attributes:
        path: what was asked for, as the user wrote it (``-`` for standard input).
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        super().__init__(f"{path}: {reason}")


class UnrecognisedLog(SourceError):
    """Nothing in it looks like a training log, or no loss can be found in what does."""


class MalformedLog(SourceError):
    """The format is known, but the content is broken beyond reading."""


class RunFormatError(SismoError):
    """A sismo run folder that breaks the published format.

    Attributes:
        path: the file at fault. line: 1-based line in it, or None. expected: what should have stood there.
    """

    def __init__(self, path: str, expected: str, *, line: int | None = None) -> None:
        self.path, self.line, self.expected = path, line, expected
        where = path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: expected {expected}")


class MissingExtra(SismoError):
    """An optional library is needed for this and is not installed; the message names the extra."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an optional library: pip install 'sismo[{extra}]'")


class TrainingStopped(SismoError):
    """A run was given up; carries the reason."""

    exit_code = EXIT_FINDINGS
