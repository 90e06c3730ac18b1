"""Which files of a listing are runs: the same choice as ``sismo diagnose`` makes in a folder, over as many folders as there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, Self, cast

from sismo.scan.listing import File, Listing
from sismo.sources.base import Sample
from sismo.sources.sniff import best, may_be_log, named_log

_OF_A_RUN = (".parquet", ".lock")
_EVENTS = "events.out.tfevents."
SETTINGS = ("config.json", "args.json", "hparams.json", "params.json", "training_args.json")
"""What a file beside a log is called that says how the run was configured; the first that is there."""


class Unit(NamedTuple):
    """What is read as one: a log file, or a folder that a format knows as a run.

    Attributes:
        place: path or URL. files: those that belong to it, relative to the place; the name is empty for a log file itself.
        given: whether the user named it, so that it must be a log. settings: of a log, the file beside it with the configuration.
    """

    place: str
    files: tuple[tuple[str, File], ...]
    given: bool = False
    settings: tuple[str, File] | None = None

    @property
    def time(self) -> float:
        """When anything in it was last written, POSIX seconds."""
        return max((file.time for _, file in self.files), default=0.0)

    def fingerprint(self, salt: str) -> str:
        """What changes when one of its files does; ``salt`` is what else the outcome depends on."""
        files = self.files if self.settings is None else (*self.files, self.settings)
        told = "\n".join([salt, *(f"{name}\t{file.size}\t{file.stamp}" for name, file in files)])
        return blake2b(told.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def units(listed: Listing) -> list[Unit]:
    """Every unit of a listing, in the order of the paths."""
    if "" in listed.files:
        return [Unit(listed.root, (("", listed.files[""]),), True)]
    return list(_inside(listed, Entry.tree(listed.files)))


@dataclass(slots=True)
class Entry:
    """A file or folder of a listing, with as much of ``pathlib.Path`` as formats need to recognise a folder by its names."""

    name: str
    path: str = ""
    file: File | None = None
    children: dict[str, Entry] = field(default_factory=dict)

    @classmethod
    def tree(cls, files: Mapping[str, File]) -> Self:
        """The root folder of some files."""
        root = cls("")
        for path, file in files.items():
            *folders, name = path.split("/")
            at = root
            for folder in folders:
                at = at.children.setdefault(folder, cls(folder, f"{at.path}{folder}/"))
            at.children[name] = cls(name, f"{at.path}{name}", file)
        return root

    def __truediv__(self, name: str) -> Entry:
        return self.children.get(name) or Entry(name, f"{self.path}{name}")

    def is_file(self) -> bool:
        """Whether the listing has a file here."""
        return self.file is not None

    def is_dir(self) -> bool:
        """Whether the listing has files under here."""
        return bool(self.children)

    def iterdir(self) -> Iterator[Entry]:
        """What lies in the folder."""
        return iter(self.children.values())


def _inside(listed: Listing, folder: Entry) -> Iterator[Unit]:
    if best(Sample(folder.name.lower(), b"", True, cast(Path, folder), "")) is not None:
        base = folder.path
        yield Unit(listed.place(base.rstrip("/")), tuple((one.path[len(base) :], one.file) for one in _of_run(folder) if one.file))
        return
    files = {entry.name: entry for entry in folder.iterdir() if entry.is_file()}
    log = named_log(list(files))
    settings = next(((name, file) for name in SETTINGS if name in files and (file := files[name].file)), None)
    for name in [log] if log is not None else filter(may_be_log, files):
        entry = files[name]
        if entry.file and name not in SETTINGS:
            yield Unit(listed.place(entry.path), (("", entry.file),), settings=settings)
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _inside(listed, entry)


def _of_run(folder: Entry) -> Iterator[Entry]:
    """Files of a run folder and of the folders in it that can be its log; weights and pictures are not."""
    for entry in folder.iterdir():
        for one in (entry, *entry.iterdir()):
            if one.is_file() and (may_be_log(one.name) or one.name.endswith(_OF_A_RUN) or one.name.startswith(_EVENTS)):
                yield one
