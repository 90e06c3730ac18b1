"""The exam on disk: what was answered, what was revealed, and the truth in an envelope.

The envelope is packed so that nobody reads it by accident, with ``cat`` or a search. It is an envelope and no lock: a learner who wants to
cheat can.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sismo.errors import RunFormatError, UsageError
from sismo.records.schema import write_json

FILE = "exam.json"
DIAGNOSES = "diagnoses.md"


@dataclass(slots=True)
class Answer:
    """A diagnosis: the name of a failure or a cause, and what it rests on."""

    name: str
    because: str


@dataclass(slots=True)
class Paper:
    """What ``exam.json`` holds.

    Attributes:
        options: what all runs have in common. envelope: the failure of each run, packed. answers: by the number of the run.
        revealed: whether the envelope is open.
    """

    options: Mapping[str, object]
    envelope: str
    answers: dict[str, Answer] = field(default_factory=dict)
    revealed: bool = False

    @property
    def numbers(self) -> list[str]:
        """The runs: ``01``, ``02``, ``03``."""
        return sorted(self.truth())

    def truth(self) -> dict[str, str]:
        """The failure of each run."""
        return json.loads(zlib.decompress(base64.b64decode(self.envelope)))


def envelope(truth: Mapping[str, str]) -> str:
    """The truth, packed."""
    return base64.b64encode(zlib.compress(json.dumps(truth, sort_keys=True).encode())).decode("ascii")


def read(folder: Path) -> Paper:
    """The exam of a folder. Raises ``UsageError`` where there is none, ``RunFormatError`` where it cannot be read."""
    path = folder / FILE
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        answers = {number: Answer(**answer) for number, answer in held["answers"].items()}
        paper = Paper(held["options"], held["envelope"], answers, held["revealed"])
        if not all(map(str.isdigit, paper.truth())):
            raise ValueError("a run of an exam is a number")
    except FileNotFoundError:
        raise UsageError(f"{folder}: there is no exam here; `sismo lab run` makes one") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise RunFormatError(str(path), "an exam that sismo lab run wrote") from error
    return paper


def write(folder: Path, paper: Paper) -> None:
    """Puts the exam in its place, and the answers beside it in a form to read and to keep. Raises ``UsageError`` where it cannot."""
    parts = [f"## {number}: {answer.name}\n\n{answer.because}\n" for number, answer in sorted(paper.answers.items())]
    try:
        write_json(folder / FILE, asdict(paper))
        if parts:
            (folder / DIAGNOSES).write_text("\n".join(parts), encoding="utf-8", errors="replace")  # arguments may hold any byte
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}") from error
