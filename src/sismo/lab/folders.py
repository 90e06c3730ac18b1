"""Where runs of the lab come to lie: whole or not at all, each with its page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
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


@contextmanager
def all_or_nothing(root: Path, names: Sequence[str], *, again: bool) -> Iterator[Path]:
    """A folder to make folders called ``names`` in; at the end they take their places in ``root``. After an error nothing does.

    Raises ``UsageError`` where one is there and may not be thrown away: before the work, and after it, as another process may have made it.
    """
    draft = root / f".lab-{os.getpid()}.part"
    shutil.rmtree(draft, ignore_errors=True)
    _free(root, names, again=again)
    try:
        draft.mkdir(parents=True)
        yield draft
        _free(root, names, again=again)
        for name in names:
            shutil.rmtree(root / name, ignore_errors=True)
            (draft / name).rename(root / name)
    except OSError as error:
        raise UsageError(f"{root}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def page(folder: Path, language: Language, *, path: Path | None = None, closed: bool = False) -> PostMortem:
    """Writes the page of a run into its folder. Returns what was found. Raises ``UsageError`` where it cannot be written.

    Arguments:
        path: where the run is going to lie, if not where it lies. closed: whether the page keeps its verdict to itself.
    """
    limits = preset("robust")
    run = replace(read_run(folder), path=str(path or folder))
    document = diagnose(run, limits)
    shown = _without_verdict(document) if closed else document
    try:
        (folder / PAGE).write_text(render(shown, run, language, limits.values), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder / PAGE}: {error.strerror or error}") from error
    return document


def _free(root: Path, names: Sequence[str], *, again: bool) -> None:
    taken = [root / name for name in names if (root / name).exists()]
    if taken and not again:
        raise UsageError(f"{taken[0]} is there already; --again throws it away and trains anew, --root takes another folder")


def _without_verdict(document: PostMortem) -> PostMortem:
    return document._replace(causes=(), walk=(), unknown=(), healthy=None, severity="none", step=None, verdict=_PANELS_ONLY)
