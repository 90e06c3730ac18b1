"""Where runs of the lab come to lie: whole or not at all, each with its page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sismo.dashboard.page import render
from sismo.errors import UsageError
from sismo.judge import diagnose
from sismo.postmortem import PostMortem, Text
from sismo.records.reader import read_run
from sismo.report.language import Language
from sismo.signals.presets import preset

PAGE = "dashboard.html"
_PANELS_ONLY = Text("Sealed: look at the panels, write your diagnosis, then reveal.")


def free(folders: Sequence[Path], *, again: bool) -> None:
    """Raises ``UsageError`` where a folder is there and may not be thrown away."""
    taken = [folder for folder in folders if folder.exists()]
    if taken and not again:
        raise UsageError(f"{taken[0]} is there already; --again throws it away and trains anew, --root takes another folder")


@contextmanager
def all_or_nothing(root: Path) -> Iterator[Path]:
    """A folder to work in; what lies in it at the end takes the place of what has its name in ``root``. After an error nothing does."""
    draft = root / f".lab-{os.getpid()}.part"
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        yield draft
        for made in draft.iterdir():
            shutil.rmtree(root / made.name, ignore_errors=True)
            made.rename(root / made.name)
    except OSError as error:
        raise UsageError(f"{root}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def page(folder: Path, language: Language, *, closed: bool = False) -> PostMortem:
    """Writes the page of a run into its folder, without a verdict while it is ``closed``. Returns what was found."""
    limits = preset("robust")
    run = read_run(folder)
    document = diagnose(run, limits)
    shown = _without_verdict(document) if closed else document
    (folder / PAGE).write_text(render(shown, run, language, limits.values), encoding="utf-8")
    return document


def _without_verdict(document: PostMortem) -> PostMortem:
    return document._replace(causes=(), walk=(), unknown=(), healthy=None, severity="none", step=None, verdict=_PANELS_ONLY)
