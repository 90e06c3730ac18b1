"""Picks the format of an input by asking every format how sure it is, and what to read in a folder."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from sismo.errors import MalformedLog, SourceError, UnrecognisedLog
from sismo.records.types import Note, Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.content import HEAD_BYTES, StreamContent, UnreadableLog, is_binary, open_content, sample_of
from sismo.sources.messages import Messages, key_of_text, printed
from sismo.sources.program import no_log
from sismo.sources.registry import plugins

MIN_SCORE = 5
MAX_FILES = 1000
"""Logs read from one folder; the rest are left out, which is noted."""
MAX_DEPTH = 3
_LOG_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".log", ".out", ".txt", ".err", ".stdout", ".gz", ".zst", ".wandb", ".db")
_LOG_NAMES = ("metrics.csv", "results.csv", "trainer_log.jsonl", "metrics.json", "metrics.jsonl", "history.csv", "history.json",
    "training_log.csv",
              "log.txt", "train.log", "training.log", "output.log", "stdout.log", "main.log")  # fmt: skip

_NO_LOGS = frozenset({"requirements.txt", "license.txt", "readme.txt", "config.json", "vocab.json", "vocab.txt", "merges.txt",
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "generation_config.json",
    "preprocessor_config.json", "package.json", "wandb-metadata.json"})  # fmt: skip


def formats() -> tuple[Format, ...]:
    """Every format there is."""
    return cast("tuple[Format, ...]", plugins("sismo.sources.formats", "FORMAT"))


def read(label: str, refused: list[SourceError] | None = None) -> list[Table | Run]:
    """Tables of what lies at a path (``-`` for standard input). Raises ``UnrecognisedLog`` or ``MalformedLog``.

    Arguments:
        refused: gets the files of a folder that could not be read while others could.
    """
    path = Path(label)
    try:
        if label != "-" and os.path.isdir(path):
            return _read_folder(label, path, [] if refused is None else refused)
        with contextlib.closing(open_content(label)) as content:
            return _read_content(label, content)
    except OSError as error:
        raise UnreadableLog(label, f"cannot be read ({error.strerror or error})") from None


def _read_content(label: str, content: StreamContent) -> list[Table | Run]:
    sample = sample_of(content)
    if not sample.head and (content.damaged or content.truncated):
        raise UnreadableLog(label, "damaged compressed file: nothing in it could be read")
    if not sample.head:
        raise UnrecognisedLog(label, "the file is empty" if label != "-" else "nothing came in on standard input")
    whole: Content = content
    if key := key_of_text(sample):
        text = "\n".join(part for line in sample.text.split("\n") for part in printed(line, key))
        sample, whole = sample._replace(head=text.encode("utf-8", "surrogatepass"), text=text), Messages(content, key)
    if reason := no_log(sample.text, whole=len(sample.head) < HEAD_BYTES):
        raise UnrecognisedLog(label, reason)
    chosen = best(sample)
    if chosen is None:
        reason = (
            "binary data of no known kind; give the log itself" if is_binary(sample.head) else "nothing in it looks like a training log"
        )
        raise UnrecognisedLog(label, reason)
    return _with_notes(chosen.read(whole), content)


def best(sample: Sample) -> Format | None:
    """The format that is surest of the sample, or None where none recognises it."""
    scored = [(form.score(sample), form) for form in formats()]
    score, form = max(scored, key=lambda one: one[0])
    return form if score >= MIN_SCORE else None


def _with_notes(tables: list[Table | Run], content: StreamContent) -> list[Table | Run]:
    notes = content.notes()
    return [_noted(one, notes) for one in tables] if notes else tables


def _noted(one: Table | Run, notes: Sequence[Note]) -> Table | Run:
    if isinstance(one, Table):
        return one._replace(notes=(*one.notes, *notes))
    return dataclasses.replace(one, notes=(*one.notes, *notes))


class _Folder(Content):
    """A folder as content: formats that read folders use only its path."""

    def __init__(self, label: str, path: Path) -> None:
        self.label, self.path, self.plain = label, path, False

    def data(self) -> bytes:
        raise UnrecognisedLog(self.label, "is a folder")

    def text(self) -> str:
        raise UnrecognisedLog(self.label, "is a folder")

    def lines(self, *, coded: bool = False) -> Iterator[str]:
        raise UnrecognisedLog(self.label, "is a folder")


def _read_folder(label: str, path: Path, refused: list[SourceError]) -> list[Table | Run]:
    found: list[Table | Run] = []
    unreadable: list[SourceError] = []
    broken_links: list[Path] = []
    places = _places(path, 0, unreadable, broken_links)
    for form, place in places[:MAX_FILES]:
        try:
            found.extend(_named(form.read(_Folder(str(place), place)) if form is not None else read(str(place)), place, path))
        except (UnreadableLog, MalformedLog) as error:
            unreadable.append(error)
        except SourceError:
            # What is no log at all needs no mention; with none readable the folder is refused below.
            continue
        except OSError as error:
            unreadable.append(UnreadableLog(str(place), f"cannot be read ({error.strerror or error})"))
    if not found and len(unreadable) == 1:
        raise unreadable[0]
    if not found and unreadable:
        raise UnreadableLog(label, f"none of {len(unreadable)} logs in this folder can be read; the first: {unreadable[0]}")
    if not found:
        raise UnrecognisedLog(label, "no training log found in this folder; name the log file itself")
    refused.extend(unreadable)
    notes: list[Note] = []
    if broken_links:
        note = Note(
            "skipped-files",
            "{count} {count:link|links} in the folder {count:leads nowhere and was|lead nowhere and were} skipped",
            {"count": len(broken_links)},
        )
        notes.append(note)
    if len(places) > MAX_FILES:
        note = Note(
            "left-out-files",
            "{count} {count:log|logs} beyond the first {limit} {count:was|were} left out; name a subfolder",
            {"count": len(places) - MAX_FILES, "limit": MAX_FILES},
        )
        notes.append(note)
    return [_noted(one, notes) for one in found]


def _places(path: Path, depth: int, unreadable: list[SourceError], broken_links: list[Path]) -> list[tuple[Format | None, Path]]:
    """What to read in a folder: the folder itself where a format knows it, else its logs, else those of its subfolders."""
    try:
        form = best(Sample(path.name.lower(), b"", True, path, ""))
        if form is not None:
            return [(form, path)]
        files, folders = _entries(path, broken_links)
    except PermissionError:
        unreadable.append(UnreadableLog(str(path), "permission denied; make the folder readable for this user"))
        return []
    names = [file.name for file in files]
    log = named_log(names)
    if log is not None:
        return [(None, path / log)]
    inside = [place for folder in folders for place in _places(folder, depth + 1, unreadable, broken_links)] if depth < MAX_DEPTH else []
    return [*((None, path / name) for name in names if may_be_log(name)), *inside]


def named_log(names: Sequence[str]) -> str | None:
    """The one of a folder's files that is called like the log of a run, or None."""
    return next((name for known in _LOG_NAMES for name in names if name.lower() == known), None)


def may_be_log(name: str) -> bool:
    """Whether a file may be a log, by how its name ends, and is none of those that lie beside logs."""
    return name.lower().endswith(_LOG_SUFFIXES) and name.lower() not in _NO_LOGS


def _entries(path: Path, broken_links: list[Path]) -> tuple[list[Path], list[Path]]:
    files: list[Path] = []
    folders: list[Path] = []
    for entry in _scan(path):
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            folders.append(Path(entry.path))
        elif _is_file(entry):
            files.append(Path(entry.path))
        elif entry.is_symlink() and not os.path.exists(entry.path):
            broken_links.append(Path(entry.path))
    return sorted(files), sorted(folders)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False  # a link that leads in a circle


def _scan(path: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            yield from entries
    except PermissionError:
        raise
    except OSError:
        return


def _named(tables: list[Table | Run], place: Path, root: Path) -> list[Table | Run]:
    name = str(place.relative_to(root)) if place != root else ""
    if not name:
        return tables
    return [
        Table(one.source, one.n_rows, one.columns, one.marks, {**one.config, "log_file": name}, one.notes, one.dialect)
        if isinstance(one, Table)
        else one
        for one in tables
    ]
