"""Texts that may hold lines of a log as examples, and are none: the source of a program, a notebook."""

from __future__ import annotations

import re

_STRONG = re.compile(
    r"^\s*(?:(?:async\s+)?def\s+\w+\s*\(|class\s+\w+\s*[:(]|(?:from\s+[\w.]+\s+)?import\s+[\w.*{(]"  # Python
    r"|#!\s*/|(?:fi|done|esac)\s*$"  # shell
    r"|#\s*(?:include|define|pragma)\b|(?:[\w:<>*&]+\s+)+\*?\w+\s*\([^;]*\)\s*(?:const\s*)?\{|using\s+namespace\b|func\s+\w+\s*\(|fn\s+\w+\s*[(<]"
    r"|function\s+\w+\s*\(|(?:export\s+)?(?:const|let|var)\s+\w+\s*=|public\s+|private\s+)"
)
"""What only a definition looks like."""
_CODE = re.compile(
    r"^\s*(?:#|//|/\*|\*/|\*\s|@\w|\"\"\"|'''|--\w)"  # remarks, decorators, options on lines of their own
    r"|^\s*(?:return|raise|yield|assert|if|elif|else|for|while|with|try|except|finally|pass|break|continue|print|echo|export|source|cd|set"
    r"|python3?|srun|torchrun|accelerate|then|do|module|mkdir|include|struct|enum|static|int|float|double|void|char|auto|template)\b"
    r"|^\s*[\w.\[\]\"', ]+?(?::\s*[\w.\[\], |]+)?\s*[-+*/|&]?=[^=]"  # an assignment
    r"|[;{}(\[,\\:]\s*(?:#.*|//.*)?$|^\s*[)\]}]+[,;:]?\s*$|^\s*[\w.]+\(.*\)[,;]?\s*$"
)
_ROW = re.compile(r"^\s*(?![#/*])[^\"'(){};]*loss\w*\W{0,3}(?:\d|nan|inf)[^;]*$", re.IGNORECASE)
"""A row of a log, which may look like an assignment."""
_EXAMPLES = re.compile(r"\"\"\"|'''")
_DEFINITIONS, _SHARE, _ENDS = 2, 0.5, 4
"""Lines that only a program has; share of its lines that look like code; lines at each end of which half have to."""


_NOTEBOOK = ('"cells"', '"cell_type"')


def no_log(text: str, *, whole: bool) -> str:
    """Why a text is no log although it may hold lines of one; empty where nothing says so. ``whole``: whether it is all of a file."""
    if text.lstrip().startswith("{") and all(word in text for word in _NOTEBOOK):
        return "a notebook, not a log; save the text that its cells have printed, and give that"
    return "the source of a program, not what it has printed; give its log" if whole and is_program(text) else ""


def is_program(text: str) -> bool:
    """Whether a whole file is source code: it has definitions, looks like code for the most part, and does so at its end.

    A log may begin with the script that was run, and show lines of code where it crashed: it does not end in them.
    """
    lines = _outside_of_texts([line for line in text.splitlines() if line.strip()])
    if not lines:
        return False
    strong = [bool(_STRONG.match(line)) for line in lines]
    code = [one or bool(_CODE.search(line) and not _ROW.match(line)) for one, line in zip(strong, lines, strict=True)]
    begun = strong[0] or sum(code[:_ENDS]) * 2 >= len(code[:_ENDS])
    known = sum(strong) + text.startswith("#!")  # that line alone says so
    return known >= _DEFINITIONS and begun and sum(code) >= _SHARE * len(code) and sum(code[-_ENDS:]) * 2 >= _ENDS


def _outside_of_texts(lines: list[str]) -> list[str]:
    """The lines without those between two triple quotes, which say anything."""
    kept: list[str] = []
    inside = False
    for line in lines:
        if not inside:
            kept.append(line)
        inside ^= len(_EXAMPLES.findall(line)) % 2 == 1
    return kept
